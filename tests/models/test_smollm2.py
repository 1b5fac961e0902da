"""SmolLM2-135M through the worker: it answers, it plans in form, and the mask costs little."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from questions import is_plan, question

from armlabd.inference import memory
from armlabd.inference.backend import Ask
from armlabd.inference.folder import look_at
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.smolvlm import SmolVlm

pytestmark = pytest.mark.real

SENTENCE = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 40}},
    "required": ["answer"],
    "additionalProperties": False,
}
GOALS = [
    f"put the {colour} block {where}"
    for colour in ("red", "blue", "green", "unseen")
    for where in ("in the bin", "on the tray", "beside the red one")
]


@pytest.fixture(params=["fp32", "int8"])
async def model(request: pytest.FixtureRequest, smollm2: Path) -> AsyncIterator[SmolVlm]:
    backend = SmolVlm(WorkerSettings(str(smollm2), "smollm2-135m", variant=request.param))
    await backend.warm()
    yield backend
    await backend.close()


async def test_the_weights_are_read_rightly_it_knows_the_capital_of_france(model: SmolVlm) -> None:
    ask = Ask("You answer briefly.", "What is the capital of France?", SENTENCE)
    assert (await model.answer(ask)).text == '{"answer":"Paris"}'


async def test_every_plan_is_in_form_and_forced_tokens_halve_the_steps(model: SmolVlm) -> None:
    tokens = steps = 0
    for goal in GOALS:
        answer = await model.answer(question(goal))
        assert is_plan(answer.text)
        tokens, steps = tokens + answer.output_tokens, steps + answer.steps
    assert steps * 2 <= tokens


async def test_mask_and_grammar_take_less_than_a_twentieth_of_the_token_time(
    model: SmolVlm,
) -> None:
    mask_s = output_s = 0.0
    for goal in GOALS:
        answer = await model.answer(question(goal))
        mask_s, output_s = mask_s + model.mask_s, output_s + answer.output_s
    assert mask_s < output_s / 20, (mask_s, output_s)


async def test_the_estimate_of_memory_is_no_lower_than_what_it_held(model: SmolVlm) -> None:
    await model.answer(question("put the red block in the bin. " * 40))
    assert model.pid is not None
    held = memory.peak(model.pid)
    assert held is not None
    assert held <= memory.needed(look_at(model.settings), model.settings) <= 2 * held


async def test_no_text_is_counted_lower_than_the_tokenizer_does(model: SmolVlm) -> None:
    for text in ("put the red block in the bin", "räume 12 Klötze auf! 红色方块", "a_b {}[]\n" * 9):
        bare = await model.answer(question("."))
        counted = await model.answer(question("." + text))
        assert counted.prompt_tokens - bare.prompt_tokens <= model.count_tokens(text)
