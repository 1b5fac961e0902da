"""The physics of one geared motor: profile, position loop, load, heat, and falling when limp.

Units: encoder steps (4096 a turn), steps/s, and fractions of the full torque (about 2.9 N m).
The figures are chosen so that what can be measured on an SO-101 comes out: 3400 steps/s without
load, 0.6 degrees of sag in lift and elbow at P 32 (twice that at P 16), a limp arm that reaches
the table within a second, 2.7 A when stalled.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf, sqrt
from typing import Final

FREE_SPEED: Final = 3400.0  # steps/s at full duty
TIME_CONSTANT_S: Final = 0.008
STEPS_AT_FULL: Final = 1700.0  # position error x P that asks for full duty
DAMPING: Final = 0.5 / (32 * FREE_SPEED)  # duty per D and step/s
FRICTION: Final = 0.006  # of full torque; below it a standing motor stays
LIMP_SPEED: Final = 4000.0  # steps/s under full torque when back-driven
LIMP_TIME_S: Final = 0.12
LIMP_FRICTION: Final = 0.008
STALL_CURRENT: Final = 415.0  # units of 6.5 mA
IDLE_CURRENT: Final = 3.0
FASTEST: Final = 50_000.0  # steps/s2, what acceleration 0 means
AMBIENT_C: Final = 27.0
HEATING_C: Final = 60.0  # above ambient at full torque for ever
HEATING_TIME_S: Final = 200.0
ARRIVED: Final = 24.0  # steps of error that still count as arrived


@dataclass(slots=True)
class Drive:
    """What the registers ask of the motor, decoded once per write."""

    torque: bool = False
    mode: int = 0  # 0 position, 1 constant speed, 2 duty, 3 steps
    target: float = 0.0  # encoder steps
    speed: float = inf  # steps/s, limit of the profile, or the signed wish of mode 1
    acceleration: float = FASTEST  # steps/s2
    p_gain: int = 32
    d_gain: int = 32
    limit: float = 1.0  # of full torque
    duty: float = 0.0  # mode 2


@dataclass(slots=True)
class Load:
    """What the world does to the motor in one step."""

    gravity: float = 0.0  # of full torque, positive pushes to larger angles
    lowest: float = -inf  # encoder steps the joint cannot pass
    highest: float = inf
    blocked: bool = False  # the limp arm rests on the table


class Motor:
    """Position, speed, duty, current and temperature, moved on in fixed small steps."""

    def __init__(self, position: float) -> None:
        self.position = position
        self.velocity = 0.0
        self.setpoint = position
        self.setpoint_velocity = 0.0
        self.duty = 0.0
        self.current = 0.0
        self.temperature_c = AMBIENT_C
        self.held_c: float | None = None  # a fault: stays this hot whatever it does
        self.still = False

    def place(self, position: float) -> None:
        """Put the motor somewhere, at rest."""
        self.position = self.setpoint = position
        self.velocity = self.setpoint_velocity = 0.0
        self.still = False

    def step(self, dt_s: float, drive: Drive, load: Load) -> None:
        """Move on by `dt_s` (about 2 ms)."""
        if drive.torque:
            self._driven(dt_s, drive, load)
        else:
            self._limp(dt_s, load)
        self.position += self.velocity * dt_s
        self._ends(load)
        self._electrics(drive)
        self.warm(dt_s)

    def warm(self, dt_s: float) -> None:
        """Heat up or cool down, also while nothing moves."""
        if self.held_c is not None:
            self.temperature_c = self.held_c
            return
        goal = AMBIENT_C + HEATING_C * (self.current / STALL_CURRENT) ** 2
        self.temperature_c += (goal - self.temperature_c) * min(1.0, dt_s / HEATING_TIME_S)

    def arrived(self, drive: Drive) -> bool:
        """True when the goal is reached and the motor stands."""
        return (
            self.setpoint == drive.target
            and abs(self.velocity) < 8
            and abs(self.position - drive.target) <= ARRIVED
        )

    def _limp(self, dt_s: float, load: Load) -> None:
        self.setpoint, self.setpoint_velocity, self.duty = self.position, 0.0, 0.0
        pushed = abs(load.gravity) > LIMP_FRICTION and not load.blocked
        wish = LIMP_SPEED * load.gravity if pushed else 0.0
        self.velocity += (wish - self.velocity) * dt_s / LIMP_TIME_S
        if load.blocked or (not pushed and abs(self.velocity) < 5):
            self.velocity = 0.0
        self.still = self.velocity == 0.0 and not pushed

    def _driven(self, dt_s: float, drive: Drive, load: Load) -> None:
        wish = self._wish(dt_s, drive)
        self.duty = max(-drive.limit, min(drive.limit, wish))
        pull = self.duty + load.gravity
        before = self.position
        rate = dt_s / TIME_CONSTANT_S
        self.velocity = (self.velocity + rate * FREE_SPEED * pull) / (1.0 + rate)
        if self.setpoint_velocity == 0.0 and abs(pull) < FRICTION and abs(self.velocity) < 20:
            self.velocity = 0.0
        at_end = (before <= load.lowest and pull <= 0) or (before >= load.highest and pull >= 0)
        self.still = (self.velocity == 0.0 or at_end) and self._profile_done(drive)

    def _profile_done(self, drive: Drive) -> bool:
        return drive.mode in (0, 3) and self.setpoint == drive.target

    def _wish(self, dt_s: float, drive: Drive) -> float:
        """The duty the control loop asks for, before the torque limit."""
        if drive.mode == 2:
            return drive.duty
        if drive.mode == 1:
            change = drive.speed - self.setpoint_velocity
            most = drive.acceleration * dt_s
            self.setpoint_velocity += max(-most, min(most, change))
            self.setpoint = self.position
            return (
                self.setpoint_velocity / FREE_SPEED
                + (self.setpoint_velocity - self.velocity) * 8 / FREE_SPEED
            )
        self._profile(dt_s, drive)
        return (
            drive.p_gain * (self.setpoint - self.position) / STEPS_AT_FULL
            + drive.d_gain * (self.setpoint_velocity - self.velocity) * DAMPING
        )

    def _profile(self, dt_s: float, drive: Drive) -> None:
        """A trapezoid of the speed and acceleration asked for, towards the target."""
        distance = drive.target - self.setpoint
        if distance == 0.0 and self.setpoint_velocity == 0.0:
            return
        most = drive.acceleration * dt_s
        # speed from which the rest of the way is just enough to stop
        stoppable = sqrt(2.0 * drive.acceleration * abs(distance))
        wish = copysign(min(drive.speed, stoppable, abs(distance) / dt_s), distance)
        change = wish - self.setpoint_velocity
        self.setpoint_velocity += max(-most, min(most, change))
        self.setpoint += self.setpoint_velocity * dt_s
        left = drive.target - self.setpoint
        if abs(self.setpoint_velocity) <= 2 * most and left * distance <= 1e-6 * abs(distance):
            self.setpoint, self.setpoint_velocity = drive.target, 0.0

    def _ends(self, load: Load) -> None:
        if self.position < load.lowest:
            self.position = load.lowest
            self.velocity = max(0.0, self.velocity)
        elif self.position > load.highest:
            self.position = load.highest
            self.velocity = min(0.0, self.velocity)

    def _electrics(self, drive: Drive) -> None:
        if not drive.torque:
            self.current = 0.0
            return
        effort = abs(self.duty - self.velocity / FREE_SPEED)
        self.current = IDLE_CURRENT + STALL_CURRENT * min(1.0, effort)
