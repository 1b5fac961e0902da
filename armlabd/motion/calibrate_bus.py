"""The servos as calibration needs them: limp, their registers as they are, and a plan of writes.

Everything that will be written is known, checked and kept on disk before the first write; every
write is read back; at the end all registers are read once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from armlabd.arm.calibration import Calibration
from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.arm.sweep import step_between
from armlabd.bus.errors import NoAnswer, NotWritten
from armlabd.bus.master import Master
from armlabd.bus.registers import MODEL_STS3215, REGISTERS, encode_value
from armlabd.clock import Clock

POSITION_ADDRESS = REGISTERS["present_position"].address
TRIES = 5
MULTI_TURN = 0x10  # bit 4 of register 18: positions that leave 0..4095
# A calibration's fields and the registers that hold them: 31, 9 and 11.
FIELDS: Mapping[str, str] = {
    "homing_offset": "homing_offset",
    "range_min": "min_position_limit",
    "range_max": "max_position_limit",
}
READ = (*FIELDS.values(), "phase", "operating_mode")
FACTORY_OFFSETS = (0, 85)  # as made, and as kits arrive
MOVED = 100  # an offset changed by more must show in the position


class CalibrateError(Exception):
    """Calibration cannot go on; `sentence` says why and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Change(NamedTuple):
    """One register to be written."""

    id: int
    register: str
    old: int
    new: int

    def words(self) -> str:
        """As a person reads it."""
        entry = REGISTERS[self.register]
        name = JOINT_NAMES[self.id - 1]
        return f"{name}: {self.register} (register {entry.address}) {self.old} -> {self.new}"


Registers = dict[int, dict[str, int]]


class CalibrationBus:
    """Six limp servos behind one master. Calls may raise PortLost and CalibrateError."""

    def __init__(self, master: Master, clock: Clock) -> None:
        self._master = master
        self.clock = clock

    def check_servos(self) -> None:
        """All six answer and are STS3215. Raises CalibrateError naming who is not."""
        missing, wrong = [], []
        for id, name in zip(SERVO_IDS, JOINT_NAMES, strict=True):
            try:
                model = self._master.read(id, "model_number").value
            except NoAnswer:
                missing.append(f"{id} ({name})")
                continue
            if model != MODEL_STS3215:
                wrong.append(f"servo {id} ({name}) is model {model}")
        if missing:
            raise CalibrateError(
                f"Servo {', '.join(missing)} does not answer. Check the power supply and the cable "
                "at the first missing servo; ids run from 1 at the base to 6 at the gripper."
            )
        if wrong:
            raise CalibrateError(
                f"{'; '.join(wrong)}; calibration knows Feetech STS3215 (777) only."
            )

    def make_limp(self) -> None:
        """Torque off, read back from all six. Raises CalibrateError."""
        for _ in range(TRIES):
            self._master.broadcast_write("torque_enable", 0)
            still = [id for id in SERVO_IDS if self._torque(id) != 0]
            if not still:
                return
        names = ", ".join(JOINT_NAMES[id - 1] for id in still)
        raise CalibrateError(
            f"The torque of {names} cannot be switched off. Cut the servo power, switch it on "
            "again and start anew."
        )

    def _torque(self, id: int) -> int | None:
        try:
            return self._master.read(id, "torque_enable").value
        except NoAnswer:
            return None

    def registers(self) -> Registers:
        """Offset, limits, phase and mode of all six. Raises CalibrateError."""
        try:
            return {
                id: {name: self._master.read(id, name).value for name in READ} for id in SERVO_IDS
            }
        except NoAnswer as error:
            raise CalibrateError(error.sentence) from error

    def positions(self) -> tuple[int, ...] | None:
        """The six positions as the servos read them now; None when not all answered."""
        found = self._master.sync_read(SERVO_IDS, POSITION_ADDRESS, 2)
        if len(found) != len(SERVO_IDS):
            return None
        entry = REGISTERS["present_position"]
        return tuple(found[id]._replace(register=entry).value for id in SERVO_IDS)

    def sure_positions(self) -> tuple[int, ...]:
        """The six positions. Raises CalibrateError when the servos do not all answer."""
        for _ in range(TRIES):
            seen = self.positions()
            if seen is not None:
                return seen
        raise CalibrateError(
            "The servos do not all answer. Check the power supply and the cables between them."
        )

    def write(self, changes: Sequence[Change], done: Callable[[Change], None]) -> None:
        """Write a plan with the torque off, each value read back. Raises CalibrateError.

        A register that holds its new value already is left alone, so that a plan that was
        interrupted can be carried out again.
        """
        self.make_limp()
        before, written = self.sure_positions(), []
        for change in changes:
            try:
                if self._master.write_eeprom(change.id, change.register, change.new):
                    written.append(change)
            except (NoAnswer, NotWritten) as error:
                raise CalibrateError(
                    f"{error.sentence} The arm is half written and will not move: run armlabd "
                    "calibrate again, which finishes it."
                ) from error
            done(change)
        self._verify(changes)
        self._verify_offsets(written, before)

    def _verify(self, changes: Sequence[Change]) -> None:
        """Everything once more from the servos."""
        now = self.registers()
        for change in changes:
            found = now[change.id][change.register]
            if found != change.new:
                raise CalibrateError(
                    f"{JOINT_NAMES[change.id - 1]} holds {found} in {change.register} instead of "
                    f"{change.new}. Run armlabd calibrate again, which finishes it."
                )

    def _verify_offsets(self, written: Sequence[Change], before: Sequence[int]) -> None:
        """An offset that was changed must show in the position."""
        after = self.sure_positions()
        for change in written:
            moved = abs(step_between(before[change.id - 1], after[change.id - 1]))
            wanted = abs(step_between(change.old, change.new))
            if change.register == "homing_offset" and wanted > MOVED and moved < MOVED // 2:
                raise CalibrateError(
                    f"{JOINT_NAMES[change.id - 1]} keeps reading by its old offset. Switch the "
                    "servo power off and on, and run armlabd calibrate again."
                )


