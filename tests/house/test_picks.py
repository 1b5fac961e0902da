"""Picks on an arm that hides joint zeros and play: with alignment they hit, without they do not.

`scripts/test --picks` runs 50 of them on each of three arms, which takes some minutes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from picks import picks

MANY = os.environ.get("ARMLABD_PICKS") == "1"
FEW = 4
UNALIGNED_SEEDS = (2, 4)


async def test_with_alignment_random_picks_end_in_the_bin(tmp_path: Path) -> None:
    picked = await picks(tmp_path, 2, 12)
    assert picked.ends["in the bin"] >= 11, picked
    assert picked.ends["in the bin"] + picked.ends["asked"] == 12, picked
    assert picked.faults == []


@pytest.mark.parametrize("seed", UNALIGNED_SEEDS)
async def test_without_alignment_the_same_arm_misses(tmp_path: Path, seed: int) -> None:
    picked = await picks(tmp_path, seed, FEW, align=False)
    assert picked.ends["in the bin"] <= 1, picked


@pytest.mark.skipif(not MANY, reason="some minutes long: scripts/test --picks")
@pytest.mark.parametrize("seed", [0, 1, 2])
async def test_fifty_picks_at_any_yaw(tmp_path: Path, seed: int) -> None:
    picked = await picks(tmp_path, seed, 50)
    assert picked.ends["in the bin"] >= 48, picked
    assert picked.ends["in the bin"] + picked.ends["asked"] == 50, picked
    assert picked.faults == []
