"""`armlabd calibration show|import`: look at a calibration, or take LeRobot's."""

from __future__ import annotations

import argparse

from armlabd.arm.calibration import Calibration, CalibrationError, parse
from armlabd.arm.joints import ARM_JOINTS, JOINT_NAMES
from armlabd.cli.arm_port import Arm, opened, settings_of
from armlabd.cli.calibrate import guarded
from armlabd.cli.exits import OK, REFUSED
from armlabd.cli.keyboard import Keyboard
from armlabd.cli.lerobot_files import find
from armlabd.cli.show import complain, say
from armlabd.daemon.settings import calibration_text, file_text
from armlabd.motion.calibrate import carry_out
from armlabd.motion.calibrate_bus import CalibrateError, differences, plan_of
from armlabd.motion.calibrate_import import check_same_arm, from_servos
from armlabd.motion.calibrate_progress import Progress, Writing

WRITE, KEEP, TAKE = "--write-to-servos", "--keep-servos", "--take-from-servos"


@guarded
def calibration(options: argparse.Namespace) -> int:
    """armlabd calibration show|import."""
    return _import(options) if options.what == "import" else _show(options)


def _show(options: argparse.Namespace) -> int:
    config, state = settings_of(options)
    path = state / "calibration.json"
    text = file_text(path) if options.sim else calibration_text(config, state)
    if text is None:
        complain(f"There is no calibration in {path}. Run armlabd calibrate, or import one.")
        return REFUSED
    found = parse(text)
    for line in lines_of(found):
        say(line)
    if not options.servos:
        return OK
    with opened(options) as arm:
        return OK if _compare(arm, found) else REFUSED


def lines_of(found: Calibration) -> list[str]:
    """A calibration as a person reads it."""
    travel = found.travel_deg()
    lines = [f"{'joint':<14} {'offset':>6} {'from':>5} {'to':>5}   travel"]
    for name in JOINT_NAMES:
        joint = found.joints[name]
        how = "0 to 100 %"
        if name in travel:
            how = f"{travel[name][0]:+.1f} to {travel[name][1]:+.1f} deg"
        row = f"{joint.homing_offset:>6} {joint.range_min:>5} {joint.range_max:>5}"
        lines.append(f"{name:<14} {row}   {how}")
    aligned = found.alignment
    if aligned is None:
        return [*lines, "not aligned: armlabd calibrate --align"]
    pairs = zip(ARM_JOINTS, aligned.zero_deg, strict=True)
    zeros = ", ".join(f"{name} {zero:+.2f}" for name, zero in pairs)
    base = aligned.base
    return [
        *lines,
        f"aligned on {aligned.date}, {aligned.residual_mm:.1f} mm at the worst touch",
        f"zeros: {zeros} deg",
        f"base: x {base.x:+.4f}, y {base.y:+.4f}, z {base.z:+.4f} m, yaw {base.yaw_deg:+.2f} deg",
    ]


def _compare(arm: Arm, found: Calibration) -> bool:
    """Tell register by register what differs; True when nothing does."""
    arm.bus.check_servos()
    lines = differences(arm.bus.registers(), found)
    for line in lines:
        say(line, "yellow")
    if not lines:
        say("The six servos hold exactly this calibration.")
    return not lines


def _import(options: argparse.Namespace) -> int:
    """Read the file, compare it with the servos, and do what the flag says."""
    path = find(options.file)
    try:
        file = parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CalibrateError(f"{path} cannot be read: {error}.") from error
    except CalibrationError as error:
        raise CalibrateError(f"{path} cannot be used: {error.sentence}") from error
    say(f"read: {path}")
    with opened(options) as arm:
        same = _compare(arm, file)
        return _chosen(arm, file, same, options)


def _chosen(arm: Arm, file: Calibration, same: bool, options: argparse.Namespace) -> int:
    progress, now = Progress(arm.state), arm.bus.registers()
    if options.choice == KEEP:
        say("Nothing was changed.")
        return OK
    if options.choice == TAKE:
        progress.keep(from_servos(now, file))
        say(f"What the servos hold is now this arm's calibration: {progress.calibration_path}.")
        return OK
    if not options.same_arm:
        check_same_arm(now, file)
    if same:
        progress.keep(file)
        say(f"Imported: {progress.calibration_path}.")
        return OK
    if options.choice == WRITE:
        carry_out(arm.bus, Keyboard(), progress, Writing(plan_of(now, file), file))
        return OK
    complain(
        f"The servos hold something else, and nobody but you can choose: {WRITE} makes them hold "
        f"the file, {TAKE} keeps what they hold, {KEEP} changes nothing."
    )
    return REFUSED
