"""A model with random weights is shown the table: what it says is of the form, and only claims."""

from __future__ import annotations

import pytest

from armlabd.arm.joints import VIEW
from armlabd.clock import SystemClock
from armlabd.inference.smolvlm import SmolVlm
from armlabd.perceive.boxes import NAMES_ONLY
from armlabd.perceive.camera import Frame
from armlabd.perceive.compare import compared
from armlabd.perceive.model_eye import Looker, ModelEye
from armlabd.perceive.scene import SceneSettings
from armlabd.perceive.view import View, view
from armlabd.sim.blocks import default_blocks
from armlabd.sim.picture import render
from armlabd.sim.world import World

pytestmark = pytest.mark.real
TABLE = SceneSettings()


@pytest.fixture(scope="module")
def table() -> View:
    image = render(World(blocks=default_blocks()), VIEW[:5], 30.0, noise_seed=1)
    return view(Frame(image, 0.0, "drawn"), TABLE)


@pytest.mark.parametrize("box_format", ["unit", "thousand-padded", NAMES_ONLY])
async def test_every_question_has_a_schema_that_the_mask_understands(
    smolvlm: SmolVlm, table: View, box_format: str
) -> None:
    eye = ModelEye(lambda: Looker(smolvlm, box_format), TABLE, SystemClock(), patience_s=120.0)
    opinion = await eye.opinion(table)
    assert opinion is not None
    assert opinion.note == ""
    assert opinion.told["output_tokens"] > 0
    scene = compared(table.scene, table.scene, opinion)
    assert scene.objects == table.scene.objects
    await eye.close()
