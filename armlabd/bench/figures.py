"""Figures and their bars: spreads of samples, and whether a figure holds what was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["held", "missed", "too few"]
Pick = Literal["median", "p90", "p99", "maximum"]


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` of all samples do not exceed (nearest rank).

    Always one of the samples, never in between. Raises ValueError for no samples, or a percent
    outside 0..100 (ends inside).
    """
    if not samples:
        raise ValueError("There are no samples to take a percentile of.")
    if not 0 <= percent <= 100:
        raise ValueError(f"A percentile lies within 0 to 100; {percent} does not.")
    rank = math.ceil(len(samples) * percent / 100)
    return sorted(samples)[max(rank, 1) - 1]


@dataclass(frozen=True, slots=True)
class Spread:
    """What a series of samples looks like, in the samples' own unit."""

    count: int
    median: float
    p90: float
    p99: float
    maximum: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """The spread of at least one sample. Raises ValueError for none."""
        middle, p90, p99 = (percentile(samples, percent) for percent in (50, 90, 99))
        return cls(len(samples), middle, p90, p99, max(samples))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "count": self.count,
            "median": self.median,
            "p90": self.p90,
            "p99": self.p99,
            "max": self.maximum,
        }


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise: the figure stays under `limit`, or at most there when `inside`.

    `least` samples are needed before it can be said to hold.
    """

    limit: float
    inside: bool = False
    least: int = 1

    def judge(self, value: float, count: int) -> Verdict:
        """Held, missed, or too few samples to tell. A value that is no number misses."""
        if not (value < self.limit or (self.inside and value == self.limit)):
            return "missed"
        return "held" if count >= self.least else "too few"

    def words(self, unit: str) -> str:
        """The bar as a person reads it."""
        amount = f"{self.limit:g} {unit}".strip()
        return f"at most {amount}" if self.inside else f"under {amount}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing. `picked` names the part of the spread that the bar is about."""

    name: str
    unit: str
    spread: Spread
    bar: Bar | None = None
    picked: Pick = "median"
    note: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        unit: str,
        samples: Sequence[float],
        bar: Bar | None = None,
        picked: Pick = "median",
        note: str = "",
    ) -> Figure:
        """The figure of these samples. Raises ValueError for none."""
        return cls(name, unit, Spread.of(samples), bar, picked, note)

    @property
    def value(self) -> float:
        """The part of the spread that is compared with the bar."""
        return float(getattr(self.spread, self.picked))

    @property
    def verdict(self) -> Verdict | None:
        """How the figure stands to its bar; None without one."""
        return None if self.bar is None else self.bar.judge(self.value, self.spread.count)

    def line(self) -> str:
        """One line of text."""
        parts = [f"{self.name}: {self._amounts()}"]
        if self.bar is not None:
            parts.append(f"{self._word()} (bar: {self._barred()})")
        if self.note:
            parts.append(self.note)
        return "; ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `value` is what the bar is about."""
        made: dict[str, Any] = {"name": self.name, "unit": self.unit, **self.spread.as_dict()}
        if self.bar is not None:
            made["picked"], made["value"] = self.picked, self.value
            made["bar"] = self.bar.words(self.unit)
            made["verdict"] = self.verdict
        if self.note:
            made["note"] = self.note
        return made

    def _amounts(self) -> str:
        spread, unit = self.spread, f" {self.unit}" if self.unit else ""
        if spread.count == 1:
            return f"{_short(spread.median)}{unit}"
        amounts = (spread.median, spread.p90, spread.p99, spread.maximum)
        named = zip(("median", "p90", "p99", "max"), amounts, strict=True)
        listed = ", ".join(f"{name} {_short(amount)}" for name, amount in named)
        return f"{listed}{unit} (n {spread.count})"

    def _barred(self) -> str:
        assert self.bar is not None
        part = "" if self.spread.count == 1 else f"{self.picked} "
        return part + self.bar.words(self.unit)

    def _word(self) -> str:
        verdict = self.verdict
        if verdict == "too few":
            assert self.bar is not None
            return f"TOO FEW SAMPLES to say, {self.bar.least} are needed"
        return "held" if verdict == "held" else "MISSED"


def _short(amount: float) -> str:
    """Three figures are more than the noise allows."""
    return f"{amount:.0f}" if abs(amount) >= 1000 else f"{amount:.3g}"
