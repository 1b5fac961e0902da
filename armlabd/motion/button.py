"""The physical stop line as the core sees it. Only "released" lets the arm move.

The contact is closed while the arm may run and opens when it is pressed, so a cut wire is a press.
The first sign of open is a stop, without debouncing; "released" needs the contact closed and quiet
for `release_s`. Nothing here ever stops reading: what cannot be read, has lost events or flickers
is a stop.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from armlabd.motion.disk import Disk
from armlabd.motion.proof import Proof, line_name
from armlabd.motion.settings import CoreSettings

RETRY_S = 1.0  # a line that could not be opened or read is tried again this often
MOST_EDGES = 100  # in a second; a bouncing contact makes 10 to 20 per press
NOISE_S = 1.0  # a line that flickers counts as quiet after so long without an edge
PRESS_S = 0.03  # open for so long is a press; shorter may be a disturbance and proves nothing
STAMP_S = 1.0  # an edge stamped longer ago than this is not believed to the microsecond


class Reading(NamedTuple):
    """What the line said. `level` is True while open, False while closed, None when unread.

    `edges` since the reading before, `lost` when events are missing between them, `edge_s` when
    the first of them happened (monotonic), None when that is not known.
    """

    level: bool | None
    edges: int = 0
    lost: bool = False
    edge_s: float | None = None


class LineSource(Protocol):
    """Reads the contact. Nothing in it raises or waits."""

    fd: int  # readable when edges wait; -1 while there is none
    why: str  # why it cannot be read, and what to do
    where: str  # which line it is, in words

    def open(self) -> bool:
        """Get hold of the line; False, with `why`, when that fails. Again at any time."""

    def take(self, events: bool) -> Reading:
        """The level, with `events` also the edges that wait. A line that fails is closed."""

    def close(self) -> None:
        """Let go of it."""


class ScriptedLine:
    """A line for tests: it reads what it was last set to; `script` goes out reading by reading."""

    def __init__(self, level: bool | None = False) -> None:
        self.level = level
        self.script: list[Reading] = []
        self.fd, self.why, self.where = -1, "It is scripted so.", "a scripted line"
        self.opened = 0
        self.asked: list[bool] = []  # whether edges were wanted, reading by reading

    def open(self) -> bool:
        """Works unless it is scripted as unreadable."""
        self.opened += 1
        return self.level is not None

    def take(self, events: bool) -> Reading:
        """The next of the script, else the level."""
        self.asked.append(events)
        return self.script.pop(0) if self.script else Reading(self.level)

    def close(self) -> None:
        """Nothing is held."""


class Button:
    """What the line means: `state` is released, pressed, broken, noisy, missing or none.

    missing: required, but no line is configured. none: there is no physical stop. `tripped_s` is
    when the last press happened, as exactly as it is known (monotonic).
    """

    def __init__(
        self,
        line: LineSource | None,
        required: bool,
        release_s: float = 0.2,
        now_s: float = 0.0,
        proof: Proof | None = None,
    ) -> None:
        self._line = line
        self._release_s = release_s
        self.proof = proof or Proof()
        self.state = "missing" if required else "none"
        self.edges = 0
        self.lost = 0
        self.tripped_s = now_s
        self._open_s: float | None = None  # since when it reads open
        self._closed_s: float | None = None  # since when it reads closed, without an edge
        self._retry_s = self._quiet_s = self._window_s = now_s
        self._in_window = 0
        self._pressed = False  # long enough to count as a press, since it was released
        if line is not None:
            self._at_start(line, now_s)

    def _at_start(self, line: LineSource, now_s: float) -> None:
        """The level alone decides: no edge need ever come."""
        reading = line.take(True) if line.open() else Reading(None)
        self.state = "released"
        self._see(reading, now_s)
        if reading.level is False:
            self.state = "released"

    @property
    def fd(self) -> int:
        """What to wait on besides the clock; -1 while only the ticks read it.

        A storm of edges, or a broken line that stays readable, would else leave time for nothing.
        """
        return -1 if self._line is None or self.state in ("noisy", "broken") else self._line.fd

    def look(self, now_s: float, woken: bool = False) -> bool:
        """Read the line, when `woken` its edges too; True when it tripped since the last look."""
        line = self._line
        if line is None:
            return False
        before = self.state
        if before == "broken":
            if now_s < self._retry_s:
                return False
            self._retry_s = now_s + RETRY_S
            if not line.open():
                return False
        self._see(line.take(woken or before == "noisy"), now_s)
        return before == "released" and self.state != "released"

    def _see(self, reading: Reading, now_s: float) -> None:
        level, edges = reading.level, reading.edges
        if level is None:
            self._become("broken", now_s)
            self._closed_s = self._open_s = None
            self._retry_s = now_s + RETRY_S
            return
        if self.state == "broken":  # it can be read again: closed and quiet for a while ends it
            self.state = "pressed"
        if edges or reading.lost:
            self._count(reading, now_s)
        if level:
            self._see_open(reading, now_s)
        else:
            self._see_closed(bool(edges or reading.lost), reading, now_s)

    def _see_open(self, reading: Reading, now_s: float) -> None:
        if self._open_s is None:
            self._open_s = now_s
        self._closed_s = None
        self._pressed = self._pressed or now_s - self._open_s >= PRESS_S
        if self.state != "noisy" or now_s >= self._quiet_s:
            self._become("pressed", now_s, reading.edge_s)

    def _see_closed(self, moved: bool, reading: Reading, now_s: float) -> None:
        self._open_s = None
        if moved or self._closed_s is None:
            self._closed_s = now_s
        if moved and self.state == "released":  # it was open for a moment, or events are missing
            self._become("pressed", now_s, reading.edge_s)
        elif self.state == "noisy" and now_s < self._quiet_s:
            return
        elif self.state != "released" and now_s - self._closed_s >= self._release_s:
            self.state = "released"
            if self._pressed:
                self.proof.seen(now_s)
            self._pressed = False

    def _count(self, reading: Reading, now_s: float) -> None:
        self.edges += reading.edges
        self.lost += reading.lost
        if now_s - self._window_s >= NOISE_S:
            self._window_s, self._in_window = now_s, 0
        self._in_window += reading.edges
        if self.state == "noisy" or self._in_window >= MOST_EDGES:
            self._become("noisy", now_s, reading.edge_s)
            self._quiet_s = now_s + NOISE_S

    def _become(self, state: str, now_s: float, edge_s: float | None = None) -> None:
        if self.state == "released":
            edge_s = now_s if edge_s is None else edge_s
            self.tripped_s = edge_s if now_s - STAMP_S <= edge_s <= now_s else now_s
        self.state = state

    @property
    def stops(self) -> bool:
        """True while the arm must be stopped because of the button."""
        return self.state not in ("none", "released")

    @property
    def why(self) -> str:
        """What to do so that a stop can be cleared."""
        unread = "" if self._line is None else self._line.why
        return {
            "pressed": "The stop button is pressed, or its wire is cut: release it first.",
            "broken": f"The stop button's line cannot be read: {unread}",
            "noisy": "The stop button's line flickers: look for a loose contact or a wire beside "
            "the motor cables, shorten or shield it.",
            "missing": "A stop button is required but no line is named: set [stop.button] board, "
            "or chip and line, or required = false.",
        }.get(self.state, "")

    def details(self) -> dict[str, object]:
        """For status: the line, whether a press was ever seen, and what it came with."""
        return {
            "where": "" if self._line is None else self._line.where,
            "proven_at": self.proof.at,
            "edges": self.edges,
            "lost": self.lost,
        }

    def close(self) -> None:
        """Let go of the line."""
        if self._line is not None:
            self._line.close()


def make_button(line: LineSource | None, told: CoreSettings, disk: Disk, now_s: float) -> Button:
    """The button of one core, with the proof of its line."""
    proof = Proof(told.state_dir, line_name(told.button_chip, told.button_line), disk)
    return Button(line, told.button_required, told.button_release_s, now_s, proof)
