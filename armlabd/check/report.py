"""What the checker answers: the outcome in words, every fault and every warning by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armlabd.verdict import Code, Problem, Verdict

VALID = "Valid plan"


@dataclass(frozen=True, slots=True)
class Fault:
    """One broken rule. `step` counts from 1; 0 speaks of the plan as a whole."""

    step: int
    rule: str
    code: Code
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """The JSON form of `POST /plans/check`."""
        return {
            "step": self.step,
            "rule": self.rule,
            "code": str(self.code),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check. `outcome` is named by the first rule, in order, that is broken.

    `duration_s` is the time the motions take, where every step could be simulated.
    """

    outcome: str
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """True when the plan may be executed."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """The answer of `POST /plans/check`."""
        return {
            "outcome": self.outcome,
            "faults": [fault.as_dict() for fault in self.faults],
            "warnings": [fault.as_dict() for fault in self.warnings],
            "duration_s": round(self.duration_s, 2),
        }

    def verdict(self) -> Verdict:
        """The same as a verdict, for a run that ends `refused`."""
        if self.ok:
            return Verdict(Code.OK, self.outcome, self.as_dict())
        problems = tuple(Problem(fault.code, fault.sentence) for fault in self.faults)
        sentence = f"{self.outcome}: " + " ".join(_ended(p.sentence) for p in problems)
        return Verdict(problems[0].code, sentence, self.as_dict(), problems)


def _ended(sentence: str) -> str:
    """A sentence that others follow: from a capital to a full stop."""
    return sentence[:1].upper() + sentence[1:].rstrip(".") + "."
