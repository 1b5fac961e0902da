"""The supply voltage over time: the lowest in motion, and what is too low to go on."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor

from armlabd.bus.registers import Feedback
from armlabd.motion.health import Facts, Trouble, supply_range_v, supply_trouble
from armlabd.motion.thresholds import SAG_SHARE

EDGE = 1e-6  # tenths of a volt are not exact


class Supply:
    """`lowest_v` of the last motion, `rest_v` at rest before it; `sag` is the warning, or empty."""

    def __init__(self) -> None:
        self.rest_v: float | None = None
        self.lowest_v: float | None = None
        self.sag = ""
        self._motion: object = None
        self._facts: Mapping[int, Facts] = {}
        self._fits = (256, -1)  # for all servos of `_facts`, in 0.1 V

    def steady(self, volts: bytes, facts: Mapping[int, Facts], motion: object) -> bool:
        """True when `note` and `trouble` are sure to find nothing new in these voltages, 0.1 V."""
        if facts is not self._facts:
            self._facts = facts
            lows, highs = zip(*map(supply_range_v, facts.values()), strict=True)
            self._fits = ceil(max(lows) * 10 - EDGE), floor(min(highs) * 10 + EDGE)
        if motion is not self._motion or self.lowest_v is None:
            return False
        lowest = min(volts)
        low, high = self._fits
        return low <= lowest and max(volts) <= high and lowest / 10 >= self.lowest_v

    def note(self, feedback: Mapping[int, Feedback], motion: object) -> str:
        """Take note of one reading; the sentence when this motion's sag is worth telling, once."""
        volts = min(servo.voltage for servo in feedback.values()) / 10
        if motion is None:
            self.rest_v = volts
            return ""
        if motion is not self._motion:
            self._motion, self.lowest_v, self.sag = motion, volts, ""
        self.lowest_v = volts if self.lowest_v is None else min(self.lowest_v, volts)
        if self.rest_v is None or self.lowest_v >= self.rest_v * (1.0 - SAG_SHARE.value):
            return ""
        told, self.sag = self.sag, self._sentence()
        return "" if told else self.sag

    def _sentence(self) -> str:
        return (
            f"The supply fell from {self.rest_v:.1f} to {self.lowest_v:.1f} V in motion: it is too "
            "weak, or its plug is loose."
        )

    def trouble(
        self, facts: Mapping[int, Facts], feedback: Mapping[int, Feedback]
    ) -> Trouble | None:
        """The first servo whose supply does not fit it now."""
        for id, servo in feedback.items():
            if id in facts and (found := supply_trouble(id, facts[id], servo.voltage)):
                return found
        return None
