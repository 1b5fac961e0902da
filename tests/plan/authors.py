"""A backend that says what it was told to say. Not a test."""

from __future__ import annotations

from armlabd.bench.authors import RandomAuthor
from armlabd.inference.backend import Answer, Ask


class Scripted(RandomAuthor):
    """Answers one text after the other, the last one for ever; an exception is raised."""

    name = "author"

    def __init__(self, *texts: str | Answer | Exception) -> None:
        super().__init__()
        self.model = "scripted"
        self.asks: list[Ask] = []
        self._texts = list(texts)

    async def answer(self, ask: Ask) -> Answer:
        self.asks.append(ask)
        text = self._texts.pop(0) if len(self._texts) > 1 else self._texts[0]
        if isinstance(text, Exception):
            raise text
        return text if isinstance(text, Answer) else self.told(ask, text)
