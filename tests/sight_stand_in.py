"""A model that is shown pictures: it sees the blocks' colours and says whatever a test wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

from armlabd.inference.backend import Answer, Ask, Finish, ModelState, Warmth

Objects = list[dict[str, Any]]
_MAIN = {"blue block": 0, "green block": 1, "red block": 2}  # the channel that stands out


def shown(ask: Ask) -> np.ndarray:
    """The picture that was sent, decoded."""
    return cv2.imdecode(np.frombuffer(ask.images[0], np.uint8), cv2.IMREAD_COLOR)


def seen(ask: Ask) -> Objects:
    """Every block of the picture with its box in the picture's own pixels, read off the picture."""
    image = shown(ask).astype(int)
    found: Objects = []
    for label, channel in _MAIN.items():
        others = [n for n in range(3) if n != channel]
        mask = (image[:, :, channel] - image[:, :, others].max(axis=2) > 70).astype(np.uint8)
        count, _, stats, _ = cv2.connectedComponentsWithStats(mask)
        for left, top, width, height, area in stats[1:count].tolist():
            if area >= 100:
                box = [left, top, left + width, top + height]
                found.append({"label": label, "box": box})
    return found


def objects(*items: dict[str, Any]) -> str:
    """An answer with these objects."""
    return json.dumps({"objects": list(items)})


def honest(ask: Ask) -> str:
    """What it sees, in pixels of the picture sent."""
    return objects(*seen(ask))


def honest_counts(ask: Ask) -> str:
    """How many of each name it was asked for it sees."""
    labels = ask.schema["properties"]["counts"]["properties"]
    names = [item["label"] for item in seen(ask)]
    return json.dumps({"counts": {label: names.count(label) for label in labels}})


@dataclass
class FakeSight:
    """A Backend. `says` makes the text from the question; the events, if given, hold it up."""

    says: Callable[[Ask], str] = honest
    model: str = "fake-vlm"
    warmth: Warmth = Warmth.WARM
    error: Exception | None = None
    load_error: Exception | None = None
    finish: Finish = Finish.STOP
    answers: asyncio.Event | None = None
    loads: asyncio.Event | None = None
    asks: list[Ask] = field(default_factory=list)
    cancelled: int = 0
    warmed: int = 0
    name: str = "fake"
    window: int = 4096

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def answer(self, ask: Ask) -> Answer:
        self.asks.append(ask)
        try:
            if self.answers is not None:
                await self.answers.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return Answer(self.says(ask), self.model, self.finish, 90, 40)

    async def warm(self) -> None:
        self.warmed += 1
        if self.loads is not None:
            await self.loads.wait()
        if self.load_error is not None:
            raise self.load_error
        self.warmth = Warmth.WARM

    async def unload(self) -> None:
        self.warmth = Warmth.COLD

    async def state(self) -> ModelState:
        return ModelState(self.name, self.model, self.warmth)

    async def close(self) -> None:
        pass
