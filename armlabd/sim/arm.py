"""The virtual arm: six servos, the world around them, and the time in which both move.

Physics runs in steps of 2 ms up to the time it is asked for; while nothing moves it costs nothing.
Angles are joint degrees (URDF zero); the jaw is -10 deg shut and 100 deg wide open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from armlabd.sim import calibration as cal
from armlabd.sim import memory as at
from armlabd.sim.bus import VirtualBus
from armlabd.sim.faults import BusFaults
from armlabd.sim.geometry import Vec
from armlabd.sim.hand import PersonsHand
from armlabd.sim.hidden import HiddenErrors
from armlabd.sim.motor import Load
from armlabd.sim.servo import VirtualServo

DT_S: Final = 0.002
ENDSTOP_DEG: Final = 2.0  # how far the mechanics go beyond the calibrated range
JAW_STOP_DEG: Final = 0.1
SUPPLY_DECIVOLTS: Final = 120
SAG_SPEED: Final = 100.0  # steps/s of the fastest joint at which the whole sag shows
CABLE_OHM: Final = 0.08
LINGER_S: Final = 0.5  # a block let go falls after the arm has come to rest
CURRENT_A: Final = 0.0065  # ampere per unit of register 69
START_DEG: Final = (0.0, -90.0, 86.0, 66.0, 0.0)  # folded, about where it sags to
START_JAW_PERCENT: Final = 10.0

JointDegrees = tuple[float, float, float, float, float]
SixFlags = tuple[bool, bool, bool, bool, bool, bool]


class Forces(Protocol):
    """What the world answers; `world.WorldForces`."""

    @property
    def grip_block_deg(self) -> float | None:
        """The jaw cannot close below this angle."""

    @property
    def gravity(self) -> tuple[float, ...]:
        """Per joint, fraction of full torque; positive pushes the angle up."""

    @property
    def blocked(self) -> bool:
        """The limp arm lies on the table."""


class WorldLike(Protocol):
    """What the arm needs of `world.World`."""

    def step(
        self,
        dt_s: float,
        q_deg: JointDegrees,
        jaw_deg: float,
        jaw_closing: bool,
        torque_on: SixFlags,
    ) -> Forces:
        """Move blocks, and say what the world does to the arm."""

    def state(self) -> dict[str, Any]:
        """Blocks, bin and what is in it."""


class NoForces(NamedTuple):
    """A world without weight and table."""

    grip_block_deg: float | None = None
    gravity: tuple[float, ...] = (0.0,) * 5
    blocked: bool = False


class EmptyWorld:
    """A stand-in for tests of servos and bus."""

    def step(
        self,
        dt_s: float,
        q_deg: JointDegrees,
        jaw_deg: float,
        jaw_closing: bool,
        torque_on: SixFlags,
    ) -> Forces:
        """Nothing pulls, nothing blocks."""
        return NoForces()

    def state(self) -> dict[str, Any]:
        """No blocks and no bin."""
        return {"blocks": [], "in_bin": []}


class VirtualArm:
    """Servos and world in one time. `now_s` is where physics stands."""

    def __init__(
        self,
        world: WorldLike,
        *,
        now_s: float = 0.0,
        faults: BusFaults | None = None,
        hidden: HiddenErrors | None = None,
        sag: bool = True,
        start_deg: JointDegrees = START_DEG,
        start_percent: float = START_JAW_PERCENT,
    ) -> None:
        self.world = world
        self.now_s = now_s
        self.sag = sag
        self.hidden = hidden if hidden is not None else HiddenErrors()
        self.supply_decivolts = SUPPLY_DECIVOLTS
        self.sag_decivolts = 0  # a fault: what a weak supply loses while the arm moves
        start = (*start_deg, cal.jaw_degrees(start_percent))
        self.servos = tuple(_servo(joint, angle) for joint, angle in enumerate(start))
        self.bus = VirtualBus(self.servos, faults=faults, before=self.advance)
        self._ends = tuple(_ends(joint) for joint in range(len(self.servos)))
        self._loads = tuple(Load() for _ in self.servos)
        self.jammed: dict[int, float] = {}  # joint 0..5 -> encoder place it is stuck at
        self._in_hand: dict[int, float] = {}  # limp joints that a person holds, and where
        self._person = PersonsHand(self.hidden)
        self._gravity: tuple[float, ...] = (0.0,) * 5
        self._awake_s = LINGER_S  # how long the world is still looked at
        self._set_voltage()

    # --- angles

    def shown_deg(self) -> list[float]:
        """Joint angles as the encoders have them, jaw last."""
        return [
            cal.degrees_from_encoder(joint, servo.motor.position)
            for joint, servo in enumerate(self.servos)
        ]

    def true_deg(self) -> tuple[JointDegrees, float]:
        """Where the links really are: five joints, and the jaw."""
        shown = self.shown_deg()
        joints = shown[:5]
        if self.hidden.any:
            joints = self.hidden.links(joints, self._gravity)
        return (joints[0], joints[1], joints[2], joints[3], joints[4]), shown[5]

    # --- time

    @property
    def resting(self) -> bool:
        """True when nothing changes until somebody writes or the world is touched."""
        return self._awake_s <= 0.0 and all(servo.resting for servo in self.servos)

    def disturb(self) -> None:
        """The world was touched: look at it again."""
        self._awake_s = LINGER_S

    def advance(self, now_s: float) -> None:
        """Move everything on to `now_s`; an earlier time changes nothing."""
        while self.now_s + DT_S <= now_s:
            if self.resting:
                self._idle(now_s - self.now_s)
                if self.resting:
                    self.now_s = now_s
                    return
            self._step()
            self.now_s += DT_S

    def _idle(self, dt_s: float) -> None:
        for servo in self.servos:
            servo.idle(dt_s)

    def _step(self) -> None:
        joints, jaw = self.true_deg()
        gripper = self.servos[cal.GRIPPER].motor
        closing = gripper.duty < 0 or gripper.velocity < 0
        one, two, three, four, five, six = (servo.drive.torque for servo in self.servos)
        torque = (one, two, three, four, five, six)
        forces = self.world.step(DT_S, joints, jaw, closing, torque)
        self._gravity = tuple(forces.gravity)
        self._take(forces, torque)
        for servo, load in zip(self.servos, self._loads, strict=True):
            servo.step(DT_S, load)
        still = all(servo.resting for servo in self.servos)
        self._awake_s = self._awake_s - DT_S if still else LINGER_S
        self._set_voltage()

    def _take(self, forces: Forces, torque: Sequence[bool]) -> None:
        """Turn the world's answer into what each motor feels."""
        for joint, load in enumerate(self._loads):
            load.lowest, load.highest = self._ends[joint]
            if joint < cal.GRIPPER:
                felt = self.sag or not torque[joint]
                load.gravity = self._gravity[joint] if felt else 0.0
                load.blocked = forces.blocked
        if forces.grip_block_deg is not None:
            wall = cal.encoder_from_degrees(cal.GRIPPER, forces.grip_block_deg)
            jaw = self._loads[cal.GRIPPER]
            # the jaw never jumps open because a block was found a hair too late
            jaw.lowest = max(jaw.lowest, min(wall, self.servos[cal.GRIPPER].motor.position))
        for joint, place in self._in_hand.items():
            if not torque[joint]:
                self._loads[joint].lowest = self._loads[joint].highest = place
        for joint, place in self.jammed.items():
            self._loads[joint].lowest = self._loads[joint].highest = place

    def _set_voltage(self) -> None:
        current_a = sum(servo.motor.current for servo in self.servos) * CURRENT_A
        volts = self.supply_decivolts / 10 - current_a * CABLE_OHM
        if self.sag_decivolts:
            fastest = max(abs(s.motor.velocity) for s in self.servos)
            volts -= self.sag_decivolts / 10 * min(1.0, fastest / SAG_SPEED)
        for servo in self.servos:
            servo.voltage = volts

    # --- what a hand or a plug does to it

    def set_supply(self, decivolts: int) -> None:
        """Change the supply voltage (0.1 V)."""
        self.supply_decivolts = decivolts
        self._set_voltage()
        self._idle(0.0)
        self.disturb()

    def jam(self, servo_id: int, on: bool = True) -> None:
        """Block a joint where it is, as an obstacle would, or set it free. Raises KeyError."""
        joint = {servo.id: place for place, servo in enumerate(self.servos)}[servo_id]
        if on:
            self.jammed[joint] = self.servos[joint].motor.position
        else:
            self.jammed.pop(joint, None)
        self.servos[joint].motor.still = False
        self.disturb()

    def brown_out(self, servo_ids: Sequence[int]) -> None:
        """The supply of some servos breaks down for a moment: they start anew, limp."""
        for servo in self.servos:
            if servo.id in servo_ids:
                servo.power_up()
        self._set_voltage()
        self.disturb()

    def break_chain(self, after_id: int | None) -> None:
        """Pull the cable behind a servo, or plug it in again (None): what is behind has no power.

        The chain runs in the order of the servos, from the base.
        """
        ids = [servo.id for servo in self.servos]
        was = set(self.bus.faults.cut)
        now = set() if after_id is None else set(ids[ids.index(after_id) + 1 :])
        self.bus.faults.cut = now
        self.brown_out(tuple(was ^ now))

    def mend(self) -> None:
        """End every fault; what a servo has latched or forgotten stays so until it is told."""
        self.break_chain(None)
        self.bus.faults.clear()
        self.bus.chatter.clear()
        self.jammed.clear()
        self.sag_decivolts = 0
        for servo in self.servos:
            servo.cure()
        self.set_supply(SUPPLY_DECIVOLTS)

    def power_cycle(self) -> None:
        """Take the power away and give it back: all limp, EEPROM as it was saved."""
        self.bus.silence()
        for servo in self.servos:
            servo.power_up()
        self._set_voltage()
        self.disturb()

    def put(
        self,
        joints_deg: Sequence[float],
        gripper_percent: float | None = None,
        *,
        held: bool = False,
    ) -> None:
        """Put the arm, limp, in a pose, as a hand would; `held`: the hand stays until `let_go`.

        Angles are what the servos show. A joint that is switched on is no longer held.
        """
        angles = list(joints_deg)
        if gripper_percent is not None:
            angles.append(cal.jaw_degrees(gripper_percent))
        self.let_go()
        for joint, angle in enumerate(angles):
            servo = self.servos[joint]
            servo.write(at.TORQUE_ENABLE, b"\x00")
            lowest, highest = self._ends[joint]
            place = min(max(cal.encoder_from_degrees(joint, angle), lowest), highest)
            servo.motor.place(place)
            if held:
                self._in_hand[joint] = place
        self.disturb()

    def touch(self, point: Vec, slope: str = "steep", roll_deg: float = 0.0) -> None:
        """Put the true tip of the fixed jaw on a point (m), jaws shut, and hold it there.

        Raises OutOfReach.
        """
        posture = self._person.on(point, slope, roll_deg)
        self.put(posture.shown, 0.0, held=True)
        self.hidden.placed(posture.true)

    def let_go(self) -> None:
        """The hand leaves: the limp arm sinks."""
        self._in_hand.clear()
        self.disturb()

    def state(self) -> dict[str, Any]:
        """Everything there is to know, for the control socket."""
        joints, jaw = self.true_deg()
        return {
            "time_s": self.now_s,
            "joints_deg": list(joints),
            "shown_deg": self.shown_deg()[:5],
            "gripper_percent": cal.jaw_percent(jaw),
            "jaw_deg": jaw,
            "torque": [servo.torque_on for servo in self.servos],
            "goals": [
                at.signed(at.word(servo.memory, at.GOAL_POSITION), 15) for servo in self.servos
            ],
            "error_bits": [servo.error_bits for servo in self.servos],
            "temperature_c": [round(servo.motor.temperature_c, 1) for servo in self.servos],
            "supply_decivolts": self.supply_decivolts,
            "resting": self.resting,
            "collisions": self.bus.collisions,
            "bad_frames": self.bus.bad_frames,
            "hidden": self.hidden.as_dict(),
            **self.world.state(),
        }


def _servo(joint: int, angle_deg: float) -> VirtualServo:
    """A servo of this arm, with its calibration in its EEPROM."""
    spec = cal.SPECS[joint]
    image = at.factory_image()
    at.put(image, at.HOMING_OFFSET, 2, at.unsigned(spec.homing_offset, 11))
    at.put(image, at.MIN_LIMIT, 2, spec.range_min)
    at.put(image, at.MAX_LIMIT, 2, spec.range_max)
    return VirtualServo(spec.id, cal.encoder_from_degrees(joint, angle_deg), image)


def _ends(joint: int) -> tuple[float, float]:
    """The mechanical ends of a joint in encoder steps, a little beyond its calibrated range."""
    spec = cal.SPECS[joint]
    beyond = (JAW_STOP_DEG if joint == cal.GRIPPER else ENDSTOP_DEG) * cal.STEPS_PER_DEG
    return (
        spec.range_min + spec.homing_offset - beyond,
        spec.range_max + spec.homing_offset + beyond,
    )
