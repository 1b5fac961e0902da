"""What every model backend is asked and answers: one question with a schema, one text.

The schema of a question is the single source for the token mask, for Ollama's `format` and for
the validator. A backend may break it (a server can ignore a format); whoever asked validates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from armlabd.verdict import Code


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model.

    `images` are whole PNG or JPEG files. `max_tokens` bounds the answer, `answer_s` the time from
    a loaded model to the last token; loading has a limit of its own in the backend.
    """

    system: str
    prompt: str
    schema: Mapping[str, Any]
    images: tuple[bytes, ...] = ()
    max_tokens: int = 512
    answer_s: float = 60.0


class Finish(StrEnum):
    """Why an answer ended."""

    STOP = "stop"  # the model ended it, or the schema left nothing to say
    LENGTH = "length"  # cut at max_tokens: the text is not whole


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's text and what it cost. `steps` are passes through the decoder after the prompt,
    `forced_tokens` those of the output that the schema left no choice about. Times in seconds.
    """

    text: str
    model: str
    finish: Finish = Finish.STOP
    prompt_tokens: int = 0
    output_tokens: int = 0
    forced_tokens: int = 0
    steps: int = 0
    load_s: float = 0.0
    prompt_s: float = 0.0
    output_s: float = 0.0


class ModelError(Exception):
    """A model could not answer: `code` for machines, the text for people (what, allowed, remedy).

    Codes: NO_MODEL, MODEL_MEMORY, MODEL_LOST, MODEL_TIMEOUT, MODEL_ANSWER, OUT_OF_RANGE (the prompt
    does not fit the window).
    """

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


class Warmth(StrEnum):
    """How near to answering a model is."""

    ABSENT = "absent"  # not on this board
    COLD = "cold"  # here, not in memory
    LOADING = "loading"
    WARM = "warm"  # in memory
    FAILED = "failed"  # the last try ended badly; `detail` says how, `next` what to do


@dataclass(frozen=True, slots=True)
class ModelState:
    """What status and `/models` show of a backend's model."""

    backend: str
    model: str
    warmth: Warmth
    detail: str = ""
    next: str = ""
    memory_bytes: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # providers, window, digest, ...


class Backend(Protocol):
    """A model that can be asked. Cancelling the task that awaits an answer ends the generation."""

    @property
    def name(self) -> str:
        """ "ollama" or "smolvlm"."""

    @property
    def model(self) -> str:
        """Tag or catalog name."""

    @property
    def window(self) -> int:
        """Tokens that prompt and answer may have together."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text: exact, or an estimate that is never too low."""

    async def answer(self, ask: Ask) -> Answer:
        """The model's text; loads it first if need be. Raises ModelError."""

    async def warm(self) -> None:
        """Load the model. Raises ModelError."""

    async def unload(self) -> None:
        """Give its memory back; returns when it is gone. Raises ModelError."""

    async def state(self) -> ModelState:
        """What it is doing now, without loading anything. Raises nothing."""

    async def close(self) -> None:
        """End what belongs to it."""
