from __future__ import annotations

from pathlib import Path

import pytest

from armlabd.sim.arm import VirtualArm
from armlabd.sim.keepsake import FILE, images, load, save
from armlabd.sim.world import World


def arm() -> VirtualArm:
    return VirtualArm(World(blocks=()))


def offset(given: VirtualArm) -> int:
    return given.servos[2].homing_offset


def test_what_was_written_with_the_lock_open_is_there_at_the_next_start(tmp_path: Path) -> None:
    one = arm()
    one.servos[2].write(55, b"\x00")
    one.servos[2].write(31, (1234).to_bytes(2, "little"))
    one.servos[2].write(55, b"\x01")
    one.servos[2].write(31, (99).to_bytes(2, "little"))  # locked: lost with the power
    save(one, tmp_path)
    two = arm()
    load(two, tmp_path)
    assert offset(two) == 1234
    assert not any(servo.torque_on for servo in two.servos)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"1": "00"}'])
def test_a_file_that_cannot_be_used_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    fresh = arm()
    load(fresh, tmp_path)
    load(fresh, tmp_path / "nowhere")
    save(fresh, tmp_path / "nowhere")
    assert offset(fresh) == offset(arm())


def test_servos_that_nobody_set_leave_no_file(tmp_path: Path) -> None:
    save(arm(), tmp_path, images(arm()))
    assert list(tmp_path.iterdir()) == []
