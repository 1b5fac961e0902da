"""Questions that a run puts to a person, and the one place where answers arrive."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from armlabd.execute.executor import Halt
from armlabd.plan.question import Question, chosen
from armlabd.verdict import Code, Verdict

GIVE_UP = "give up"
TRY_AGAIN = "try again"
RECOVERY = "recovery"  # the kind of our own questions: one of their options must be chosen
GIVING_UP = frozenset({GIVE_UP, "cancel", "no", "never mind", "forget it"})
MAX_ANSWER_CHARS = 200  # longer than any option; keeps a run folder small


@dataclass(slots=True)
class OpenQuestion:
    """A question that waits: its id, the run it belongs to, and the answer to come."""

    id: str
    run_id: str
    question: Question
    answer: asyncio.Future[str | None] = field(repr=False)

    def as_dict(self) -> dict[str, object]:
        """What a person is shown."""
        return {
            "id": self.id,
            "run": self.run_id,
            "text": self.question.text,
            "options": list(self.question.options),
            "code": str(self.question.code),
        }


class Questions:
    """At most one open question a run; answered once, by a person, or timed out."""

    def __init__(self) -> None:
        self._open: dict[str, OpenQuestion] = {}

    def list(self) -> list[dict[str, object]]:
        """Every open question."""
        return [question.as_dict() for question in self._open.values()]

    def of_run(self, run_id: str) -> OpenQuestion | None:
        """The open question of a run."""
        return next((q for q in self._open.values() if q.run_id == run_id), None)

    def open(self, run_id: str, number: int, question: Question) -> OpenQuestion:
        """Put a question where answers can find it, at once."""
        waiting = OpenQuestion(
            f"{run_id}-q{number}", run_id, question, asyncio.get_running_loop().create_future()
        )
        self._open[waiting.id] = waiting
        return waiting

    async def wait(self, waiting: OpenQuestion, timeout_s: float) -> str | None:
        """The answer; None when nobody answered within `timeout_s` or it was withdrawn."""
        try:
            return await asyncio.wait_for(waiting.answer, timeout_s)
        except TimeoutError:
            return None
        finally:
            self.close(waiting)

    def close(self, waiting: OpenQuestion) -> None:
        """No answer is taken any more."""
        self._open.pop(waiting.id, None)

    def answer(self, question_id: str, answer: object) -> Verdict:
        """Hand in a person's answer. NOT_FOUND, WRONG_TYPE or OUT_OF_RANGE when it cannot be."""
        waiting = self._open.get(question_id)
        if waiting is None or waiting.answer.done():
            return Verdict.refused(
                Code.NOT_FOUND,
                f"There is no open question {question_id!r:.60}. GET /questions lists them.",
            )
        problem = _problem(waiting.question, answer)
        if problem is not None:
            return problem
        waiting.answer.set_result(meaning(waiting.question, str(answer)))
        return Verdict(Code.OK, f"Answered: {answer}.", {"run": waiting.run_id})

    def withdraw(self, run_id: str) -> None:
        """End the wait of a run without an answer."""
        waiting = self.of_run(run_id)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(None)


def recovery_question(halt: Halt) -> Question:
    """What a person is asked when tries or refusals came to an end."""
    verdict = halt.verdict
    if halt.slipped:
        text = f"Step {halt.step}: {verdict.sentence} Clear the way, then choose."
    elif verdict.code is Code.GRASP_FAILED:
        tries = "one try" if halt.tries == 1 else f"{halt.tries} tries"
        text = (
            f"Step {halt.step}: nothing was grasped after {tries}. "
            "Put the object back in its place or clear the way, then choose."
        )
    else:
        text = f"Step {halt.step} was refused: {verdict.sentence} How shall it go on?"
    return Question(text, (TRY_AGAIN, GIVE_UP), verdict.code, RECOVERY)


def _problem(question: Question, answer: object) -> Verdict | None:
    if not isinstance(answer, str) or not answer.strip() or len(answer) > MAX_ANSWER_CHARS:
        return Verdict.refused(
            Code.WRONG_TYPE,
            f"answer must be a text of 1 to {MAX_ANSWER_CHARS} characters, but got {answer!r:.60}.",
        )
    if question.kind == RECOVERY and meaning(question, answer) not in question.options:
        options = ", ".join(repr(option) for option in question.options)
        return Verdict.refused(
            Code.OUT_OF_RANGE, f"{answer!r} is none of the answers. Choose one of: {options}."
        )
    return None


def meaning(question: Question, answer: str) -> str:
    """The option that was meant, "give up", or the person's own words."""
    if answer.strip().casefold() in GIVING_UP:
        return GIVE_UP
    return chosen(question, answer) or answer.strip()
