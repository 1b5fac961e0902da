"""Series of stops: each is timed to the stamp of its torque-off frame at the virtual bus.

Between two stops the arm is cleared and a random part of two cycles passes, so that stops meet the
core's cycle at every phase. Stamps are fetched rarely: asking would disturb the bus in between.
"""

from __future__ import annotations

import bisect
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from armlabd.bench import bars
from armlabd.bench.bare import Sketch
from armlabd.bench.door import Door
from armlabd.bench.figures import Bar, Figure
from armlabd.bench.lines import CoreLine, World

ALL: Final = 6  # servos that confirm
GAP_S: Final = (0.002, 0.022)  # two cycles of 10 ms
BATCH: Final = 100  # stops between two looks at the stamps
LONGEST_S: Final = 240.0  # a series is cut off then, and has too few samples
NS_PER_MS: Final = 1e6


class Timed(Protocol):
    """An answer with the times around it."""

    @property
    def body(self) -> dict[str, Any]:
        """What came back."""

    @property
    def sent_ns(self) -> int:
        """Right before it was sent."""

    @property
    def answered_ns(self) -> int:
        """Right after the answer."""


@dataclass
class Stops:
    """A series: milliseconds from the event to the last byte of the frame, and to the answer.

    A frame that collides on the wire with an answer is lost and gets no stamp. Such a stop counts
    with the time at which all six had confirmed, which is later than any frame that did it.
    """

    asked: int = 0
    frame_ms: list[float] = field(default_factory=list)
    confirmed_ms: list[float] = field(default_factory=list)  # answers with six of six
    unseen: int = 0  # stops whose torque-off frame was lost on the wire
    failed: int = 0  # stops neither seen at the bus nor confirmed
    unconfirmed: int = 0  # answers with fewer than six; the core goes on repeating
    refused: int = 0  # motions in between that were refused and asked for again

    def add(self, answers: Sequence[Timed], frames: Iterable[Mapping[str, Any]]) -> None:
        """Take answers in order of time, and the stamps that came since the first of them."""
        stamps = [int(f["t_ns"]) for f in frames if f["kind"] == "torque_off" and f["broadcast"]]
        for answer, stamp in zip(answers, match([a.sent_ns for a in answers], stamps), strict=True):
            self.asked += 1
            confirmed = answer.body.get("confirmed") == ALL
            self.unseen += stamp is None
            self.unconfirmed += not confirmed
            self.failed += stamp is None and not confirmed
            done_ms = (answer.answered_ns - answer.sent_ns) / NS_PER_MS
            if confirmed:
                self.confirmed_ms.append(done_ms)
            if stamp is not None:
                self.frame_ms.append((stamp - answer.sent_ns) / NS_PER_MS)
            elif confirmed:
                self.frame_ms.append(done_ms)

    def figures(self, bar: Bar | None) -> list[Figure]:
        """The figures of the series; one in which every stop failed has none but that."""
        name = "stops neither seen at the bus nor confirmed"
        made = [Figure.of(name, "", [self.failed], bars.STOPS_FAILED)]
        if self.frame_ms:
            name = "event to last byte of the torque-off frame"
            lost = f"{self.unseen} frames lost on the wire, repeated" if self.unseen else ""
            made.insert(0, Figure.of(name, "ms", self.frame_ms, bar, "p99", lost))
        if self.confirmed_ms:
            note = f"{self.unconfirmed} of {self.asked} answers had fewer" if self.asked else ""
            name = "event to torque-off confirmed by six"
            made.append(Figure.of(name, "ms", self.confirmed_ms, note=note))
        return made


def match(sent: Sequence[int], stamps: Sequence[int]) -> list[int | None]:
    """For each event the first stamp at or after it and before the next event; both ascending."""
    found: list[int | None] = []
    for index, moment in enumerate(sent):
        place = bisect.bisect_left(stamps, moment)
        stamp = stamps[place] if place < len(stamps) else None
        if stamp is not None and index + 1 < len(sent) and stamp >= sent[index + 1]:
            stamp = None
        found.append(stamp)
    return found


def series(
    count: int, world: World, stop: Callable[[], Timed], prepare: Callable[[], None]
) -> Stops:
    """`count` stops. `prepare` makes the arm ready for the next one. Raises BenchError."""
    made = Stops()
    gaps = random.Random(1)
    until_s = time.monotonic() + LONGEST_S
    world.new_frames()
    while made.asked < count and time.monotonic() < until_s:
        answers = []
        for _ in range(min(BATCH, count - made.asked)):
            prepare()
            time.sleep(gaps.uniform(*GAP_S))
            answers.append(stop())
        made.add(answers, world.new_frames())
    return made


def at_core(count: int, line: CoreLine, world: World) -> Stops:
    """Stops by a visitor at the core's socket. The arm is at rest with torque off."""
    return series(count, world, line.stop, line.clear)


def by_http(count: int, door: Door, world: World) -> Stops:
    """Stops by POST /stop."""
    return series(
        count,
        world,
        lambda: door.must("POST", "/stop"),
        lambda: clear(door),
    )


def clear(door: Door) -> None:
    """Clear the stop by way of the daemon. Raises BenchError."""
    door.must("POST", "/stop/clear", {})


def bare(count: int, sketch: Sketch) -> list[float]:
    """The same number of stops of the bare sketch, ms. Raises BenchError."""
    gaps = random.Random(1)
    until_s = time.monotonic() + LONGEST_S
    made: list[float] = []
    while len(made) < count and time.monotonic() < until_s:
        time.sleep(gaps.uniform(*GAP_S))
        made.append(sketch.stop_ms())
    return made
