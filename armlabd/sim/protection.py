"""What makes a servo raise error bits and give way: overload, over-current, heat, voltage.

The rules are the STS3215's: an effort above a limit for a time latches, the torque falls to the
protective torque, and the bit stays in every answer until torque 0 is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

VOLTAGE_BIT: Final = 0x01
TEMPERATURE_BIT: Final = 0x04
CURRENT_BIT: Final = 0x08
OVERLOAD_BIT: Final = 0x20


@dataclass(slots=True)
class ProtectionLimits:
    """Decoded registers 13 to 15, 19, 28 and 34 to 38."""

    max_temperature_c: int = 70
    max_voltage: float = 14.0
    min_voltage: float = 4.0
    unloading: int = 44  # which bits cut the torque
    current: float = 500.0  # units of 6.5 mA
    current_time_s: float = 2.0
    protective_torque: float = 0.2  # of full
    overload_time_s: float = 2.0
    overload_torque: float = 0.8  # of full


class Protection:
    """The timers and latches of one servo."""

    def __init__(self) -> None:
        self.latched = 0
        self.live = 0
        self._overload_s = 0.0
        self._current_s = 0.0

    @property
    def bits(self) -> int:
        """Error bits as an answer carries them."""
        return self.latched | self.live

    @property
    def counting(self) -> bool:
        """True while a timer runs, so that the servo must not be taken for resting."""
        return self._overload_s > 0.0 or self._current_s > 0.0

    def release(self) -> None:
        """Torque 0 was written: the latches open."""
        self.latched = 0
        self._overload_s = self._current_s = 0.0

    def trip(self, bit: int) -> None:
        """Latch a bit at once (a fault from the control socket)."""
        self.latched |= bit

    def cuts(self, limits: ProtectionLimits) -> bool:
        """True when a raised bit takes the torque down."""
        return bool(self.bits & limits.unloading)

    def step(self, dt_s: float, effort: float, current: float, limits: ProtectionLimits) -> None:
        """Run the timers: `effort` in fractions of full torque, `current` in 6.5 mA."""
        self._overload_s = self._overload_s + dt_s if effort > limits.overload_torque else 0.0
        self._current_s = self._current_s + dt_s if current > limits.current else 0.0
        if self._overload_s > 0.0 and self._overload_s >= limits.overload_time_s:
            self.latched |= OVERLOAD_BIT
        if self._current_s > 0.0 and self._current_s >= limits.current_time_s:
            self.latched |= CURRENT_BIT

    def watch(self, voltage: float, temperature_c: float, limits: ProtectionLimits) -> None:
        """Set the bits that follow a measurement."""
        self.live &= ~(VOLTAGE_BIT | TEMPERATURE_BIT)
        if not limits.min_voltage <= voltage <= limits.max_voltage:
            self.live |= VOLTAGE_BIT
        if temperature_c > limits.max_temperature_c:
            self.live |= TEMPERATURE_BIT
