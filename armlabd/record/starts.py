"""How the starts before this one ended: by a power cut, by a crash, or in order. Counted for ever.

`starts.json` is written at a start and at its orderly end. A file that cannot be read is set aside
and counting begins anew. No clock is asked: what tells a power cut from a crash is the boot's name.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from armlabd.durable import move, write_atomic

FILE = "starts.json"
BROKEN = "starts.broken"


@dataclass(frozen=True, slots=True)
class Starts:
    """Counts over the life of a state folder. `running`: begun, not ended; `ran_s`: time in all."""

    starts: int = 0
    power_cuts: int = 0
    crashes: int = 0
    running: bool = False
    boot_id: str = ""
    ran_s: int = 0


def read_starts(folder: Path) -> Starts | None:
    """The record; all zero when there is none, None when it cannot be understood."""
    try:
        raw = json.loads((folder / FILE).read_bytes())
    except FileNotFoundError:
        return Starts()
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    found: dict[str, Any] = {name: raw.get(name) for name in asdict(Starts())}
    good = all(type(found[name]) is type(value) for name, value in asdict(Starts()).items())
    counts = [value for value in found.values() if type(value) is int]
    return Starts(**found) if good and min(counts) >= 0 else None


class StartCounter:
    """The counter of one daemon. What cannot be written is kept in memory and said."""

    def __init__(self, folder: Path, boot: str) -> None:
        self._folder, self._boot = folder, boot
        self.trouble = ""
        before = read_starts(folder)
        if before is None:
            self._set_aside()
            before = Starts()
        self.cut = before.running and before.boot_id != boot
        self.crashed = before.running and not self.cut
        self.now = replace(
            before,
            starts=before.starts + 1,
            power_cuts=before.power_cuts + self.cut,
            crashes=before.crashes + self.crashed,
            running=True,
            boot_id=boot,
        )
        self.before_s = before.ran_s
        self._write()

    def ran(self, since_start_s: float) -> None:
        """Add the time that this start has run; called now and then."""
        self.now = replace(self.now, ran_s=self.before_s + int(since_start_s))
        self._write()

    def ended(self) -> None:
        """An end in order."""
        self.now = replace(self.now, running=False)
        self._write()

    def as_dict(self) -> dict[str, object]:
        """For GET /status."""
        now = self.now
        last = "power cut" if self.cut else "crash" if self.crashed else "in order"
        counts = {"starts": now.starts, "power_cuts": now.power_cuts, "crashes": now.crashes}
        return {**counts, "last_end": last, "ran_s": now.ran_s, "note": self.trouble}

    def _write(self) -> None:
        try:
            write_atomic(self._folder / FILE, json.dumps(asdict(self.now)).encode())
        except OSError as error:
            self.trouble = f"The counter cannot be written: {error.strerror or error}."

    def _set_aside(self) -> None:
        self.trouble = f"{FILE} could not be read; it was set aside as {BROKEN}, and counts from 0."
        with contextlib.suppress(OSError):
            move(self._folder / FILE, self._folder / BROKEN)
