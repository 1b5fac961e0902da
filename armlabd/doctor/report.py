"""What the doctor says: one check a line, in the order in which things should be mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "finding", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `remedy` are steps in the order of doing; commands stand as typed.

    `skipped` means that it could not be looked at because of an earlier finding, or that there is
    nothing to look at.
    """

    name: str
    state: State
    sentence: str
    remedy: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "check": self.name,
            "state": self.state,
            "sentence": self.sentence,
            "remedy": list(self.remedy),
        }

    def lines(self) -> list[str]:
        """In words that can be read aloud."""
        word = {"ok": "ok", "finding": "FINDING", "skipped": "not looked at"}[self.state]
        starts = ["  first: ", *["  then: "] * len(self.remedy)]
        steps = [start + step for start, step in zip(starts, self.remedy, strict=False)]
        return [f"{self.name}: {word}. {self.sentence}", *steps]


def ok(name: str, sentence: str) -> Check:
    """Nothing is wrong here."""
    return Check(name, "ok", sentence)


def finding(name: str, sentence: str, *remedy: str) -> Check:
    """Something is wrong, and this is what to do."""
    return Check(name, "finding", sentence, remedy)


def skipped(name: str, sentence: str) -> Check:
    """It was not looked at, and why."""
    return Check(name, "skipped", sentence)


@dataclass(frozen=True, slots=True)
class Report:
    """All checks, in the order of mending."""

    about: str
    checks: tuple[Check, ...]

    @property
    def findings(self) -> tuple[Check, ...]:
        """What is wrong, first things first."""
        return tuple(check for check in self.checks if check.state == "finding")

    @property
    def healthy(self) -> bool:
        """True when nothing is wrong."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        first = self.findings[0].name if self.findings else None
        return {
            "about": self.about,
            "ok": self.healthy,
            "findings": len(self.findings),
            "first": first,
            "checks": [check.as_dict() for check in self.checks],
        }

    def lines(self) -> list[str]:
        """In words."""
        lines = [self.about, *(line for check in self.checks for line in check.lines())]
        if self.healthy:
            return [*lines, "Nothing is wrong."]
        first, count = self.findings[0], len(self.findings)
        told = "There is 1 finding." if count == 1 else f"There are {count} findings."
        begin = first.remedy[0] if first.remedy else first.sentence
        return [*lines, f"{told} Begin with {first.name}: {begin}"]
