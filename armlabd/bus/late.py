"""Which answers could be late ones, so that none is ever taken for the answer to a newer request.

The protocol has no transaction number. It has the length of the answer, which the master chooses.
A missed answer of n bytes may still come, so that servo is not believed at n bytes until it has
answered a later request of another length and some time has passed. A servo that misses again and
again rests, and is asked only by probes, whose data nobody uses, until it answers one.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_STREAK = 8  # misses in a row before a servo rests
MANY = 25  # lengths owed: with one more every `late_s` / 5 they stay below 75, and a table has 87
ROUNDING_S = 1e-6  # of clocks: who has slept for `rest_s` has slept enough
FORGET = 10  # a silent servo's debts are forgotten after this many times `late_s`


class LateAnswers:
    """`owed`: the lengths at which a servo owes an answer, and since when, for each that does.

    `late_s`: how late an answer can be. `probe_s`: how often a resting servo is tried.
    """

    def __init__(self, late_s: float, probe_s: float) -> None:
        self._late_s = late_s
        self._probe_s = probe_s
        self.owed: dict[int, dict[int, float]] = {}
        self._streak: dict[int, int] = {}
        self._missed_at: dict[int, float] = {}

    def missed(self, id: int, count: int, at_s: float) -> None:
        """An answer of `count` parameters did not come."""
        self._forget(id, at_s - FORGET * self._late_s)
        self.owed.setdefault(id, {})[count] = at_s
        self._streak[id] = self._streak.get(id, 0) + 1
        self._missed_at[id] = at_s

    def answered(self, id: int, at_s: float) -> None:
        """A believed answer came: what is owed for longer than `late_s` cannot come any more."""
        if id not in self.owed:
            return
        self._streak[id] = 0
        self._forget(id, at_s - self._late_s)
        if not self.owed[id]:
            for known in (self.owed, self._streak, self._missed_at):
                known.pop(id)

    def _forget(self, id: int, before_s: float) -> None:
        """Strike out what was missed before `before_s`."""
        if owed := self.owed.get(id):
            self.owed[id] = {count: since for count, since in owed.items() if since >= before_s}

    def owes(self, ids: Iterable[int]) -> bool:
        """True when any of `ids` owes an answer of any length."""
        return bool(self.owed) and any(id in self.owed for id in ids)

    def doubtful(self, id: int, count: int) -> bool:
        """True when an answer of `count` parameters could be a late one."""
        return count in self.owed.get(id, ())

    def rests(self, id: int) -> bool:
        """True when the servo has missed so often that it has to answer a probe first."""
        return self._streak.get(id, 0) >= MAX_STREAK

    def probe_due(self, id: int, at_s: float) -> bool:
        """True when a resting servo's last miss is long enough ago to try again.

        Each try uses up a length until it is forgotten: who stays silent is tried less often.
        """
        return self.rests(id) and self.rest_s(id, at_s) < ROUNDING_S

    def rest_s(self, id: int, at_s: float) -> float:
        """How long a servo still rests before it is tried, seconds; 0 or less: no longer."""
        if not self.rests(id):
            return 0.0
        self._forget(id, at_s - FORGET * self._late_s)
        many = len(self.owed[id]) > MANY
        pause_s = max(self._probe_s, self._late_s / 5) if many else self._probe_s
        return pause_s - (at_s - self._missed_at[id])

    def safe_bytes(self, ids: Iterable[int], count: int) -> int:
        """The smallest length from `count` up at which none of `ids` owes an answer."""
        owed = {length for id in ids for length in self.owed.get(id, ())}
        while count in owed:
            count += 1
        return count
