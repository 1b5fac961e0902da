"""Servos whose answers come damaged so often that one clean answer proves nothing.

Two servos with one id talk at once; one time in 256 the checksum of the mixture fits by chance.
Whoever came damaged several times without a clean answer in between is believed again only after
as many clean answers in a row as bring the doubt down.
"""

from __future__ import annotations

FROM = 4  # damaged answers, less the clean ones, from which a single clean one is not believed
MOST = 5


class Doubt:
    """`counts`: a small one per doubted servo, up for a damaged answer, down for a clean one."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def damaged(self, id: int) -> None:
        """An answer of this servo came damaged, or twice."""
        self.counts[id] = min(MOST, self.counts.get(id, 0) + 1)

    def believes(self, id: int) -> bool:
        """Take note of a clean answer; False while it may be a mixture that fits by chance."""
        count = self.counts.get(id)
        if count is None:
            return True
        if count <= 1:
            del self.counts[id]
        else:
            self.counts[id] = count - 1
        return count < FROM
