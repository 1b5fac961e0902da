"""What the virtual arm hides from the product: joint zeros that are off, and backlash.

Off by default; a setting with a seed, so that a run can be repeated. Errors are between servo and
link: the registers never show them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

JOINTS: Final = 5  # the gripper is not touched
GREATEST_ZERO_DEG: Final = 4.0
BACKLASH_DEG: Final = (0.5, 1.0)


@dataclass(slots=True)
class HiddenErrors:
    """`zero_deg` is added to what the servo shows; `backlash_deg` is the free play of the link."""

    zero_deg: tuple[float, ...] = (0.0,) * JOINTS
    backlash_deg: tuple[float, ...] = (0.0,) * JOINTS
    _links: list[float] | None = None

    @classmethod
    def drawn(cls, seed: int, greatest_deg: float = GREATEST_ZERO_DEG) -> HiddenErrors:
        """Errors of an arm put together by hand: zeros within +-greatest, backlash 0.5 to 1 deg."""
        dice = random.Random(seed)
        zeros = tuple(dice.uniform(-greatest_deg, greatest_deg) for _ in range(JOINTS))
        return cls(zeros, tuple(dice.uniform(*BACKLASH_DEG) for _ in range(JOINTS)))

    def placed(self, links_deg: Sequence[float]) -> None:
        """A hand has put the links there, within their play."""
        self._links = list(links_deg)

    @property
    def any(self) -> bool:
        """True when something is hidden."""
        return any(self.zero_deg) or any(self.backlash_deg)

    def links(self, shown_deg: list[float], gravity: tuple[float, ...]) -> list[float]:
        """Where the links really are; gravity takes up the play, else the last side keeps it."""
        last = self._links
        truth = []
        for joint, shown in enumerate(shown_deg):
            half = self.backlash_deg[joint] / 2
            middle = shown + self.zero_deg[joint]
            if abs(gravity[joint]) > 0.01:
                truth.append(middle + (half if gravity[joint] > 0 else -half))
            else:
                place = middle if last is None else last[joint]
                truth.append(max(middle - half, min(middle + half, place)))
        self._links = truth
        return truth

    def as_dict(self) -> dict[str, Any]:
        """For the control socket's `state`."""
        return {"zero_deg": list(self.zero_deg), "backlash_deg": list(self.backlash_deg)}
