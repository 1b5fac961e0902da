"""Who has a port open, and what a user lacks to open it: the words behind BUSY and DENIED."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import NamedTuple


class Holder(NamedTuple):
    """A process that has a file open."""

    pid: int
    name: str


def holders(path: str, proc: str = "/proc") -> tuple[Holder, ...]:
    """The other processes that have `path` open. Only root sees those of other users."""
    return having_open(os.path.realpath(path), proc)


def having_open(target: str, proc: str = "/proc") -> tuple[Holder, ...]:
    """The other processes with a descriptor that leads to `target`: a path, or socket:[INODE]."""
    found = []
    for entry in _entries(proc):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        folder = os.path.join(proc, entry)
        if any(_leads_to(os.path.join(folder, "fd", fd), target) for fd in _entries(folder, "fd")):
            found.append(Holder(int(entry), _name(folder)))
    return tuple(sorted(found))


def _entries(*parts: str) -> list[str]:
    try:
        return os.listdir(os.path.join(*parts))
    except OSError:
        return []


def _leads_to(link: str, target: str) -> bool:
    try:
        return os.readlink(link) == target
    except OSError:
        return False


def _name(folder: str) -> str:
    """The command's name as ps shows it."""
    with contextlib.suppress(OSError), open(os.path.join(folder, "comm"), "rb") as file:
        name = file.read(64).decode("utf-8", "replace").strip()
        return "".join(c if c.isprintable() else "?" for c in name)
    return "?"


def busy(path: str, proc: str = "/proc") -> str:
    """The sentence for a port that somebody else has open."""
    found = holders(path, proc)
    if found:
        names = ", ".join(f"{one.name} (process {one.pid})" for one in found)
        return (
            f"The serial port {path} is in use by another program: {names}. "
            f"End that program and try again."
        )
    return (
        f"The serial port {path} is in use by another program. End that program (a second "
        "armlabd, LeRobot, a terminal) and try again. sudo armlabd doctor names it."
    )


def user_name(uid: int) -> str:
    """The user's name, or the number where there is none."""
    import pwd

    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


class Access(NamedTuple):
    """What stands between a user and a port. `remedy` is empty when nothing does."""

    group: str
    member: bool  # in /etc/group, or by the user's first group
    active: bool  # and in this session
    remedy: tuple[str, ...]


def access(path: str, user: str, session: tuple[int, ...]) -> Access:
    """Why `user`, whose session has the groups `session`, may not open `path`, and the remedy."""
    import grp

    found = os.stat(path)
    try:
        entry = grp.getgrgid(found.st_gid)
        group, names = entry.gr_name, entry.gr_mem
    except KeyError:
        group, names = str(found.st_gid), []
    group_may = stat.S_IMODE(found.st_mode) & 0o060 == 0o060
    active = found.st_gid in session
    member = active or user in names
    if not group_may or group == "root":
        return Access(group, member, active, _rule(path, user))
    if active:
        return Access(group, True, True, ())
    again = "Log out and in again (a service: sudo systemctl restart armlabd)."
    if member:
        return Access(group, True, False, (again,))
    return Access(group, False, False, (f"sudo usermod -aG {group} {user}", again))


def _rule(path: str, user: str) -> tuple[str, ...]:
    """The remedy where even the group may not: the port needs a rule of its own."""
    rule = 'SUBSYSTEM=="tty", SUBSYSTEMS=="usb", GROUP="dialout", MODE="0660"'
    return (
        f"echo '{rule}' | sudo tee /etc/udev/rules.d/60-armlabd.rules",
        "sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=tty",
        f"sudo usermod -aG dialout {user}",
        "Log out and in again (a service: sudo systemctl restart armlabd).",
    )


def denied(path: str) -> str:
    """The sentence for a user without the right to open the port, with the exact remedy."""
    user = user_name(os.geteuid())
    try:
        found = access(path, user, (os.getegid(), *os.getgroups()))
    except OSError:
        found = Access("dialout", False, False, (f"sudo usermod -aG dialout {user}",))
    if found.member and not found.active:
        why = f"it is for the group {found.group}; {user} is in it, but not yet in this session"
    else:
        why = f"it is for the group {found.group}"
    steps = " ".join(f"{step.rstrip('.')}." for step in found.remedy)
    return f"User {user} may not open the serial port {path}: {why}. Do this: {steps}".rstrip()
