"""One virtual STS3215: its registers, what it answers, and the motor behind them.

The servo knows no clock and no bus: it is given instructions and steps. Positions in registers are
steps of 4096 a turn after the homing offset; the motor works in encoder steps before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from armlabd.bus.frames import Instruction, encode
from armlabd.sim import memory as at
from armlabd.sim.illness import Illness
from armlabd.sim.motor import FASTEST, FREE_SPEED, Drive, Load, Motor
from armlabd.sim.protection import Protection, ProtectionLimits

TURN: Final = 4096
NOMINAL_VOLTAGE: Final = 12.0


class VirtualServo:
    """Registers and physics of one servo; starts as after power-up, limp.

    `encoder` is the shaft's place in steps before the homing offset. `image` is the EEPROM, the
    factory's by default.
    """

    def __init__(self, id: int, encoder: float = 2048.0, image: bytearray | None = None) -> None:
        self.eeprom = at.factory_image() if image is None else bytearray(image)
        self.eeprom[at.ID] = id
        self.motor = Motor(encoder)
        self.protection = Protection()
        self.limits = ProtectionLimits()
        self.drive = Drive()
        self.voltage = NOMINAL_VOLTAGE
        self.memory = bytearray(at.SIZE)
        self.illness = Illness()
        self._waiting: tuple[int, bytes] | None = None
        self.power_up()

    @property
    def id(self) -> int:
        """The id it answers to now."""
        return self.memory[at.ID]

    @property
    def error_bits(self) -> int:
        """The fifth byte of its answers."""
        return self.protection.bits | self.illness.bits

    @property
    def torque_on(self) -> bool:
        """True while register 40 is 1."""
        return self.memory[at.TORQUE_ENABLE] == 1

    @property
    def resting(self) -> bool:
        """True when nothing will change until somebody writes to it."""
        return self.motor.still and not self.protection.counting

    @property
    def return_delay_s(self) -> float:
        """Register 7 in seconds."""
        return self.memory[at.RETURN_DELAY] * 2e-6

    # --- power

    def power_up(self) -> None:
        """Power off and on: EEPROM and factory values come back, torque is off, latches open.

        The goal is the present position, as the firmware leaves it; it ages from then on.
        """
        self.memory = bytearray(at.SIZE)
        self.memory[: at.EEPROM_END] = self.eeprom
        for address, (size, value) in at.FIXED_VALUES.items():
            at.put(self.memory, address, size, value)
        self.memory[at.TORQUE_LIMIT : at.TORQUE_LIMIT + 2] = self.eeprom[16:18]
        self.memory[at.LOCK] = 1
        self._waiting = None
        self.protection = Protection()
        self.motor.place(self.motor.position)
        at.put(self.memory, at.GOAL_POSITION, 2, at.unsigned(self.present_position(), 15))
        self._decode()

    # --- the wire

    def handle(self, instruction: int, params: bytes) -> bytes | None:
        """Carry out one instruction; the whole status frame, or None where it says nothing.

        Whether a broadcast is answered is the bus's business.
        """
        if instruction == Instruction.PING:
            return self.answer()
        if instruction == Instruction.READ:
            return self._answer_read(params)
        if instruction == Instruction.WRITE and params:
            return self._acknowledge(lambda: self.write(params[0], params[1:]))
        if instruction == Instruction.REG_WRITE and params:
            return self._acknowledge(lambda: self._keep(params))
        if instruction == Instruction.ACTION:
            return self._acknowledge(self._act)
        return None

    def answer(self, data: bytes = b"") -> bytes:
        """A status frame with `data` and the error bits of now."""
        return encode(self.id, self.error_bits, data)

    def read(self, address: int, count: int) -> bytes:
        """Bytes of the table with the measurements of now."""
        self._measure()
        if address <= at.POSITION < address + count:
            self.illness.show(self.memory)
        return bytes(self.memory[address : address + count])

    def write(self, address: int, data: bytes) -> None:
        """Take bytes into the table; read-only addresses keep what they hold."""
        old_torque = self.memory[at.TORQUE_ENABLE]
        for place, byte in enumerate(data, address):
            if place >= at.SIZE or not at.WRITABLE[place]:
                continue
            self.memory[place] = byte
            if place < at.EEPROM_END and self.memory[at.LOCK] == 0:
                self.eeprom[place] = byte
        if address <= at.TORQUE_ENABLE < address + len(data):
            self._torque_written(old_torque)
        self._decode()
        self.motor.still = False

    def _answer_read(self, params: bytes) -> bytes | None:
        if len(params) != 2 or params[0] + params[1] > at.SIZE:
            return None
        return self.answer(self.read(params[0], params[1]))

    def _acknowledge(self, work: Callable[[], None]) -> bytes | None:
        """Do `work`; the answer carries id and error bits from before it."""
        frame = self.answer() if self.memory[at.STATUS_LEVEL] else None
        work()
        return frame

    def _keep(self, params: bytes) -> None:
        self._waiting = (params[0], params[1:])
        self.memory[at.ASYNC_FLAG] = 1

    def _act(self) -> None:
        if self._waiting is not None:
            self.write(*self._waiting)
        self._waiting = None
        self.memory[at.ASYNC_FLAG] = 0

    def _torque_written(self, old: int) -> None:
        value = self.memory[at.TORQUE_ENABLE]
        if value == at.CALIBRATE_MIDDLE:
            self._calibrate_middle()
            self.memory[at.TORQUE_ENABLE] = old
        elif value == 0:
            self.protection.release()
        if not old and self.memory[at.TORQUE_ENABLE]:
            self.motor.setpoint = self.motor.position
            self.motor.setpoint_velocity = 0.0

    def _calibrate_middle(self) -> None:
        """Store the offset with which the present place reads 2048."""
        offset = (round(self.motor.position) - 2048 + TURN // 2) % TURN - TURN // 2
        raw = at.unsigned(offset, 11)
        at.put(self.memory, at.HOMING_OFFSET, 2, raw)
        at.put(self.eeprom, at.HOMING_OFFSET, 2, raw)

    # --- from registers to the motor

    @property
    def homing_offset(self) -> int:
        """Register 31, steps."""
        return at.signed(at.word(self.memory, at.HOMING_OFFSET), 11)

    @property
    def _multi_turn(self) -> bool:
        return bool(self.memory[at.PHASE] & 0x10)

    def present_position(self) -> int:
        """Register 56 as a signed number."""
        place = round(self.motor.position - self.homing_offset)
        return place if self._multi_turn else place % TURN

    def _target(self) -> float:
        """Where the goal register sends the motor, in encoder steps, inside the limits."""
        m = self.memory
        goal = at.signed(at.word(m, at.GOAL_POSITION), 15)
        low, high = at.word(m, at.MIN_LIMIT), at.word(m, at.MAX_LIMIT)
        if low or high:
            goal = max(low, min(high, goal))
        offset = self.homing_offset
        if self._multi_turn:
            return float(goal + offset)
        turns = (round(self.motor.position) - offset) // TURN
        return float(goal + offset + turns * TURN)

    def _speed(self, raw: int) -> float:
        unit = 1 if self.memory[at.PHASE] & 0x04 else 50
        return float(raw * unit)

    def _decode(self) -> None:
        """Take over the registers; done once per write, not per step."""
        m = self.memory
        limits = self.limits
        limits.max_temperature_c = m[at.MAX_TEMPERATURE]
        limits.max_voltage, limits.min_voltage = m[at.MAX_VOLTAGE] / 10, m[at.MIN_VOLTAGE] / 10
        limits.unloading = m[at.UNLOADING]
        limits.current = float(at.word(m, at.PROTECTION_CURRENT))
        limits.current_time_s = m[at.OVER_CURRENT_TIME] / 100
        limits.protective_torque = m[at.PROTECTIVE_TORQUE] / 100
        limits.overload_time_s = m[at.PROTECTION_TIME] / 100
        limits.overload_torque = m[at.OVERLOAD_TORQUE] / 100
        drive = self.drive
        drive.torque = self.torque_on
        drive.mode = m[at.MODE] & 3
        drive.p_gain, drive.d_gain = m[at.P_GAIN], m[at.D_GAIN]
        drive.acceleration = m[at.ACCELERATION] * 100.0 or FASTEST
        drive.duty = at.signed(at.word(m, at.GOAL_PWM), 10) / 1000
        wish = self._speed(at.signed(at.word(m, at.GOAL_VELOCITY), 15))
        drive.speed = wish if drive.mode == 1 else self._profile_speed(abs(wish))
        if not self.protection.latched and not self.illness.stuck:
            drive.target = self._target()
        self._decode_torque()

    def _profile_speed(self, wish: float) -> float:
        fastest = FREE_SPEED * self.voltage / NOMINAL_VOLTAGE
        if wish == 0.0:
            return fastest if self.memory[at.PHASE] & 0x08 else 0.0
        return min(wish, fastest)

    def _decode_torque(self) -> None:
        limit = min(1000, at.word(self.memory, at.TORQUE_LIMIT)) / 1000
        if self.protection.cuts(self.limits):
            limit = min(limit, self.limits.protective_torque)
        self.drive.limit = limit

    # --- illness

    def cure(self) -> None:
        """End what was made to go wrong; registers that were changed go back to the EEPROM's."""
        self.illness = Illness()
        self.motor.held_c = None
        self.eeprom[at.PHASE] &= ~0x10
        self.memory[at.PHASE] &= ~0x10
        self.memory[at.LOCK] = 1
        self._decode()
        self.motor.still = False

    # --- time

    def trip(self, bit: int) -> None:
        """Raise a latched error as if its timer had run out."""
        self.protection.trip(bit)
        self._gave_way()

    def step(self, dt_s: float, load: Load) -> None:
        """Move on by one small step of time under what the world does."""
        self.motor.step(dt_s, self.drive, load)
        before = self.protection.bits
        self._protect(dt_s)
        if self.protection.bits != before:
            self._gave_way()

    def idle(self, dt_s: float) -> None:
        """Let time pass while nothing moves: heat and measured limits only."""
        self.motor.warm(dt_s)
        before = self.protection.bits
        self.protection.watch(self.voltage, self.motor.temperature_c, self.limits)
        if self.protection.bits != before:
            self._gave_way()

    def _protect(self, dt_s: float) -> None:
        effort = abs(self.motor.duty) if self.drive.torque else 0.0
        self.protection.step(dt_s, effort, self.motor.current, self.limits)
        self.protection.watch(self.voltage, self.motor.temperature_c, self.limits)

    def _gave_way(self) -> None:
        """An error bit came or went: hold where it is, with the torque that is left."""
        self._decode_torque()
        if self.protection.latched:
            self.drive.target = self.motor.setpoint = self.motor.position
            self.motor.setpoint_velocity = 0.0
        self.motor.still = False

    def _measure(self) -> None:
        """Bring the present registers up to date."""
        m, motor = self.memory, self.motor
        at.put(m, at.POSITION, 2, at.unsigned(self.present_position(), 15))
        at.put(m, at.VELOCITY, 2, at.unsigned(round(motor.velocity), 15))
        at.put(m, at.LOAD, 2, at.unsigned(round(motor.duty * 1000), 10))
        m[at.VOLTAGE] = max(0, min(255, round(self.voltage * 10)))
        m[at.TEMPERATURE] = max(0, min(255, round(motor.temperature_c)))
        m[at.STATUS] = self.error_bits
        m[at.MOVING] = int(self.drive.torque and not motor.arrived(self.drive))
        at.put(m, at.GOAL_ECHO, 2, at.word(m, at.GOAL_POSITION))
        at.put(m, at.CURRENT, 2, round(motor.current))
