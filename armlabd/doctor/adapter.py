"""The USB board and everything between it and us: driver, other programs, port, rights."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from armlabd.bus.holder import access, holders
from armlabd.bus.ports import PortProblem, find_port
from armlabd.bus.usb import DRIVERS, Board, board_of, boards, portless, tty_name
from armlabd.doctor.processes import running
from armlabd.doctor.report import Check, finding, ok, skipped
from armlabd.doctor.subject import Subject
from armlabd.motion.adapter import load_seen

MM_TAGS = ("ID_MM_DEVICE_IGNORE", "ID_MM_PORT_IGNORE")
MM_RULE = "/etc/udev/rules.d/61-armlabd-modem.rules"
RELOAD = "sudo udevadm control --reload"
REPLUG = "Unplug the USB board and plug it in again."
SLOW_LATENCY_MS = 1


def chosen_port(subject: Subject) -> str | PortProblem:
    """The port the core would open."""
    wanted = str(subject.state / "bus") if subject.simulated else subject.config.arm.port
    seen = None if subject.simulated else load_seen(str(subject.state))
    return find_port(wanted, subject.roots.dev, subject.roots.sys, seen)


def adapter_checks(subject: Subject) -> tuple[Check, ...]:
    """From the plug to an open port; whoever depends on an earlier finding is skipped."""
    if subject.simulated:
        return (_virtual(subject),)
    port = chosen_port(subject)
    path = port if isinstance(port, str) else None
    board = board_of(path, subject.roots.dev, subject.roots.sys) if path else None
    return (
        _adapter(subject, port, board),
        _brltty(subject),
        _modem_manager(subject, board),
        _driver(subject, path, board),
        *_rights(subject, path),
        _holder(subject, path),
    )


def _virtual(subject: Subject) -> Check:
    port = chosen_port(subject)
    if isinstance(port, str):
        return ok("adapter", f"The virtual arm needs none; its port is {port}.")
    return finding(
        "adapter", "The virtual arm does not run.", "Start it: armlabd run --sim", "Ask again."
    )


def _adapter(subject: Subject, port: str | PortProblem, board: Board | None) -> Check:
    if isinstance(port, PortProblem):
        without = portless(subject.roots.dev, subject.roots.sys)
        if without:
            return _without_port(subject, without[0].driver, port)
        return finding("adapter", port.sentence, *_plug_in(port))
    if board is None:
        return ok("adapter", f"{port} is a serial port, though not of a USB board.")
    found = [b for b in boards(subject.roots.dev, subject.roots.sys) if b.path == board.path]
    words = (found or [board])[0].words
    return ok("adapter", f"{words} is plugged in; its port is {port}.")


def _plug_in(port: PortProblem) -> tuple[str, ...]:
    if port.candidates:
        return ("Write the arm's port into config.toml under [arm] port.",)
    return ("Plug the arm's USB board in, with a cable that carries data.", "Run: lsusb")


def _without_port(subject: Subject, driver: str, port: PortProblem) -> Check:
    """A board that is plugged in and has no port: missing driver, or brltty."""
    steps = [f"sudo modprobe {driver}", REPLUG]
    if running("brltty", subject.roots.proc):
        steps = [*_mask_brltty("85-brltty.rules"), REPLUG, *steps[:1]]
    return finding("adapter", port.sentence, *steps)


# --- programs that take ports


def _mask_brltty(rule: str) -> tuple[str, ...]:
    return (
        "If nobody here needs a braille display: "
        "sudo systemctl mask --now brltty.service brltty-udev.service",
        f"sudo ln -sf /dev/null /etc/udev/rules.d/{rule}",
        RELOAD,
    )


def _brltty(subject: Subject) -> Check:
    """brltty takes boards that its rules name for braille displays."""
    rules = _brltty_rules(subject)
    there = {(b.vendor, b.product) for b in boards(subject.roots.dev, subject.roots.sys)}
    there |= {(b.vendor, b.product) for b in portless(subject.roots.dev, subject.roots.sys)}
    claimed = {kind: rule for rule, kinds in rules.items() for kind in kinds}
    hit = sorted(claimed.keys() & (there or claimed.keys()))
    if not hit:
        runs = " It runs, but names no board of this kind." if claimed or _runs(subject) else ""
        return ok("brltty", f"It does not take the board.{runs}")
    names = " and ".join(":".join(kind) for kind in hit)
    return finding(
        "brltty",
        f"Its rule {claimed[hit[0]]} takes boards {names} for braille displays: the port vanishes "
        "a moment after plugging in.",
        *_mask_brltty(claimed[hit[0]]),
        REPLUG,
    )


def _runs(subject: Subject) -> bool:
    return bool(running("brltty", subject.roots.proc))


def _brltty_rules(subject: Subject) -> dict[str, set[tuple[str, str]]]:
    """Rule files in force, and the servo boards each takes. One in /etc hides its namesake."""
    found: dict[str, Path] = {}
    for folder in (
        Path(subject.roots.lib) / "udev/rules.d",
        Path(subject.roots.etc) / "udev/rules.d",
    ):
        found |= {path.name: path for path in sorted(folder.glob("*brltty*.rules"))}
    taken = {name: _named_boards(path) for name, path in found.items()}
    return {name: kinds for name, kinds in taken.items() if kinds}


def _named_boards(path: Path) -> set[tuple[str, str]]:
    """The servo boards that uncommented lines of a brltty rule file name."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return set()
    lines = [line.lower() for line in text.splitlines() if not line.lstrip().startswith("#")]
    return {
        (vendor, product)
        for vendor, product in DRIVERS
        if any(_names(line, vendor, product) for line in lines)
    }


