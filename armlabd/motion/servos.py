"""The six servos as the core uses them: a thin layer over the bus master, in joint order.

Raw counts stay raw here; degrees come from the calibration, which is somebody else's. Single
attempts (no retry) are for the 10 ms cycle; the patient ones are for bring-up and switching on.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from armlabd.arm.joints import DEGREES_PER_STEP, JOINT_NAMES, SERVO_IDS
from armlabd.bus.counters import Counters
from armlabd.bus.errors import NoAnswer
from armlabd.bus.fixed import FixedRead
from armlabd.bus.frames import HEADER, sync_write
from armlabd.bus.master import Master, torque_off_frame
from armlabd.bus.port import Transport
from armlabd.bus.reading import Reading
from armlabd.bus.registers import (
    BLOCK_ADDRESS,
    BLOCK_BYTES,
    REGISTERS,
    Feedback,
    decode_block,
    error_names,
    signed,
)
from armlabd.bus.wire import Timing
from armlabd.clock import Clock

GRIPPER_ID = SERVO_IDS[5]
TORQUE_ADDRESS = REGISTERS["torque_enable"].address
GOAL_ADDRESS = REGISTERS["goal_position"].address
ARM_IDS = SERVO_IDS[:5]
ALL_OFF = torque_off_frame()
ARM_OFF = sync_write(TORQUE_ADDRESS, dict.fromkeys(ARM_IDS, b"\0"))
CUTTING_BITS = 0x2C  # temperature, current, overload: the servo gives way (register 19)

GENTLE_STEPS_PER_S = 150  # 13 deg/s while torque comes on
FASTEST_STEPS_PER_S = 1024  # 90 deg/s: tracks 60 deg/s, and bounds any jump
GENTLE_ACCELERATION = 20  # 176 deg/s2
# A stop waits for the transaction under way, so none may take long: less patience than the bus has
# by itself. A servo that fell silent is tried every cycle, because it decides about the motion.
TIMING = Timing(patient_slack_s=0.008, drain_s=0.008, probe_s=0.005)
FULL_ACCELERATION = 254  # the program is smooth already


BLOCK = FixedRead(SERVO_IDS, BLOCK_ADDRESS, BLOCK_BYTES)
PLACES = FixedRead(SERVO_IDS, BLOCK_ADDRESS, 2)  # the positions alone: 0.6 instead of 1.5 ms
HELD = FixedRead(SERVO_IDS, TORQUE_ADDRESS, 4)
KEPT_BYTES = BLOCK_ADDRESS - TORQUE_ADDRESS  # what the servos were told, right before the block
WIDE = FixedRead(SERVO_IDS, TORQUE_ADDRESS, KEPT_BYTES + BLOCK_BYTES)
_POSITIONS = struct.Struct("<" + "5xH14x" * len(SERVO_IDS))  # of the whole regular answer
_PLACES = struct.Struct("<" + "5xHx" * len(SERVO_IDS))  # of the positions alone
_ALL = struct.Struct("<" + "5xHHHBBxBBxxHx" * len(SERVO_IDS))  # the same in full
_KEPT = struct.Struct("<BBxxxxHxx5xB")
_VOLTAGE, _TEMPERATURE, _STATUS = 11, 12, 14  # places in a servo's part of the regular answer
_WHOLE_TURN = BLOCK.frame_bytes
_HEAD_BYTES = 5  # header, id, length, error bits
_ERROR = 4  # place of the error bits in the head
_LOAD_SIGN = 0x400
_GOALS = struct.Struct("<" + "BH" * len(SERVO_IDS))
_GOALS_HEAD = sync_write(GOAL_ADDRESS, dict.fromkeys(SERVO_IDS, b"\0\0"))[: -_GOALS.size - 1]
_GOALS_SUM = sum(_GOALS_HEAD[len(HEADER) :])
_HIGHEST = 0x8000  # from here on a position has its sign bit set


class Held(NamedTuple):
    """What one servo holds in registers 40 and 42."""

    torque: bool
    goal: int


class Kept(NamedTuple):
    """What one servo was told and holds: a look at it costs nothing beside the block."""

    torque: bool
    acceleration: int
    goal_velocity: int
    lock: int


class Sight(NamedTuple):
    """A regular answer of all six, asked for at `at_s`: positions now, the rest when wanted.

    Where the positions alone were asked for `data` is empty, and `bits` are the error bits.
    """

    counts: tuple[int, ...]
    at_s: float
    data: bytes
    bits: bytes = b""

    def errors(self) -> bytes:
        """The error bits in the head of each answer, one byte per servo."""
        return self.bits or self.data[_ERROR::_WHOLE_TURN]

    def statuses(self) -> bytes:
        """The error bits of register 65, one byte per servo."""
        return self.data[_STATUS::_WHOLE_TURN]

    def voltages(self) -> bytes:
        """Supply voltages in 0.1 V, one byte per servo."""
        return self.data[_VOLTAGE::_WHOLE_TURN]

    def temperatures(self) -> bytes:
        """Degrees Celsius, one byte per servo."""
        return self.data[_TEMPERATURE::_WHOLE_TURN]

    def feedback(self) -> dict[int, Feedback]:
        """Everything the six have said, by id."""
        found: dict[int, Feedback] = {}
        values = iter(_ALL.unpack(self.data))
        for id, position, velocity, load, voltage, temperature, status, moving, current in zip(
            SERVO_IDS, *[values] * 8, strict=True
        ):
            found[id] = Feedback(
                position if position < _HIGHEST else _HIGHEST - position,
                velocity if velocity < _HIGHEST else _HIGHEST - velocity,
                load if load < _LOAD_SIGN else signed(load, 10),
                voltage,
                temperature,
                moving,
                status,
                current if current < _HIGHEST else _HIGHEST - current,
            )
        return found


Found = Mapping[int, tuple[Feedback | None, float]]  # None: the position alone was asked for


class Servos:
    """All six behind one transport. Every call may raise `PortLost`."""

    def __init__(
        self, transport: Transport, clock: Clock, baud: int, counters: Counters | None = None
    ) -> None:
        self.transport = transport
        self.counters = counters or Counters()
        self.baud = baud
        self.master = Master(
            transport, clock, timing=TIMING._replace(baud=baud), counters=self.counters
        )
        self.kept: dict[int, Kept] = {}  # seen by the last look, if it was a wide one
        self._form = BLOCK  # of the look under way
        self._goals = b""  # wait for the next `begin_look`
        self._ordered = False  # something but goals, since that look was asked for

    def torque_off(self) -> None:
        """The broadcast torque-off, without waiting for anything."""
        self._ordered = True
        self.master.order_now(ALL_OFF)

    def torque_off_arm(self) -> None:
        """Torque off for all but the gripper, without waiting for anything."""
        self._ordered = True
        self.master.order_now(ARM_OFF)

    def torque_off_one(self, id: int) -> bool:
        """Torque off for one servo; True when it acknowledged."""
        self._ordered = True
        try:
            self.master.write(id, "torque_enable", 0, retries=0)
        except NoAnswer:
            return False
        return True

    def held(self, ids: Sequence[int] = SERVO_IDS, *, retries: int = 0) -> dict[int, Held]:
        """Torque and goal of the servos that answer."""
        if retries == 0 and tuple(ids) == SERVO_IDS:
            whole = self.master.fixed_read(HELD)
            if isinstance(whole, tuple):
                return {id: _held(data) for id, data in HELD.params(whole[0]).items()}
            found = whole
        else:
            found = self.master.sync_read(ids, TORQUE_ADDRESS, 4, retries=retries)
        return {id: _held(reading.data) for id, reading in found.items()}

    def feedback(self, *, retries: int = 0) -> dict[int, tuple[Feedback, float]]:
        """Position to current, and when it was asked, of the servos that answer."""
        found = self.master.sync_read(SERVO_IDS, BLOCK_ADDRESS, BLOCK_BYTES, retries=retries)
        return _found(found)

    def begin_look(self, form: FixedRead = BLOCK) -> None:
        """Ask for the next `look`, which then need not wait for the wire; goals go before it.

        BLOCK asks for everything; PLACES for the positions alone; WIDE fills `kept` as well, unless
        something is ordered meanwhile: 1 ms more on the wire.
        """
        self._form, self._ordered = form, False
        goals, self._goals = self._goals, b""
        self.master.begin_fixed(form, goals)

    def look(self) -> Sight | Found:
        """`feedback` of one cycle: a `Sight` when the answer was regular, as nearly always."""
        form, self._form = self._form, BLOCK
        answer = self.master.fixed_read(form)
        if not isinstance(answer, tuple):
            wide = form is WIDE
            self.kept = self._kept({id: seen.data for id, seen in answer.items()}) if wide else {}
            return _found_places(answer) if form is PLACES else _found(answer)
        data, at_s = answer
        if form is WIDE:
            self.kept = self._kept(WIDE.params(data))
            data = _block_of(data)
        elif self.kept:
            self.kept = {}
        counts = (_PLACES if form is PLACES else _POSITIONS).unpack(data)
        if max(counts) >= _HIGHEST:
            counts = tuple(_signed_word(count) for count in counts)
        if form is PLACES:
            return Sight(counts, at_s, b"", PLACES.errors(data))
        return Sight(counts, at_s, data)

    def _kept(self, answers: Mapping[int, bytes]) -> dict[int, Kept]:
        """What the servos hold by a wide look; nothing when it is older than an order."""
        if self._ordered:
            return {}
        found = {id: _KEPT.unpack_from(data) for id, data in answers.items()}
        return {id: Kept(torque != 0, *others) for id, (torque, *others) in found.items()}

    def write_goals(
        self, counts: Sequence[int], ids: Sequence[int] = SERVO_IDS, *, later: bool = False
    ) -> None:
        """Goals in joint order, one frame, nobody answers; `later`: with the next `begin_look`."""
        if ids is SERVO_IDS and len(counts) == len(SERVO_IDS) and _plain(counts):
            frame = _goals_frame(counts)
            if later:
                self._goals = frame
            else:
                self.master.order(frame)
        else:
            self.master.sync_write("goal_position", dict(zip(ids, counts, strict=True)))

    def write_pace(self, steps_per_s: int, acceleration: int) -> None:
        """How fast the servos may follow their goals."""
        self._ordered = True
        self.master.sync_write("acceleration", dict.fromkeys(SERVO_IDS, acceleration))
        self.master.sync_write("goal_velocity", dict.fromkeys(SERVO_IDS, steps_per_s))

    def lock(self) -> None:
        """Settings cannot be changed for good any more; nobody answers."""
        self._ordered = True
        self.master.sync_write("lock", dict.fromkeys(SERVO_IDS, 1))

    def torque_on(self) -> None:
        """Torque on for all six in one frame; whoever calls has pinned the goals."""
        self._ordered = True
        self.master.sync_write("torque_enable", dict.fromkeys(SERVO_IDS, 1))

    def limit_gripper(self, percent: float) -> bool:
        """The gripper's torque cap (register 48); True when it acknowledged."""
        try:
            self.master.write(GRIPPER_ID, "torque_limit", round(percent * 10), retries=0)
        except NoAnswer:
            return False
        return True

    def close(self) -> None:
        """Give the port back."""
        self.transport.close()


