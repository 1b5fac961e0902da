"""Parts of the Ollama stand-in: what a server has, what can go wrong, and how it says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

Author = Callable[[dict[str, Any]], str | Awaitable[str]]
GIB = 1 << 30
AT = "2026-11-30T12:00:00.000000000Z"
OOM = "model requires more system memory (5.6 GiB) than is available (2.1 GiB)"
MODEL_FIELDS = ("format", "options", "think", "keep_alive", "truncate", "shift", "stream")


@dataclass
class Model:
    """A model on the server's disk."""

    name: str
    bytes: int = GIB
    abilities: tuple[str, ...] = ("completion",)
    remote_host: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()


@dataclass
class Loaded:
    """A model in memory."""

    model: Model
    window: int
    keep_alive: Any


@dataclass
class Faults:
    """What goes wrong. All off: a healthy server."""

    refuse: tuple[int, str] | None = None  # every chat: status and words (503, 403, 400, ...)
    load_s: float = 0.0  # a cold load
    load_error: str = ""  # 500 with these words instead of a load
    free_s: float = 0.0  # memory is freed so long after an unload was answered
    first_byte_s: float = 0.0
    between_s: float = 0.0
    error_after: int | None = None  # pieces, then {"error"} under 200
    reset_after: int | None = None  # pieces, then the connection is cut
    stall_after: int | None = None  # pieces, then silence
    end_after: int | None = None  # pieces, then a proper end of the stream without a last line
    wrap: str = ""  # the format is ignored: "fence" or "prose"
    thinking_only: bool = False
    length_after: int | None = None  # characters, then done_reason "length"
    prompt_count: int | None = None  # what is told of the prompt, whatever it was
    window: int | None = None  # loaded with less than was asked for
    strict_window: bool = False  # a prompt that is too long: 400, as newer servers do
    raw: bytes | None = None  # sent instead of the stream
    old: bool = False  # no capabilities, no context_length, the older 404
    pull_error_after: int | None = None  # lines, then {"error"}
    pull_reset_after: int | None = None


async def body_of(request: web.Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.read() or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def details() -> dict[str, Any]:
    return {
        "format": "gguf",
        "family": "qwen2",
        "families": ["qwen2"],
        "parameter_size": "1.5B",
        "quantization_level": "Q4_K_M",
    }


def error(status: int, words: str) -> web.Response:
    return web.json_response({"error": words}, status=status)


def last(model: Model, reason: str) -> web.Response:
    message = {"role": "assistant", "content": ""}
    told = {"model": model.name, "created_at": AT, "message": message}
    return web.json_response({**told, "done": True, "done_reason": reason})


def line_of(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def reset(request: web.Request) -> None:
    assert request.transport is not None
    request.transport.abort()
