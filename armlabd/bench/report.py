"""The result of a bench: figures, the machine they were taken on, and what went wrong."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armlabd.bench.figures import Figure

QUIET_LOAD = 0.5  # absolute figures mean something below this


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when it was measured; `load` is the one minute's average at the start.

    `virtual`: the processors are a hypervisor's, which can be told on x86 only.
    """

    load: float
    cpus: int
    python: str
    kernel: str
    virtual: bool = False

    @classmethod
    def now(cls) -> Machine:
        """This machine, as it is now."""
        cpus = len(os.sched_getaffinity(0))
        load = round(os.getloadavg()[0], 2)
        kernel = f"{platform.system()} {platform.release()}"
        cpuinfo = ""
        with contextlib.suppress(OSError):
            cpuinfo = Path("/proc/cpuinfo").read_text()
        return cls(load, cpus, platform.python_version(), kernel, is_virtual(cpuinfo))

    @property
    def quiet(self) -> bool:
        """True when nothing else wanted the processors."""
        return self.load < QUIET_LOAD

    def lines(self) -> list[str]:
        """In words."""
        system = f"Python {self.python}, {self.kernel}"
        so = "this one was." if self.quiet else "this one was NOT, so read them as upper bounds."
        processors = f"{self.cpus} {'virtual ' if self.virtual else ''}processors"
        return [
            f"load {self.load:g} on {processors} at the start, {system}",
            f"Absolute figures need a quiet machine (load under {QUIET_LOAD:g}): {so}",
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "load": self.load,
            "quiet": self.quiet,
            "cpus": self.cpus,
            "python": self.python,
            "kernel": self.kernel,
            "virtual": self.virtual,
        }


def is_virtual(cpuinfo: str) -> bool:
    """Whether the text of /proc/cpuinfo is of a hypervisor's processors."""
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    return any(
        name.strip() == "flags" and "hypervisor" in flags.split() for name, _, flags in lines
    )


@dataclass(frozen=True, slots=True)
class Section:
    """Figures that belong together."""

    title: str
    figures: tuple[Figure, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"title": self.title, "figures": [figure.as_dict() for figure in self.figures]}


@dataclass(frozen=True, slots=True)
class Report:
    """A whole bench. `failures` are sentences about what could not be measured at all."""

    name: str
    machine: Machine
    sections: tuple[Section, ...]
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    plot: str = ""  # an SVG picture, where the bench makes one

    @property
    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [figure for section in self.sections for figure in section.figures]

    @property
    def held(self) -> bool:
        """True when everything was measured, with enough samples, and every bar holds."""
        judged = [figure.verdict for figure in self.figures if figure.bar is not None]
        return bool(judged) and not self.failures and all(word == "held" for word in judged)

    def lines(self) -> list[str]:
        """The report as text."""
        lines = [f"bench {self.name}", *self.machine.lines()]
        for section in self.sections:
            lines += ["", section.title, *(f"  {figure.line()}" for figure in section.figures)]
        lines += _listed("Notes", self.notes) + _listed("Could not be measured", self.failures)
        return [*lines, "", self._summary()]

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "bench": self.name,
            "held": self.held,
            "machine": self.machine.as_dict(),
            "sections": [section.as_dict() for section in self.sections],
            "notes": list(self.notes),
            "failures": list(self.failures),
        }

    def _summary(self) -> str:
        words = [str(figure.verdict) for figure in self.figures if figure.bar is not None]
        said = {"held": "held", "missed": "missed", "too few": "undecided"}
        counts = ", ".join(f"{words.count(word)} {text}" for word, text in said.items())
        return f"{len(words)} bars: {counts}."


def _listed(title: str, sentences: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {sentence}" for sentence in sentences)] if sentences else []
