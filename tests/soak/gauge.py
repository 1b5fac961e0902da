"""Memory, descriptors and threads of processes over time, and whether they grow."""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path

HOUR_S = 3600.0
MIB = 1024 * 1024
WINDOW_S = 30.0


@dataclass(frozen=True)
class Sample:
    """One process at one time."""

    at_s: float
    rss_bytes: int
    descriptors: int
    threads: int


def sample(pid: int, at_s: float) -> Sample | None:
    """What a process takes now; None when it is gone."""
    folder = Path(f"/proc/{pid}")
    with contextlib.suppress(OSError):
        pages = int((folder / "statm").read_text().split()[1])
        counts = [len(list((folder / name).iterdir())) for name in ("fd", "task")]
        return Sample(at_s, pages * os.sysconf("SC_PAGE_SIZE"), counts[0], counts[1])
    return None


@dataclass
class Gauge:
    """The samples of one process name; a new process (another pid) begins anew."""

    name: str
    samples: list[Sample] = field(default_factory=list)
    pid: int = 0
    restarts: int = 0

    def look(self, pid: int, at_s: float) -> None:
        """Take a sample."""
        if pid != self.pid:
            self.restarts += self.pid != 0
            self.pid, self.samples = pid, []
        found = sample(pid, at_s)
        if found is not None:
            self.samples.append(found)

    def kept(self, from_s: float) -> list[Sample]:
        """The least of every half minute: pictures that a look holds for a moment are no growth."""
        least: dict[int, Sample] = {}
        for one in self.samples:
            if one.at_s >= from_s:
                window = int(one.at_s // WINDOW_S)
                best = least.get(window, one)
                least[window] = min(best, one, key=lambda sample: sample.rss_bytes)
        return list(least.values())

    def slope_mib_per_h(self, from_s: float) -> float:
        """The median slope between any two of `kept` after the warm-up (Theil and Sen)."""
        slopes = [
            (b.rss_bytes - a.rss_bytes) / MIB / (b.at_s - a.at_s) * HOUR_S
            for a, b in itertools.combinations(self.kept(from_s), 2)
            if b.at_s > a.at_s
        ]
        return statistics.median(slopes) if slopes else 0.0

    def growth(self, what: str, from_s: float) -> tuple[int, int]:
        """Median of a count in the first and in the last third after the warm-up."""
        counts = [getattr(s, what) for s in self.samples if s.at_s >= from_s]
        third = max(1, len(counts) // 3)
        first, last = counts[:third], counts[-third:]
        return int(statistics.median(first)), int(statistics.median(last))

    def line(self, from_s: float) -> str:
        """In words."""
        rss = [size / MIB for size in self.growth("rss_bytes", from_s)]
        fds, threads = self.growth("descriptors", from_s), self.growth("threads", from_s)
        return (
            f"{self.name}: {rss[0]:.1f} then {rss[1]:.1f} MiB, {self.slope_mib_per_h(from_s):+.2f} "
            f"MiB/h after warm-up; descriptors {fds[0]} then {fds[1]}; threads {threads[0]} then "
            f"{threads[1]}; {self.restarts} restarts; {len(self.samples)} samples"
        )
