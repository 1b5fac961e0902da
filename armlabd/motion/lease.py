"""The daemon's permission to move: renewed every 0.1 s, never assumed."""

from __future__ import annotations


class Lease:
    """Held by one owner (a connection) at a time; it lapses `lease_s` after the last renewal."""

    def __init__(self, lease_s: float, orphan_s: float, now_s: float) -> None:
        self.lease_s = lease_s
        self.orphan_s = orphan_s
        self.owner: object | None = None
        self._renewed_s = now_s
        self._ever = False

    def renew(self, owner: object, now_s: float) -> bool:
        """Renew, or take over what has lapsed; False while somebody else holds it."""
        if self.owner is not owner and self.alive(now_s):
            return False
        self.owner, self._renewed_s, self._ever = owner, now_s, True
        return True

    def alive(self, now_s: float) -> bool:
        """True while motion is permitted; the end of the time is inside."""
        return self.owner is not None and now_s - self._renewed_s <= self.lease_s

    def gone(self, owner: object) -> None:
        """The owner's connection has closed: the lease ends at once."""
        if self.owner is owner:
            self.owner = None

    def orphaned(self, now_s: float) -> bool:
        """True when no daemon has renewed for `orphan_s`."""
        return now_s - self._renewed_s >= self.orphan_s
