"""The whole goal suite with a model server that lies on purpose, over HTTP: nothing may come of it.

What is written are the lies of `bench planner --backend liar`; how it is sent goes wrong as well.
A server that falls silent is tried elsewhere: here each of its silences would cost a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from ollama_stand_in import OOM, Faults, OllamaStandIn, ollama

from armlabd.bench.authors import LIES
from armlabd.bench.planner import Suite, measure, own_goals
from armlabd.bench.subjects import Subject
from armlabd.inference.backend import Ask, ModelError

TAG = "liar:latest"
READY_S = 20.0
SECOND = 60  # goals of the second form
WAYS: tuple[dict[str, Any], ...] = (
    *[{}] * 8,
    {"wrap": "fence"},
    {"wrap": "prose"},
    {"thinking_only": True},
    {"length_after": 40},
    {"error_after": 3},
    {"end_after": 2},
    {"reset_after": 2},
    {"raw": b'{"message": {"content": "{\\"steps\\": '},
    {"raw": b"\x00\xff not a line\n"},
    {"refuse": (503, "server busy, please try again.  maximum pending requests exceeded")},
    {"refuse": (500, OOM)},
    {"prompt_count": 3},
    {"window": 4096},
)


@dataclass
class LyingServer(OllamaStandIn):
    """Each answer another lie, each sent in another way. `lies` and `ways` count them."""

    dice: random.Random = field(default_factory=lambda: random.Random(7))
    lies: Counter[str] = field(default_factory=Counter)
    ways: Counter[int] = field(default_factory=Counter)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        way = self.dice.randrange(len(WAYS))
        self.ways[way] += 1
        self.faults = Faults(**WAYS[way])
        self.loaded.clear()  # so that a window of another size is taken
        return await super()._chat(request)

    def lie(self, body: dict[str, Any]) -> str:
        name = self.dice.choice(tuple(LIES))
        self.lies[name] += 1
        ask = Ask(system="", prompt="", schema=body.get("format") or {"type": "object"})
        try:
            return LIES[name](ask, self.dice).encode("utf-8", "replace").decode()
        except ModelError as error:
            return f"error: {error}"


@contextlib.contextmanager
def server() -> Iterator[LyingServer]:
    """The stand-in in a thread of its own, as its own program would be."""
    began, ended = threading.Event(), asyncio.Event()
    found: list[Any] = []

    async def serve() -> None:
        async with ollama(LyingServer, cut_bytes=4096, piece_chars=2048) as stand_in:
            assert isinstance(stand_in, LyingServer)
            stand_in.add(TAG)
            stand_in.author = stand_in.lie
            found.extend((stand_in, asyncio.get_running_loop()))
            began.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert began.wait(READY_S)
        yield found[0]
    finally:
        found[1].call_soon_threadsafe(ended.set)
        thread.join(READY_S)
        assert not thread.is_alive()


@pytest.mark.parametrize("form", ["skills", "tools"])
def test_a_server_that_lies_on_purpose_does_no_harm_in_the_whole_suite(form: str) -> None:
    limit = 0 if form == "skills" else SECOND
    with server() as liar:
        told = measure(Suite(Subject(f"ollama:{TAG}", form, url=liar.url), limit=limit))
    lines = (*told.lines(), f"lies: {dict(liar.lies)}", f"ways: {dict(liar.ways)}", "")
    sys.stdout.write("\n".join(lines))
    assert told.held, told.lines()
    assert set(liar.lies) == set(LIES), "each was told"
    assert len(liar.ways) == len(WAYS)
    assert sum(liar.ways.values()) > len(own_goals()) * (limit == 0)