def plan_of(now: Registers, calibration: Calibration) -> tuple[Change, ...]:
    """Every register that differs from the calibration, checked whole. Raises CalibrateError.

    Bit 4 of the phase (multi-turn) is cleared and the mode set to position where they are not.
    """
    changes = []
    for name, id in zip(JOINT_NAMES, SERVO_IDS, strict=True):
        joint = calibration.joints[name]
        wanted = {register: getattr(joint, field) for field, register in FIELDS.items()}
        wanted["phase"] = now[id]["phase"] & ~MULTI_TURN
        wanted["operating_mode"] = 0
        changes += [
            Change(id, register, now[id][register], value)
            for register, value in wanted.items()
            if now[id][register] != value
        ]
    check_plan(changes)
    return tuple(changes)


def check_plan(changes: Sequence[Change]) -> None:
    """Every value fits its register, and none is written twice. Raises CalibrateError."""
    for change in changes:
        if change.register not in READ or change.id not in SERVO_IDS or not _fits(change):
            raise CalibrateError(f"{change} cannot be written. Nothing was changed.")
    if len({(change.id, change.register) for change in changes}) != len(changes):
        raise CalibrateError("The plan writes a register twice. Nothing was changed.")


def _fits(change: Change) -> bool:
    """True when the register takes the new value."""
    try:
        encode_value(REGISTERS[change.register], change.new)
    except ValueError:
        return False
    return True


def is_factory(now: Registers) -> bool:
    """True when no servo holds an offset that somebody calibrated."""
    return all(servo["homing_offset"] in FACTORY_OFFSETS for servo in now.values())


def differences(now: Registers, calibration: Calibration) -> list[str]:
    """Registers 31, 9 and 11 that differ, one line each."""
    lines = []
    for name, id in zip(JOINT_NAMES, SERVO_IDS, strict=True):
        for field, register in FIELDS.items():
            servo, file = now[id][register], getattr(calibration.joints[name], field)
            if servo != file:
                address = REGISTERS[register].address
                lines.append(f"{name}: {field} (register {address}): servo {servo}, file {file}")
    return lines


def changes_of(rows: Any) -> tuple[Change, ...]:
    """Changes from a progress file. Raises CalibrateError."""
    try:
        changes = tuple(Change(int(a), str(b), int(c), int(d)) for a, b, c, d in rows)
    except (TypeError, ValueError) as error:
        raise CalibrateError("The list of writes cannot be read.") from error
    check_plan(changes)
    return changes