def _names(line: str, vendor: str, product: str) -> bool:
    """As `PRODUCT=="1a86/7523/*"`, or as two attributes."""
    short = f"{vendor.lstrip('0')}/{product.lstrip('0')}/"
    return short in line or (f'"{vendor}"' in line and f'"{product}"' in line)


def _modem_manager(subject: Subject, board: Board | None) -> Check:
    """ModemManager tries each new port with AT commands unless both tags tell it not to."""
    if not running("ModemManager", subject.roots.proc):
        return ok("ModemManager", "It does not run.")
    if board is None:
        return skipped(
            "ModemManager", "It runs; whether it keeps off is seen once a board is there."
        )
    set_tags = _udev_tags(subject, board)
    missing = [tag for tag in MM_TAGS if tag not in set_tags]
    if not missing:
        return ok("ModemManager", "It runs, and both tags tell it to keep off this board.")
    return finding(
        "ModemManager",
        f"It runs and may talk to the servos as to a modem: {' and '.join(missing)} "
        f"{'is' if len(missing) == 1 else 'are'} not set for this board. Some of its policies obey "
        "only one of the two, so both are needed.",
        f"echo '{_mm_rule(board)}' | sudo tee {MM_RULE}",
        RELOAD,
        REPLUG,
    )


def _mm_rule(board: Board) -> str:
    tags = ", ".join(f'ENV{{{tag}}}="1"' for tag in MM_TAGS)
    ids = f'ATTRS{{idVendor}}=="{board.vendor}", ATTRS{{idProduct}}=="{board.product}"'
    return f'ACTION!="remove", SUBSYSTEMS=="usb", {ids}, {tags}'


def _udev_tags(subject: Subject, board: Board) -> set[str]:
    """The modem tags in udev's data of the port and of the USB device behind it."""
    name = os.path.basename(board.path)
    tty = Path(subject.roots.sys) / "class/tty" / name
    device = Path(subject.roots.sys) / "bus/usb/devices" / board.plug.partition(":")[0]
    found: set[str] = set()
    for folder in (tty, device):
        found |= _data_tags(Path(subject.roots.run) / "udev/data", folder)
    return found


def _data_tags(data: Path, folder: Path) -> set[str]:
    try:
        number = (folder / "dev").read_text().strip()
        lines = (data / f"c{number}").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {tag for tag in MM_TAGS if f"E:{tag}=1" in lines}


# --- driver, rights, holder


def _driver(subject: Subject, path: str | None, board: Board | None) -> Check:
    if path is None:
        return skipped("driver", "There is no port yet.")
    if board is None:
        return ok("driver", "The port needs no USB driver.")
    latency = _latency_ms(subject, board)
    if latency is None or latency <= SLOW_LATENCY_MS:
        return ok("driver", f"The port is driven by {board.driver or 'the kernel'}.")
    name = os.path.basename(board.path)
    rule = 'ACTION=="add", SUBSYSTEM=="usb-serial", DRIVER=="ftdi_sio", ATTR{latency_timer}="1"'
    return finding(
        "driver",
        f"The FTDI driver holds answers back for {latency} ms; the cycle takes 10 ms.",
        f"echo 1 | sudo tee /sys/bus/usb-serial/devices/{name}/latency_timer",
        f"For good: echo '{rule}' | sudo tee /etc/udev/rules.d/62-armlabd-ftdi.rules",
    )


def _latency_ms(subject: Subject, board: Board) -> int | None:
    place = Path(subject.roots.sys) / "class/tty" / os.path.basename(board.path)
    try:
        return int((place / "device/latency_timer").read_text())
    except (OSError, ValueError):
        return None


def _rights(subject: Subject, path: str | None) -> tuple[Check, Check]:
    if path is None:
        return skipped("group", "There is no port yet."), skipped("permissions", "No port yet.")
    user = subject.user
    found = access(path, user.name, user.groups)
    mode = stat.S_IMODE(os.stat(path).st_mode)
    return _group(user.name, user.uid, found.group, found.remedy, path), _mode(path, mode)


def _group(user: str, uid: int, group: str, remedy: tuple[str, ...], path: str) -> Check:
    if uid == 0:
        return ok("group", "root may open every port.")
    if not remedy:
        return ok("group", f"{user} is in the group {group}, which may open {path}.")
    return finding("group", f"{user} may not open {path}: it is for the group {group}.", *remedy)


def _mode(path: str, mode: int) -> Check:
    if mode & 0o006 == 0:
        return ok("permissions", f"{path} has mode {mode:04o}: only its owner and group use it.")
    return finding(
        "permissions",
        f"{path} has mode {mode:04o}: every program on this board may drive the arm.",
        f"sudo chmod 660 {os.path.realpath(path)}",
        "Remove whatever sets it at each plugging in: a udev rule with MODE 0666, or chmod 666 in "
        "a start script.",
    )


def _holder(subject: Subject, path: str | None) -> Check:
    if path is None:
        return skipped("port", "There is no port yet.")
    core = 0 if subject.core is None else int(subject.core.get("pid") or 0)
    others = [one for one in holders(path, subject.roots.proc) if one.pid != core]
    if others:
        names = ", ".join(f"{one.name} (process {one.pid})" for one in others)
        steps = [f"End {one.name}: kill {one.pid}" for one in others]
        return finding("port", f"{path} is open in another program: {names}.", *steps)
    if subject.core is not None:
        return ok("port", f"{path} is open in our motion core (process {core}) and nowhere else.")
    hidden = "" if subject.user.uid == 0 else " Programs of other users are seen with sudo only."
    name = tty_name(path, subject.roots.sys) or os.path.basename(path)
    return ok("port", f"No other program has {name} open.{hidden}")
