"""What the virtual servos' EEPROM holds, kept between two runs of the same state folder."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Final

from armlabd.durable import write_atomic
from armlabd.sim import memory as at
from armlabd.sim.arm import VirtualArm

FILE: Final = "eeprom.json"


def images(arm: VirtualArm) -> dict[str, str]:
    """The six EEPROMs by id, as hexadecimal text."""
    return {str(servo.id): bytes(servo.eeprom).hex() for servo in arm.servos}


def save(arm: VirtualArm, folder: Path, before: dict[str, str] | None = None) -> None:
    """Keep the EEPROMs unless they are as `before`; a folder that is gone or full keeps nothing."""
    now = images(arm)
    if now != before:
        with contextlib.suppress(OSError):
            write_atomic(folder / FILE, json.dumps(now).encode())


def load(arm: VirtualArm, folder: Path) -> None:
    """Power the servos up with what was kept; nothing for a file that is missing or torn."""
    try:
        images = json.loads((folder / FILE).read_text(encoding="utf-8"))
        kept = [bytes.fromhex(images[str(servo.id)]) for servo in arm.servos]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if any(len(image) != at.EEPROM_END for image in kept):
        return
    for servo, image in zip(arm.servos, kept, strict=True):
        servo.eeprom[:] = image
        servo.power_up()
