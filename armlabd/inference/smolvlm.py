"""SmolVLM and models of its layout on this board: the backend whose model lives in a worker.

The daemon's side only: it imports nothing heavy, sends questions over the wire, and ends the worker
to give the memory back. A worker that is lost costs its question, never the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from armlabd.inference import memory
from armlabd.inference.backend import Answer, Ask, Backend, Finish, ModelError, ModelState, Warmth
from armlabd.inference.bytepairs import BytePairs
from armlabd.inference.folder import look_at
from armlabd.inference.process import WorkerProcess
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.wire import Message, WireError
from armlabd.verdict import Code

log = logging.getLogger(__name__)

GRACE_S = 3.0  # the worker keeps the limits itself; later than this it hangs and is ended
SETTLE_S = 1.0  # a cancelled generation ends in milliseconds; a worker that does not is ended
RESTART_DELAYS_S = (0.0, 2.0, 10.0, 60.0)  # after the first, second, ... loss in a row
TEMPLATE_TOKENS = 64  # of the window, for what the chat template adds to a question


class SmolVlm(Backend):
    """One model folder. Questions are answered one after the other."""

    def __init__(
        self, settings: WorkerSettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._turn = asyncio.Lock()
        self._process: WorkerProcess | None = None
        self._loading: asyncio.Task[ModelError | None] | None = None
        self._facts: Mapping[str, Any] = {}
        self._warm = False
        self._error: ModelError | None = None
        self._unloaded: ModelError | None = None  # why the worker is being ended by us
        self._losses, self._not_before_s = 0, 0.0
        self._idle: asyncio.TimerHandle | None = None
        self._after: set[asyncio.Task[None]] = set()  # what goes on when nobody waits for it
        self._settling: asyncio.Task[None] | None = None
        self._number = 0
        self._pairs: BytePairs | None = None
        self._pairs_read = False
        self.mask_s = 0.0  # of the last answer: what mask, grammar and choice took
        self._closed = False

    @property
    def name(self) -> str:
        """The backend's name."""
        return "smolvlm"

    @property
    def model(self) -> str:
        """The model's name in the catalog."""
        return self.settings.model

    @property
    def window(self) -> int:
        """Tokens that prompt and answer may have together, the template's share taken off."""
        return max(0, int(self._facts.get("window", self.settings.window)) - TEMPLATE_TOKENS)

    @property
    def pid(self) -> int | None:
        """The worker's process id while there is one."""
        return None if self._process is None else self._process.pid

    def count_tokens(self, text: str) -> int:
        """Exact once the tokenizer's file could be read; else a token for each byte."""
        if self._pairs is None and not self._pairs_read:
            self._read_pairs()
        return self._pairs.count(text) if self._pairs else len(text.encode(errors="replace"))

    def _read_pairs(self) -> None:
        path = self.settings.path / "tokenizer.json"
        if path.is_file():
            self._pairs, self._pairs_read = BytePairs.read(path), True

    async def answer(self, ask: Ask) -> Answer:
        """The model's text; loads it first. Raises ModelError."""
        async with self._turn:
            await self._settled()
            load_s = await self._loaded()
            try:
                return await self._asked(ask, load_s)
            finally:
                self._rest()

    async def warm(self) -> None:
        """Load the model, once a question that was taken back has let go. Raises ModelError."""
        async with self._turn:
            await self._settled()
            try:
                await self._loaded()
            finally:
                self._rest()

    async def unload(self) -> None:
        """End the worker: a question under way is refused, the memory is back on return."""
        self._stay()
        sentence = f"{self.model} was unloaded while it was answering. Ask again to load it."
        await self._end(ModelError(Code.MODEL_LOST, sentence))

    async def close(self) -> None:
        """Unload for good."""
        self._closed = True
        await self.unload()
        await asyncio.gather(*self._after, return_exceptions=True)

    async def state(self) -> ModelState:
        """What the model is doing; loads nothing."""
        warmth, detail, remedy = self._described()
        held = memory.resident(self._process.pid) if self._process is not None else None
        return ModelState(self.name, self.model, warmth, detail, remedy, held, dict(self._facts))

    # --- loading ---------------------------------------------------------------------------------

    async def _loaded(self) -> float:
        """Seconds that loading took, 0 when it was warm. Raises ModelError."""
        if self._warm:
            return 0.0
        started_s = self._clock()
        if self._loading is None:
            self._unloaded = None
            self._loading = asyncio.create_task(self._load(), name="model load")
        # a load outlives who waits for it: the next question finds the model warm
        error = await asyncio.shield(self._loading)
        if error is not None:
            raise error
        return self._clock() - started_s

    async def _load(self) -> ModelError | None:
        """Load; what went wrong is a value, since nobody may be waiting any more."""
        try:
            self._may_start()
            folder = look_at(self.settings)
            memory.refuse_what_does_not_fit(folder, self.settings)
            await asyncio.to_thread(self._read_pairs)
            await self._start()
        except ModelError as error:
            self._error = error
            log.warning("%s is not loaded: %s", self.model, error.sentence)
            return error
        finally:
            self._loading = None
        self._error = None
        return None

    def _may_start(self) -> None:
        wait_s = self._not_before_s - self._clock()
        if self._closed:
            raise ModelError(Code.NO_MODEL, f"{self.model} was closed: choose it anew.")
        if wait_s > 0 and self._error is not None:
            raise ModelError(
                self._error.code,
                f"{self._error.sentence} After {self._losses} losses in a row it is tried again in "
                f"{wait_s:.0f} s at the earliest.",
            )

    async def _start(self) -> None:
        if self._unloaded is not None:
            raise self._unloaded
        process = WorkerProcess(self._on_end)
        self._process = process
        limit_s = self.settings.load_s
        try:
            async with asyncio.timeout(limit_s):
                await process.send("load", self.settings.as_fields())
                reply = await self._received(process)
        except TimeoutError:
            await self._drop(process)
            raise self._lost(
                ModelError(
                    Code.MODEL_TIMEOUT,
                    f"{self.model} was not loaded within {limit_s:g} s and was ended. Raise the "
                    "load limit, or use a smaller model.",
                )
            ) from None
        if reply.op != "loaded":
            await self._drop(process)
            raise self._lost(_refusal(reply))
        self._facts, self._warm = reply.fields, True

    # --- one question ----------------------------------------------------------------------------

    async def _asked(self, ask: Ask, load_s: float) -> Answer:
        process = self._process
        assert process is not None
        self._number += 1
        number = self._number
        try:
            async with asyncio.timeout(ask.answer_s + GRACE_S):
                reply = await self._exchanged(process, number, ask)
        except asyncio.CancelledError:
            # who takes a question back does not wait for the worker; the next question does
            self._settling = self._later(self._settle(process, number))
            raise
        except TimeoutError:
            await self._drop(process)
            raise self._lost(
                ModelError(
                    Code.MODEL_TIMEOUT,
                    f"The model worker did not answer within {ask.answer_s:g} s and was ended. "
                    "Raise the limit, or use a smaller model.",
                )
            ) from None
        if reply.op != "answer":
            raise _refusal(reply)
        self._losses, self._not_before_s = 0, 0.0
        self.mask_s = float(reply.fields["mask_s"])
        return _answer(reply, load_s)

    async def _exchanged(self, process: WorkerProcess, number: int, ask: Ask) -> Message:
        fields = {
            "id": number,
            "system": ask.system,
            "prompt": ask.prompt,
            "schema": ask.schema,
            "max_tokens": ask.max_tokens,
            "answer_s": ask.answer_s,
        }
        try:
            await process.send("ask", fields, ask.images)
        except WireError as error:
            raise ModelError(Code.OUT_OF_RANGE, f"The question is too large: {error}.") from error
        return await self._reply_to(process, number)

    async def _reply_to(self, process: WorkerProcess, number: int) -> Message:
        while True:
            reply = await self._received(process)
            if reply.fields.get("id") == number:
                return reply

    async def _received(self, process: WorkerProcess) -> Message:
        """The next message. Raises ModelError when the worker is lost."""
        try:
            reply = await process.receive()
        except WireError as error:
            await self._drop(process)
            sentence = f"The model worker wrote {error} and was ended."
            raise self._lost(ModelError(Code.MODEL_LOST, sentence)) from error
        if reply is None:
            await self._drop(process)
            raise self._unloaded or self._lost(process.cause())
        return reply

    async def _settled(self) -> None:
        """Wait until a question that was taken back has let go."""
        self._stay()
        if self._settling is not None:
            await asyncio.wait([self._settling])
            self._settling = None

    async def _settle(self, process: WorkerProcess, number: int) -> None:
        """Take the question back; a worker that does not give it up in time is ended."""
        settled = False
        try:
            with contextlib.suppress(TimeoutError, ModelError):
                async with asyncio.timeout(SETTLE_S):
                    await process.send("cancel", {"id": number})
                    await self._reply_to(process, number)
                    settled = True
        finally:
            if not settled:
                await self._drop(process)

    # --- ends ------------------------------------------------------------------------------------

    async def _end(self, why: ModelError) -> None:
        self._unloaded = why
        loading = self._loading
        if self._process is not None:
            await self._drop(self._process)
        if loading is not None:
            await asyncio.wait([loading])
        self._error, self._losses, self._not_before_s = None, 0, 0.0

    async def _drop(self, process: WorkerProcess) -> None:
        """End the worker and forget it."""
        if self._process is process:
            self._process, self._warm = None, False
        await process.end()

    def _on_end(self) -> None:
        """It is gone. One that nobody ended and nobody was asking is noticed here."""
        process = self._process
        settling = self._settling is not None and not self._settling.done()
        if process is None or not process.gone or self._turn.locked() or self._loading or settling:
            return
        self._process, self._warm = None, False
        self._lost(process.cause())
        self._later(process.end())

    def _lost(self, error: ModelError) -> ModelError:
        """Note a loss: the next start waits the longer the more there were in a row."""
        delay_s = RESTART_DELAYS_S[min(self._losses, len(RESTART_DELAYS_S) - 1)]
        self._losses += 1
        self._not_before_s = self._clock() + delay_s
        self._error = error
        log.warning("%s: %s", self.model, error.sentence)
        return error

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _rest(self) -> None:
        """Unload after a while without questions, when it is set."""
        self._stay()
        if self._warm and self.settings.idle_unload_s > 0:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self.settings.idle_unload_s, self._unload_idle)

    def _unload_idle(self) -> None:
        if not self._turn.locked():
            self._later(self.unload())

    def _later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._after.add(task)
        task.add_done_callback(self._after.discard)
        return task

    def _described(self) -> tuple[Warmth, str, str]:
        if self._warm:
            return Warmth.WARM, " ".join(self._facts.get("notes", ())), ""
        if self._loading is not None:
            return Warmth.LOADING, "", ""
        try:
            look_at(self.settings)
        except ModelError as error:
            return Warmth.ABSENT, error.sentence, "armlabd models fetch"
        if self._error is not None:
            return Warmth.FAILED, self._error.sentence, "ask again, or choose another model"
        return Warmth.COLD, "", ""


def _refusal(reply: Message) -> ModelError:
    """What the worker refused, as it said it."""
    try:
        code = Code(reply.fields.get("code", ""))
    except ValueError:
        code = Code.MODEL_LOST
    said = str(reply.fields.get("sentence", f"The worker answered {reply.op} out of turn."))
    return ModelError(code, said)


def _answer(reply: Message, load_s: float) -> Answer:
    given = reply.fields
    return Answer(
        text=given["text"],
        model=given["model"],
        finish=Finish(given["finish"]),
        prompt_tokens=given["prompt_tokens"],
        output_tokens=given["output_tokens"],
        forced_tokens=given["forced_tokens"],
        steps=given["steps"],
        load_s=load_s,
        prompt_s=given["prompt_s"],
        output_s=given["output_s"],
    )
