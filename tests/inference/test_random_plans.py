"""A model with weights by chance writes nothing but plans in form; a thousand of them in
tests/models."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_plans import random_plans

pytestmark = pytest.mark.real


async def test_plans_by_chance_are_all_in_form(tiny_folder: Path) -> None:
    made = await random_plans(tiny_folder, 30)
    assert made.wrong == []
    assert made.count == 30
    assert made.whole >= 27
    assert len(made.kinds) > 1
    assert made.steps * 2 <= made.tokens