def _plain(counts: Sequence[int]) -> bool:
    """True for goals that a word holds without its sign bit."""
    return min(counts) >= 0 and max(counts) < _HIGHEST


def _goals_frame(counts: Sequence[int]) -> bytes:
    """The frame of six goals without a sign: what `sync_write` makes, a hundred times a second."""
    pan, lift, elbow, wrist, roll, grip = counts
    goals = _GOALS.pack(1, pan, 2, lift, 3, elbow, 4, wrist, 5, roll, 6, grip)
    return _GOALS_HEAD + goals + bytes((~(_GOALS_SUM + sum(goals)) & 0xFF,))


def _found(readings: Mapping[int, Reading]) -> dict[int, tuple[Feedback, float]]:
    """Of a wide look the block is the end."""
    return {
        id: (decode_block(seen.data[-BLOCK_BYTES:]), seen.at_s) for id, seen in readings.items()
    }


def _found_places(readings: Mapping[int, Reading]) -> Sight | Found:
    """Positions that came irregularly; all six are as good as a regular answer."""
    if len(readings) < len(SERVO_IDS):
        return {id: (None, seen.at_s) for id, seen in readings.items()}
    found = [readings[id] for id in SERVO_IDS]
    counts = tuple(_signed_word(int.from_bytes(seen.data, "little")) for seen in found)
    bits = bytes(seen.error_bits for seen in found)
    return Sight(counts, min(seen.at_s for seen in found), b"", bits)


def _block_of(data: bytes) -> bytes:
    """The block out of a wide answer, in the places where the answer to a look has it."""
    return b"".join(
        [
            data[k : k + _HEAD_BYTES] + data[k + _HEAD_BYTES + KEPT_BYTES : k + WIDE.frame_bytes]
            for k in range(0, WIDE.size, WIDE.frame_bytes)
        ]
    )


def _held(data: bytes) -> Held:
    return Held(data[0] != 0, _signed_word(data[2] | data[3] << 8))


def _signed_word(raw: int) -> int:
    """Sign and magnitude, as positions and goals have it."""
    return raw if raw < _HIGHEST else _HIGHEST - raw


def servo_facts(feedback: Mapping[int, Feedback]) -> dict[str, dict[str, object]]:
    """What people want to know of each servo, by joint name."""
    return {
        JOINT_NAMES[id - 1]: {
            "temperature_c": servo.temperature,
            "voltage_v": servo.voltage / 10,
            "load_percent": servo.load / 10,
            "velocity_dps": round(servo.velocity * DEGREES_PER_STEP, 1),
            "current_a": round(servo.current * 0.0065, 3),
            "error": list(error_names(servo.status)),
        }
        for id, servo in feedback.items()
    }
