"""How often: sliding windows on a monotonic clock, and the slowing of wrong keys.

A call is counted when it is let through the window, whatever is decided about it afterwards. A call
that the window itself refuses is not counted, so that the wait it was told is the truth.
Forwarded-for headers are not known here: a door passes the key's name and the socket's peer.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

from armlabd.clock import Clock
from armlabd.config import Config

WINDOW_S = 1.0
MAX_TRACKED = 1024  # keys or addresses remembered; the one unused longest is forgotten first
WRONG_KEYS = 10  # wrong keys in WRONG_WINDOW_S before an address is slowed
WRONG_WINDOW_S = 60.0


class SlidingWindow:
    """At most `limit` events in any `window_s` seconds."""

    def __init__(self, clock: Clock, limit: int, window_s: float = WINDOW_S) -> None:
        self._clock, self._limit, self._window_s = clock, limit, window_s
        self._times: deque[float] = deque(maxlen=limit)

    def wait_s(self) -> float:
        """How long until one more fits; 0.0 = now."""
        if len(self._times) < self._limit:
            return 0.0
        return max(0.0, self._times[0] + self._window_s - self._clock.monotonic())

    def note(self) -> None:
        """Count one event now; the oldest beyond the limit is forgotten."""
        self._times.append(self._clock.monotonic())


class Windows:
    """One sliding window per name, in bounded memory."""

    def __init__(self, make: Callable[[], SlidingWindow], most: int = MAX_TRACKED) -> None:
        self._make, self._most = make, most
        self._windows: OrderedDict[str, SlidingWindow] = OrderedDict()

    def of(self, name: str) -> SlidingWindow:
        """The window of that name, made when it is new."""
        window = self._windows.setdefault(name, self._make())
        self._windows.move_to_end(name)
        while len(self._windows) > self._most:
            self._windows.popitem(last=False)
        return window

    def __len__(self) -> int:
        return len(self._windows)


class RateLimiter:
    """The buckets of every key: calls, reads, goals; and one for all calls to the arm together.

    Each question answers None (go on; it was counted) or the seconds to wait. Stop asks nobody.
    """

    def __init__(
        self, clock: Clock, calls: int = 5, reads: int = 20, goals: int = 2, arm_calls: int = 20
    ) -> None:
        self._calls = Windows(lambda: SlidingWindow(clock, calls))
        self._reads = Windows(lambda: SlidingWindow(clock, reads))
        self._goals = Windows(lambda: SlidingWindow(clock, goals))
        self._arm = SlidingWindow(clock, arm_calls)

    @classmethod
    def of(cls, config: Config, clock: Clock) -> RateLimiter:
        """The limits of the [rate] settings."""
        rate = config.rate
        return cls(
            clock, rate.calls_per_s, rate.reads_per_s, rate.goals_per_s, rate.arm_calls_per_s
        )

    def call(self, key: str) -> float | None:
        """One `POST /call/*` other than stop; also held to the cap over all keys."""
        return _ask(self._calls.of(key), self._arm)

    def read(self, key: str) -> float | None:
        """One GET."""
        return _ask(self._reads.of(key))

    def goal(self, key: str) -> float | None:
        """One request to /goals or /plans/*."""
        return _ask(self._goals.of(key))


class WrongKeys:
    """Slows addresses that guess. A right key is never asked about, so it is never locked out."""

    def __init__(
        self, clock: Clock, limit: int = WRONG_KEYS, window_s: float = WRONG_WINDOW_S
    ) -> None:
        self._windows = Windows(lambda: SlidingWindow(clock, limit, window_s))

    def note(self, address: str) -> float | None:
        """A wrong key came from `address`: None = answer 401, else the seconds to wait (429)."""
        return _ask(self._windows.of(address))


def _ask(*windows: SlidingWindow) -> float | None:
    wait_s = max(window.wait_s() for window in windows)
    if wait_s > 0:
        return wait_s
    for window in windows:
        window.note()
    return None
