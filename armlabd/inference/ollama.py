"""A model in an Ollama server on this board, by its native API.

Loading has its own limit, and goes on when whoever waited for it leaves: a load that is given up
each time never ends. The window is always sent, and what the server says of the prompt is compared
with an estimate, because a prompt that is too long loses its beginning without a word.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from armlabd.inference import ollama_errors as errors
from armlabd.inference.backend import Answer, Ask, Finish, ModelError, ModelState, Warmth
from armlabd.inference.ollama_list import Tag, find, loaded_models, tags
from armlabd.inference.ollama_names import refuse_remote, remote_model
from armlabd.inference.ollama_wire import OllamaWire
from armlabd.inference.tokens import IMAGE_TOKENS, least_tokens, most_tokens
from armlabd.verdict import Code

T = TypeVar("T")
QUICK_S = 5.0  # for what the server knows by heart
TEMPLATE_TOKENS = 64  # of a chat template round two messages
MAX_TEXT = 262_144  # characters of an answer
NS = 1e-9
# Failures that the next try meets again; a server that was gone or a model that was absent may
# be there by now.
LASTING = frozenset({Code.MODEL_MEMORY, Code.MODEL_TIMEOUT, Code.MODEL_ANSWER})


@dataclass(frozen=True, slots=True)
class OllamaSettings:
    """Where, which, and how long. Times in seconds, `window` in tokens, keep_alive_s -1 = ever."""

    url: str
    model: str
    window: int = 8192
    load_s: float = 300.0
    between_s: float = 20.0
    unload_s: float = 30.0
    keep_alive_s: int = 3600
    allow_remote: bool = False


class Ollama:
    """A Backend. It holds no model itself: closing it leaves the server as it is."""

    name = "ollama"

    def __init__(self, settings: OllamaSettings) -> None:
        self._settings = settings
        self._wire = OllamaWire(settings.url)
        self._loading: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Future[Any]] = set()
        self._failure: ModelError | None = None
        self._window = settings.window  # smaller when the server loaded it with less
        self._window_told = False
        self._given: int | None = None  # the window that our own load was given
        self._load_s = 0.0

    @property
    def model(self) -> str:
        """The tag."""
        return self._settings.model

    @property
    def window(self) -> int:
        """Tokens that prompt and answer may have together, the template's share taken off."""
        return max(0, self._window - TEMPLATE_TOKENS)

    def count_tokens(self, text: str) -> int:
        """An estimate that is never too low."""
        return most_tokens(text)

    async def answer(self, ask: Ask) -> Answer:
        """The model's text; loads it first if need be. Raises ModelError."""
        self._load_s = 0.0
        try:
            await self._ready()
            self._check_fits(ask)
            answer = await self._alone(self._answered(ask), "answering")
        except ModelError as error:
            self._failure = None if error.code is Code.OUT_OF_RANGE else error
            raise
        self._failure = None
        return answer

    async def warm(self) -> None:
        """Load the model. Raises ModelError."""
        await self._ready()

    async def unload(self) -> None:
        """Give its memory back; returns when it is gone. Raises ModelError."""
        await self._end_all()
        if await self._loaded() is None:
            return
        await self._post({"messages": [], "keep_alive": 0}, self._settings.unload_s)
        try:
            async with asyncio.timeout(self._settings.unload_s):
                while await self._loaded() is not None:
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            what = "was told to leave the memory and is still there after"
            raise errors.too_slow(self.model, what, self._settings.unload_s) from error

    async def state(self) -> ModelState:
        """What it is doing now, without loading anything."""
        try:
            refuse_remote(self._settings.url, self.model, self._settings.allow_remote)
            tag = find(await tags(self._wire), self.model)
            loaded = await self._loaded()
        except ModelError as error:
            return self._told(Warmth.FAILED, error)
        if self._is_loading():
            return self._told(Warmth.LOADING)
        if loaded is not None:
            facts = {"window": loaded.window or self._window, "until": loaded.expires}
            known = self._told(Warmth.WARM)
            return replace(known, memory_bytes=loaded.bytes, facts={**known.facts, **facts})
        if tag is None:
            return self._told(Warmth.ABSENT, errors.absent(self.model))
        if self._failure is not None and self._failure.code in LASTING:
            return self._told(Warmth.FAILED, self._failure)
        return self._told(Warmth.COLD, self._failure, "Last time: ")

    def _told(self, warmth: Warmth, error: ModelError | None = None, say: str = "") -> ModelState:
        detail = "" if error is None else say + error.sentence
        return ModelState(self.name, self.model, warmth, detail, facts={"url": self._settings.url})

    async def close(self) -> None:
        """End the connections and a load that goes on."""
        await self._end_all()
        await self._wire.close()

    # --- loading ----------------------------------------------------------------------------

    async def _ready(self) -> None:
        """In memory, and with what window. Raises ModelError."""
        refuse_remote(self._settings.url, self.model, self._settings.allow_remote)
        loaded = await self._loaded()
        if loaded is None or self._too_small(loaded):
            await self._load()
            loaded = await self._loaded()
            self._given = None if loaded is None else loaded.window
        asked = self._settings.window
        told = None if loaded is None else loaded.window
        self._window, self._window_told = min(asked, told or asked), told is not None

    def _too_small(self, loaded: Tag) -> bool:
        """Loaded by somebody else with a smaller window than ours: asked for again, it grows.

        What the server gave to our own load is all that it has.
        """
        return (loaded.window or self._settings.window) < self._settings.window and (
            loaded.window != self._given
        )

    async def _load(self) -> None:
        """Wait for the load that goes on, or begin one. Whoever leaves does not end it."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_once(), name=f"load {self.model}")
            self._loading.add_done_callback(self._note_load)
        await self._ended(self._loading, "loading")

    async def _ended(self, task: asyncio.Task[T], doing: str) -> T:
        """The task's result. Raises ModelError when an unload ended it."""
        await asyncio.wait((task,))
        if task.cancelled():
            raise ModelError(
                Code.MODEL_LOST, f"{self.model} was unloaded while it was {doing}. Ask again."
            )
        return task.result()

    async def _alone(self, work: Coroutine[Any, Any, T], doing: str) -> T:
        """Work that an unload ends, and so does whoever leaves."""
        task = asyncio.ensure_future(work)
        self._asking.add(task)
        try:
            return await self._ended(task, doing)
        finally:
            task.cancel()
            self._asking.discard(task)

    async def _load_once(self) -> None:
        began_s = time.monotonic()
        await self._check_able("completion")
        await self._post({"messages": []}, self._settings.load_s)
        self._load_s = time.monotonic() - began_s

    def _note_load(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        self._failure = error if isinstance(error, ModelError) else None

    def _is_loading(self) -> bool:
        return self._loading is not None and not self._loading.done()

    async def _end_all(self) -> None:
        """End the load and every answer that go on."""
        tasks = [*self._asking, *([] if self._loading is None else [self._loading])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _check_able(self, ability: str) -> None:
        """What the model can do, where the server tells. Raises ModelError with its name."""
        shown = await self._wire.ask(
            "POST", "/api/show", self.model, QUICK_S, {"model": self.model}
        )
        if shown.get("remote_host") and not self._settings.allow_remote:
            raise remote_model(self.model)
        abilities = shown.get("capabilities")
        if isinstance(abilities, list) and abilities and ability not in abilities:
            can = ", ".join(map(str, abilities))[:100]
            raise ModelError(
                Code.NO_MODEL,
                f"{self.model} is no model for this: it can {can}, and {ability} is needed. "
                "Choose another (armlabd models list).",
            )

    async def _loaded(self) -> Tag | None:
        return find(await loaded_models(self._wire), self.model)

    # --- asking -----------------------------------------------------------------------------

    def _check_fits(self, ask: Ask) -> None:
        pictures = IMAGE_TOKENS * len(ask.images)
        most = most_tokens(ask.system) + most_tokens(ask.prompt) + pictures + ask.max_tokens
        if most > self.window:
            raise ModelError(
                Code.OUT_OF_RANGE,
                f"The question to {self.model} may take {most} tokens with its answer, and the "
                f"window has {self.window}. Raise [planner.ollama] num_ctx, or ask for less.",
            )

    async def _answered(self, ask: Ask) -> Answer:
        if ask.images:
            await self._check_able("vision")
        try:
            async with asyncio.timeout(ask.answer_s):
                text, last = await self._chat(ask)
        except TimeoutError as error:
            what = "was not done with its answer after"
            raise errors.too_slow(self.model, what, ask.answer_s) from error
        answer = self._result(text, last)
        self._check_whole_prompt(ask, answer.prompt_tokens)
        return answer

    async def _chat(self, ask: Ask) -> tuple[str, Mapping[str, Any]]:
        """The text and the last line of the stream. Raises ModelError."""
        parts: list[str] = []
        length, thought = 0, False
        body = self._body(_question(ask), ask.max_tokens)
        lines = self._wire.stream(
            "/api/chat", body, self.model, ask.answer_s, self._settings.between_s
        )
        async with aclosing(lines):
            async for line in lines:
                message = line.get("message")
                if isinstance(message, dict):
                    parts.append(str(message.get("content") or ""))
                    thought = thought or bool(message.get("thinking"))
                    length += len(parts[-1])
                if length > MAX_TEXT:
                    raise errors.unreadable(self.model, f"it is longer than {MAX_TEXT} characters")
                if line.get("done") is True:
                    return self._text(parts, thought), line
        raise errors.broken_off(self.model, "the stream ended without its last line")

    def _text(self, parts: list[str], thought: bool) -> str:
        text = "".join(parts)
        if not text.strip():
            why = "it only thought aloud" if thought else "it wrote nothing"
            raise ModelError(
                Code.MODEL_ANSWER,
                f"{self.model} gave no answer: {why}. Ask again, or choose another model.",
            )
        return text

    def _result(self, text: str, last: Mapping[str, Any]) -> Answer:
        cut = last.get("done_reason") == "length"
        tokens = _count(last, "eval_count")
        return Answer(
            text,
            self.model,
            Finish.LENGTH if cut else Finish.STOP,
            prompt_tokens=_count(last, "prompt_eval_count"),
            output_tokens=tokens,
            steps=tokens,
            load_s=self._load_s + NS * _count(last, "load_duration"),
            prompt_s=NS * _count(last, "prompt_eval_duration"),
            output_s=NS * _count(last, "eval_duration"),
        )

    def _check_whole_prompt(self, ask: Ask, counted: int) -> None:
        """Raises ModelError when the server read less than any tokenizer makes of the question.

        Asked only where the server does not tell the window that it loaded: where it does, what
        might not fit was never sent, and a small count means that some was read before.
        """
        if self._window_told:
            return
        least = least_tokens(ask.system) + least_tokens(ask.prompt)
        if 0 < counted < least:
            raise ModelError(
                Code.MODEL_ANSWER,
                f"{self.model} has read only {counted} tokens of a question that has at least "
                f"{least}: its beginning was cut. Raise [planner.ollama] num_ctx, and see "
                "OLLAMA_CONTEXT_LENGTH of the server.",
            )

    def _body(self, more: Mapping[str, Any], max_tokens: int | None = None) -> dict[str, Any]:
        """A request; the options that make the server load anew are always the same."""
        options: dict[str, Any] = {"num_ctx": self._settings.window, "temperature": 0, "seed": 0}
        if max_tokens is not None:
            options["num_predict"] = max_tokens
        keep = {"keep_alive": self._settings.keep_alive_s}
        return {"model": self.model, "options": options, **keep, **more}

    async def _post(self, more: Mapping[str, Any], limit_s: float) -> None:
        """Load or unload, within a limit."""
        body = self._body({"stream": False, **more})
        try:
            async with asyncio.timeout(limit_s):
                await self._wire.ask("POST", "/api/chat", self.model, 2 * limit_s, body)
        except TimeoutError as error:
            raise errors.too_slow(self.model, "was not loaded within", limit_s) from error


def _question(ask: Ask) -> dict[str, Any]:
    user: dict[str, Any] = {"role": "user", "content": ask.prompt}
    if ask.images:
        user["images"] = [base64.b64encode(image).decode() for image in ask.images]
    return {
        "messages": [{"role": "system", "content": ask.system}, user],
        "format": dict(ask.schema),
        "stream": True,
        "think": False,
        "truncate": False,
        "shift": False,
    }


def _count(line: Mapping[str, Any], name: str) -> int:
    """A count or a time in ns; a field that is left out is zero."""
    value = line.get(name, 0)
    return value if isinstance(value, int) and value > 0 else 0
