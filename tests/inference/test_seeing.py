"""Real backends are shown the table: weights by chance in the worker, an honest Ollama server."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from ollama_stand_in import OllamaStandIn
from sight_stand_in import objects, seen, shown

from armlabd.arm.joints import VIEW
from armlabd.clock import SystemClock
from armlabd.inference.backend import Ask
from armlabd.inference.catalog import read_catalog
from armlabd.inference.ollama import Ollama, OllamaSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.perceive.boxes import FORMATS, NAMES_ONLY
from armlabd.perceive.camera import Frame
from armlabd.perceive.compare import compared
from armlabd.perceive.model_eye import Looker, ModelEye
from armlabd.perceive.scene import SceneSettings
from armlabd.perceive.view import View, view
from armlabd.sim.blocks import default_blocks
from armlabd.sim.picture import render
from armlabd.sim.world import World

TABLE = SceneSettings()


@pytest.fixture(scope="module")
def table() -> View:
    image = render(World(blocks=default_blocks()), VIEW[:5], 30.0, noise_seed=1)
    return view(Frame(image, 0.0, "drawn"), TABLE)


@pytest.mark.real
@pytest.mark.parametrize("box_format", ["unit", NAMES_ONLY])
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


def honest(body: dict[str, Any]) -> str:
    """What a model that counts in thousandths of a padded picture says of the one it was sent."""
    (image,) = body["messages"][-1]["images"]
    ask = Ask("", "", {}, (base64.b64decode(image),))
    height, width = shown(ask).shape[:2]
    items = []
    for item in seen(ask):
        sides = zip(item["box"], (width, height) * 2, strict=True)
        items.append({**item, "box": [round(1000 * v / side) for v, side in sides]})
    return objects(*items)


@pytest.mark.parametrize("wrap", ["", "fence", "prose"])
async def test_an_ollama_model_s_boxes_are_compared_whatever_it_wraps_them_in(
    server: OllamaStandIn, table: View, wrap: str
) -> None:
    server.author = honest
    server.faults.wrap = wrap
    backend = Ollama(OllamaSettings(server.url, "see:2b"))
    eye = ModelEye(lambda: Looker(backend, "thousand-padded"), TABLE, SystemClock(), 30.0)
    opinion = await eye.opinion(table)
    await eye.close()
    await backend.close()
    assert opinion is not None
    assert opinion.note == ""
    assert compared(table.scene, table.scene, opinion) == table.scene
    (body,) = [body for body in server.asked if body["messages"]]
    assert body["format"]["properties"]["objects"]["maxItems"] == 20


async def test_an_ollama_server_that_is_gone_costs_a_note(
    server: OllamaStandIn, table: View
) -> None:
    backend = Ollama(OllamaSettings("http://127.0.0.1:9", "see:2b"))
    eye = ModelEye(lambda: Looker(backend, "thousand-padded"), TABLE, SystemClock(), 30.0)
    opinion = await eye.opinion(table)
    await eye.close()
    await backend.close()
    assert opinion is not None
    assert opinion.note.startswith("see:2b has no part in this look: ")


def test_every_box_format_of_the_catalog_can_be_undone() -> None:
    catalog = read_catalog()
    assert catalog.entries
    assert {entry.box_format for entry in catalog.entries} <= {NAMES_ONLY, *FORMATS}
