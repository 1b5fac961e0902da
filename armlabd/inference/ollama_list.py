"""What an Ollama server has, what it holds in memory, and fetching more."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from armlabd.inference import ollama_errors as errors
from armlabd.inference.ollama_names import full_name
from armlabd.inference.ollama_wire import OllamaWire

QUICK_S = 5.0
MANIFEST_S = 60.0  # a registry far away, before the first line
STALL_S = 120.0  # between two lines of a pull: a layer that is verified says nothing
MAX_MODELS = 500


@dataclass(frozen=True, slots=True)
class Tag:
    """One model of a server. `bytes`: on disk, or in memory; `window` of a loaded one."""

    name: str
    bytes: int = 0
    digest: str = ""
    family: str = ""
    parameters: str = ""
    quantization: str = ""
    abilities: tuple[str, ...] = ()
    remote: bool = False
    window: int | None = None
    expires: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of a pull, in bytes; `total` 0 where it is not told."""

    status: str
    completed: int = 0
    total: int = 0


async def version(wire: OllamaWire) -> str:
    """The server's version. Raises ModelError."""
    return str((await wire.ask("GET", "/api/version", "it", QUICK_S)).get("version", ""))[:40]


async def tags(wire: OllamaWire) -> tuple[Tag, ...]:
    """The models that are there. Raises ModelError."""
    return _tags(await wire.ask("GET", "/api/tags", "its list", QUICK_S))


async def loaded_models(wire: OllamaWire) -> tuple[Tag, ...]:
    """The models in memory. Raises ModelError."""
    return _tags(await wire.ask("GET", "/api/ps", "its list", QUICK_S))


def find(among: Iterable[Tag], model: str) -> Tag | None:
    """The model of that name."""
    wanted = full_name(model)
    return next((tag for tag in among if full_name(tag.name) == wanted), None)


async def pull(wire: OllamaWire, model: str) -> AsyncGenerator[Progress, None]:
    """Fetch a model; goes on where an earlier try ended. Raises ModelError."""
    lines = wire.stream("/api/pull", {"model": model, "stream": True}, model, MANIFEST_S, STALL_S)
    done = False
    async with aclosing(lines):
        async for line in lines:
            status = str(line.get("status", ""))[:200]
            done = done or status == "success"
            yield Progress(status, _whole(line.get("completed")), _whole(line.get("total")))
    if not done:
        raise errors.broken_off(model, "it was not fetched to its end; fetch it again")


def _tags(found: Mapping[str, Any]) -> tuple[Tag, ...]:
    listed = found.get("models")
    items = listed if isinstance(listed, list) else []
    return tuple(_tag(item) for item in items[:MAX_MODELS] if isinstance(item, dict))


def _tag(item: Mapping[str, Any]) -> Tag:
    given = item.get("details")
    details = given if isinstance(given, dict) else {}
    abilities = item.get("capabilities")
    return Tag(
        name=str(item.get("model") or item.get("name") or "")[:200],
        bytes=_whole(item.get("size")),
        digest=str(item.get("digest", ""))[:80],
        family=str(details.get("family", ""))[:40],
        parameters=str(details.get("parameter_size", ""))[:40],
        quantization=str(details.get("quantization_level", ""))[:40],
        abilities=tuple(str(a)[:40] for a in abilities) if isinstance(abilities, list) else (),
        remote=bool(item.get("remote_host") or item.get("remote_model")),
        window=_whole(item.get("context_length")) or None,
        expires=str(item.get("expires_at", ""))[:40],
    )


def _whole(value: object) -> int:
    """A count of bytes or tokens; what is no such count is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
