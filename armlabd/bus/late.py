"""Which answers could be late ones, so that none is ever taken for the answer to a newer request.

The protocol has no transaction number. It has the length of the answer, which the master chooses.
A missed answer of n bytes may still come, so that servo is not believed at n bytes until it has
answered a later request of another length and some time has passed. A servo that misses again and
again rests, then has to answer a probe. Answers of one servo come in the order of its requests:
what answers a newer request proves that the older ones can no longer come.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_DOUBTS = 8  # misses in a row before a servo rests; bounds how far a read is lengthened
MAX_PROBE_BYTES = 40


class LateAnswers:
    """The lengths at which each servo owes an answer. `late_s`: how late an answer can be."""

    def __init__(self, late_s: float) -> None:
        self._late_s = late_s
        self._owed: dict[int, dict[int, float]] = {}

    def missed(self, id: int, count: int, at_s: float) -> None:
        """An answer of `count` parameters did not come."""
        self._owed.setdefault(id, {})[count] = at_s

    def answered(self, id: int, at_s: float) -> None:
        """A believed answer came: what is owed for longer than `late_s` cannot come any more."""
        if owed := self._owed.get(id):
            kept = {count: since for count, since in owed.items() if at_s - since <= self._late_s}
            self._owed[id] = kept

    def trust(self, id: int) -> None:
        """A probe was answered: forget everything owed."""
        self._owed.pop(id, None)

    def doubtful(self, id: int, count: int) -> bool:
        """True when an answer of `count` parameters could be a late one."""
        return count in self._owed.get(id, ())

    def rests(self, id: int) -> bool:
        """True when the servo has missed so often that it has to answer a probe first."""
        return len(self._owed.get(id, ())) >= MAX_DOUBTS

    def probe_due(self, id: int, at_s: float) -> bool:
        """True when a resting servo's last miss is long enough ago to try again."""
        return self.rests(id) and at_s - max(self._owed[id].values()) > self._late_s

    def probe_bytes(self, id: int) -> int:
        """A length for the probe that is not owed, or else the one owed for longest."""
        owed = self._owed.get(id, {})
        free = (count for count in range(1, MAX_PROBE_BYTES) if count not in owed)
        return next(free, 0) or min(owed, key=lambda count: (count == 0, owed[count]))

    def safe_bytes(self, ids: Iterable[int], count: int) -> int:
        """The smallest length from `count` up at which none of `ids` owes an answer."""
        owed = {length for id in ids for length in self._owed.get(id, ())}
        while count in owed:
            count += 1
        return count
