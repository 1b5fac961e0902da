"""An arm that hides joint zeros and play, once aligned, stands at the height it was told."""

from __future__ import annotations

from pathlib import Path

import pytest
from picks import hiding_arena

from armlabd.arm.kinematics import forward, inverse
from armlabd.motion import settle
from armlabd.sim.geometry import arm_points

PLACES = [(x, y, z) for x in (0.15, 0.20, 0.25) for y in (-0.10, 0.10) for z in (0.02, 0.04)]


def off_mm(folder: Path, seed: int) -> list[float]:
    """How much higher than told the true tool stands at rest, place by place."""
    arena, calibration, _ = hiding_arena(folder, seed, align=True)
    off = []
    for place in PLACES:
        point = calibration.placement.to_base(*place)
        pose = inverse(*point, grip_percent=50.0, limits=arena.core.link.limits)
        assert arena.go(pose)["code"] == "ok"
        arena.run(0.2)
        joints, jaw = arena.arm.true_deg()
        told = calibration.placement.to_table(forward(pose).tool)
        off.append((arm_points(joints, jaw).tool[2] - told[2]) * 1e3)
    return off


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_aligned_arm_that_hides_errors_is_less_than_1_mm_off(tmp_path: Path, seed: int) -> None:
    off = off_mm(tmp_path, seed)
    assert max(map(abs, off)) < 1.0, off


def test_without_the_trim_it_stands_4_mm_low(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "MOST_TRIMS", 0)
    off = off_mm(tmp_path, 0)
    assert -5.0 < min(off) < -3.0, off
