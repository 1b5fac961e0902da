"""The board: its clock and its disk."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from armlabd.doctor.report import Check, finding, ok
from armlabd.doctor.subject import Subject
from armlabd.record.space import LEAST_MIB, look
from armlabd.record.starts import BROKEN, FILE, read_starts

SYNCED = "systemd/timesync/synchronized"  # timesyncd touches it when it has the time
STA_UNSYNC = 0x40  # of adjtimex: the kernel's clock follows nobody
STRUCT_TIMEX_BYTES = 208
MANY_CUTS = 50
STATUS_AT = 40  # of its int `status`, on 64 bit Linux


def clock_check(subject: Subject) -> Check:
    """Does the clock follow a time server? Only what is shown depends on it."""
    mark = Path(subject.roots.run) / SYNCED
    if mark.exists() or subject.synced():
        return ok("clock", "It is set by a time server.")
    return finding(
        "clock",
        "It is not set by a time server: dates of runs and audit may be wrong. Nothing else "
        "depends on it.",
        "sudo timedatectl set-ntp true",
        "Connect the board to a network once, or give it a clock module with a battery.",
    )


def kernel_synced() -> bool | None:
    """What the kernel says of its clock; None where it cannot be asked."""
    timex = bytearray(STRUCT_TIMEX_BYTES)
    ask = _adjtimex()
    if ask is None or ask(timex) < 0:
        return None
    status = int.from_bytes(timex[STATUS_AT : STATUS_AT + 4], "little")
    return status & STA_UNSYNC == 0


@functools.cache
def _adjtimex() -> Callable[[bytearray], int] | None:
    """The C library's call. Found once: each look for it makes classes, and status asks often."""
    import ctypes

    room = ctypes.c_char * STRUCT_TIMEX_BYTES
    try:
        call = ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
    return lambda timex: int(call(room.from_buffer(timex)))


def disk_check(subject: Subject) -> Check:
    """Room and the right to write where state is kept."""
    folder = subject.state
    there = next(place for place in (folder, *folder.parents) if place.exists())
    space = look(there)
    mib = space.free_mib or 0
    if space.state in ("low", "full"):
        return finding(
            "disk",
            f"Only {mib} MiB are free at {there}; {LEAST_MIB} are wanted. Stops still work; runs "
            "and audit will not be kept.",
            f"Free some: sudo du -xh {there} | sort -h | tail",
            "Fewer run folders: [run] keep in config.toml",
        )
    if space.state == "read_only":
        return finding(
            "disk",
            f"{there} is read-only: nothing moves, and a stop would be forgotten over a power cut.",
            "See why: dmesg | tail",
            f"sudo mount -o remount,rw {there}, or restart the board.",
        )
    if trouble := _write_trouble(there):
        return finding(
            "disk",
            f"{there} cannot be written by this user: {trouble}. A stop would be forgotten over a "
            "power cut.",
            f"sudo chown -R {subject.user.name} {there}",
            "If that is refused, look at: dmesg | tail; then restart the board.",
        )
    return ok("disk", f"{mib} MiB are free at {there}, and it can be written.")


def starts_check(subject: Subject) -> Check:
    """How often the power was cut or the daemon crashed; the last end counts."""
    found = read_starts(subject.state)
    if found is None:
        step = f"Nothing to do: the next start sets {FILE} aside as {BROKEN} and counts anew."
        return finding("starts", f"{FILE} cannot be read: this card may be wearing out.", step)
    cuts, crashes = _times(found.power_cuts), _times(found.crashes)
    told = f"{found.starts} in all; the power was cut {cuts}, the daemon crashed {crashes}."
    if found.power_cuts <= MANY_CUTS:
        return ok("starts", told)
    return finding(
        "starts",
        f"{told} Nothing is lost by it so far, but cards die of power cuts.",
        "Switch the board off with: sudo poweroff, or give it a supply that lasts.",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _write_trouble(folder: Path) -> str:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""
