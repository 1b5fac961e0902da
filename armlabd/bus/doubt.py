"""Servos whose answers come damaged so often that one clean answer proves nothing.

Two servos with one id talk at once; one time in 256 the checksum of the mixture fits by chance.
Whoever came damaged several times without a clean answer in between is believed again only after
as many clean answers in a row as bring the doubt down.
"""

from __future__ import annotations

FROM = 4  # damaged answers, less the clean ones, from which a single clean one is not believed
MOST = 5


class Doubt:
    """One small count per servo, up for a damaged answer, down for a clean one."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def damaged(self, id: int) -> None:
        """An answer of this servo came damaged, or twice."""
        self._counts[id] = min(MOST, self._counts.get(id, 0) + 1)

    def believes(self, id: int) -> bool:
        """Take note of a clean answer; False while it may be a mixture that fits by chance."""
        count = self._counts.get(id)
        if count is None:
            return True
        if count <= 1:
            del self._counts[id]
        else:
            self._counts[id] = count - 1
        return count < FROM

    @property
    def none(self) -> bool:
        """True when nobody is doubted."""
        return not self._counts
