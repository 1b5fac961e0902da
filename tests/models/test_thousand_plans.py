"""A thousand plans by a model with weights by chance: every one parses and validates."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_plans import WILD, random_plans
from tiny import build_tiny

pytestmark = pytest.mark.real


@pytest.mark.parametrize(("seed", "temperature", "int8"), [(0, WILD, False), (1, 0.0, True)])
async def test_a_thousand_plans_are_all_in_form(
    seed: int, temperature: float, int8: bool, tmp_path: Path
) -> None:
    build_tiny(tmp_path, seed=seed, int8=int8)
    made = await random_plans(tmp_path, 500, temperature=temperature, int8=int8)
    assert made.count == 500
    assert made.wrong == []
