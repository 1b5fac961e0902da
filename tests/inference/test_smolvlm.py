"""A model in its worker: asked, shown pictures, cancelled, unloaded."""

from __future__ import annotations

import asyncio

import pytest
from questions import ENDLESS, is_plan, picture, question

from armlabd.inference.backend import Finish, Warmth
from armlabd.inference.smolvlm import SmolVlm

pytestmark = pytest.mark.real


async def test_answers_are_of_the_schema_and_forced_tokens_halve_the_steps(
    smolvlm: SmolVlm,
) -> None:
    for text in ("put the red block in the bin", "look", "räume bitte auf"):
        answer = await smolvlm.answer(question(text))
        assert is_plan(answer.text)
        assert answer.finish is Finish.STOP
        assert answer.output_tokens > 2 * answer.steps
        assert answer.forced_tokens + answer.steps <= answer.output_tokens


async def test_a_picture_takes_its_tokens_and_changes_the_answer(smolvlm: SmolVlm) -> None:
    without = await smolvlm.answer(question())
    with_one = await smolvlm.answer(question(images=(picture(),)))
    assert is_plan(with_one.text)
    assert with_one.prompt_tokens > without.prompt_tokens
    assert with_one.text != without.text


async def test_a_cancelled_question_leaves_the_model_warm(smolvlm: SmolVlm) -> None:
    await smolvlm.warm()
    pid = smolvlm.pid
    task = asyncio.create_task(smolvlm.answer(question(schema=ENDLESS, max_tokens=1700)))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert smolvlm.pid == pid
    assert is_plan((await smolvlm.answer(question())).text)


async def test_unloading_ends_the_worker_and_the_next_question_loads_anew(
    smolvlm: SmolVlm,
) -> None:
    assert (await smolvlm.state()).warmth is Warmth.COLD
    await smolvlm.warm()
    assert (await smolvlm.state()).warmth is Warmth.WARM
    await smolvlm.unload()
    assert smolvlm.pid is None
    assert (await smolvlm.state()).warmth is Warmth.COLD
    assert (await smolvlm.answer(question())).load_s > 0
