"""ModelPlanner: a model chooses, the schema bounds what it can say, code does the rest.

One prompt, one repair round with the faults told, then a person is asked. A model that cannot
answer at all costs its time: the rules plan instead, and the note says so. What the model writes
is data until it has been read, expanded and checked; nothing it says of itself is believed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from armlabd.gate.tools import ToolTable
from armlabd.inference.backend import Answer, Ask, Backend, Finish, ModelError
from armlabd.plan import words as w
from armlabd.plan.context import PlanContext
from armlabd.plan.planner import Attempt, Outcome, Planned, Think
from armlabd.plan.prompt import Wording, wordings
from armlabd.plan.question import Question, Stop
from armlabd.plan.reading import Read, Reader
from armlabd.plan.rules import RulesPlanner, is_blind
from armlabd.plan.stops import means_stop
from armlabd.plan.text import MAX_CHARS
from armlabd.verdict import Code

TRIES = 2  # the answer, and one repair round
ANSWER_SHARE = 3  # an answer may take at most this part (1/3) of a small window


@dataclass(slots=True)
class _Talk:
    """One goal being planned: who reads the answers, and what was tried."""

    reader: Reader
    think: Think
    attempts: list[Attempt] = field(default_factory=list)
    faults: tuple[str, ...] = ()


class ModelPlanner:
    """Plans with a model behind a `Backend`. `tools` None: plans of skills, else of tool calls.

    `max_tokens` bounds one answer, `answer_s` its time in a loaded model.
    """

    def __init__(
        self,
        backend: Backend,
        rules: RulesPlanner,
        *,
        tools: ToolTable | None = None,
        max_tokens: int = 512,
        answer_s: float = 60.0,
    ) -> None:
        self._backend, self._rules, self._tools = backend, rules, tools
        self._max_tokens, self._answer_s = max_tokens, answer_s
        self._asking: set[asyncio.Task[Answer]] = set()

    @property
    def name(self) -> str:
        """Backend and model, such as "ollama:qwen3:4b"."""
        return f"{self._backend.name}:{self._backend.model}"

    async def plan(
        self, goal: str, context: PlanContext, think: Think = asyncio.to_thread
    ) -> Planned:
        """What the model plans, asks or calls impossible; what the rules say where it cannot."""
        for said in (goal, *context.answers.values()):
            if means_stop(said):
                return Planned(Stop(said[:MAX_CHARS]), self.name)
        wanted = context.answers.get("goal", goal)
        talk = _Talk(Reader(wanted, context, self._tools, self.name), think)
        try:
            outcome = await self._outcome(talk)
        except ModelError as error:
            if error.code is Code.OUT_OF_RANGE:
                return self._planned(_too_long(error.sentence), talk)
            return await self._by_rules(goal, talk, error)
        return self._planned(outcome, talk)

    def needs_scene(self, goal: str) -> bool:
        """False for what is done without looking whoever plans it: going home, opening, stop."""
        return not (means_stop(goal) or is_blind(goal))

    async def close(self) -> None:
        """End what is being generated; whoever waits for it plans with the rules."""
        asking = list(self._asking)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    # --- one goal ---------------------------------------------------------------------------

    async def _outcome(self, talk: _Talk) -> Outcome:
        """The first answer that is of use, or a question to a person. Raises ModelError."""
        for _ in range(TRIES):
            read = await self._try(talk)
            if not isinstance(read, tuple):
                return read
            talk.faults = read
        return self._gave_up(talk.faults)

    async def _try(self, talk: _Talk) -> Read:
        """Ask once, in the fullest wording that fits the window: the backend counts exactly."""
        reader, count = talk.reader, self._backend.count_tokens
        full: ModelError | None = None
        for wording in wordings(reader.goal, reader.context, self._tools, count, talk.faults):
            try:
                return await self._ask(wording, talk)
            except ModelError as error:
                if error.code is not Code.OUT_OF_RANGE:
                    talk.attempts.append(_attempt(None, (error.sentence,), wording))
                    raise
                full = error
        assert full is not None  # there is always a wording
        talk.attempts.append(_attempt(None, (full.sentence,), wording))
        raise full

    def _answer_tokens(self) -> int:
        return min(self._max_tokens, self._backend.window // ANSWER_SHARE)

    async def _ask(self, wording: Wording, talk: _Talk) -> Read:
        """Ask in these words and read the answer. Raises ModelError when there is none."""
        ask = Ask(
            wording.system,
            wording.prompt,
            wording.schema,
            max_tokens=self._answer_tokens(),
            answer_s=self._answer_s,
        )
        answer: Answer | None = None
        try:
            answer = await self._asked(ask)
            read = await talk.think(_read, talk.reader, answer, wording)
        except ModelError as error:
            if error.code is not Code.MODEL_ANSWER:
                raise
            read = (error.sentence,)
        told = read if isinstance(read, tuple) else ()
        talk.attempts.append(_attempt(answer, told, wording))
        return read

    async def _asked(self, ask: Ask) -> Answer:
        """The backend's answer. Cancelling ends it; closed meanwhile, it is a ModelError."""
        task = asyncio.ensure_future(self._backend.answer(ask))
        self._asking.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            mine = asyncio.current_task()
            if mine is not None and mine.cancelling():
                raise
            sentence = f"{self.name} was put away while it answered. The next plan uses what is on."
            raise ModelError(Code.MODEL_LOST, sentence) from None
        finally:
            self._asking.discard(task)

    # --- ends -------------------------------------------------------------------------------

    async def _by_rules(self, goal: str, talk: _Talk, error: ModelError) -> Planned:
        planned = await self._rules.plan(goal, talk.reader.context, talk.think)
        note = f"Planned by the rules, because {self.name} could not answer: {error.sentence}"
        return Planned(planned.outcome, planned.planner, tuple(talk.attempts), note)

    def _planned(self, outcome: Outcome, talk: _Talk) -> Planned:
        return Planned(outcome, self.name, tuple(talk.attempts))

    def _gave_up(self, faults: tuple[str, ...]) -> Question:
        why = "; ".join(faults)
        text = (
            f"{self.name} made no usable plan in {TRIES} tries ({why}). "
            "Say it in other words, or one step at a time."
        )
        return Question(text, w.EXAMPLES, Code.MODEL_ANSWER, "goal")


def _read(reader: Reader, answer: Answer, wording: Wording) -> Read:
    if answer.finish is Finish.LENGTH:
        return (f"the answer was cut after {answer.output_tokens} tokens; write a shorter one",)
    return reader.read(answer.text, wording)


def _attempt(answer: Answer | None, faults: tuple[str, ...], wording: Wording) -> Attempt:
    return Attempt(answer, faults, wording.counted_tokens, wording.examples)


def _too_long(sentence: str) -> Question:
    text = f"{sentence} Say it shorter, clear the table a little, or choose a larger window."
    return Question(text, w.EXAMPLES, Code.OUT_OF_RANGE, "goal")
