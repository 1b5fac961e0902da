"""A model in its worker: asked, shown pictures, cancelled, unloaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from questions import ENDLESS, is_plan, picture, question

from armlabd.inference.backend import Finish, ModelError, Warmth
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.verdict import Code

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def warm(tiny_folder: Path) -> AsyncIterator[SmolVlm]:
    """One worker for the tests that leave it as they found it."""
    backend = SmolVlm(WorkerSettings(str(tiny_folder), "tiny"))
    await backend.warm()
    yield backend
    await backend.close()


async def test_answers_are_of_the_schema_and_forced_tokens_halve_the_steps(
    warm: SmolVlm,
) -> None:
    for text in ("put the red block in the bin", "look", "räume bitte auf"):
        answer = await warm.answer(question(text))
        assert is_plan(answer.text)
        assert answer.finish is Finish.STOP
        assert answer.output_tokens > 2 * answer.steps
        assert answer.forced_tokens + answer.steps <= answer.output_tokens


async def test_a_picture_takes_its_tokens_and_changes_the_answer(warm: SmolVlm) -> None:
    without = await warm.answer(question())
    with_one = await warm.answer(question(images=(picture(),)))
    assert is_plan(with_one.text)
    assert with_one.prompt_tokens > without.prompt_tokens
    assert with_one.text != without.text


async def test_a_cancelled_question_leaves_the_model_warm(warm: SmolVlm) -> None:
    pid = warm.pid
    task = asyncio.create_task(warm.answer(question(schema=ENDLESS, max_tokens=1700)))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert warm.pid == pid
    assert is_plan((await warm.answer(question())).text)


async def test_the_same_question_has_the_same_answer(warm: SmolVlm) -> None:
    first, _, third = [await warm.answer(question(text)) for text in ("a", "b", "a")]
    assert first.text == third.text


async def test_what_was_asked_before_changes_no_answer(warm: SmolVlm) -> None:
    long = "The same beginning of a long question. " * 12
    fresh = [(await warm.answer(question(long + end))).text for end in "abc"]
    mixed = {}
    for end, images in (("b", ()), ("a", (picture(),)), ("c", ()), ("a", ()), ("b", ())):
        answer = await warm.answer(question(long + end, images=images))
        if not images:
            mixed[end] = answer.text
    assert [mixed[end] for end in "abc"] == fresh


async def test_an_answer_that_is_cut_says_so(warm: SmolVlm) -> None:
    answer = await warm.answer(question(schema=ENDLESS, max_tokens=20))
    assert answer.finish is Finish.LENGTH
    assert answer.output_tokens == 20


async def test_what_does_not_fit_the_window_is_refused_never_cut(warm: SmolVlm) -> None:
    with pytest.raises(ModelError, match="the window of tiny is 2048") as caught:
        await warm.answer(question("block " * 2000))
    assert caught.value.code is Code.OUT_OF_RANGE


async def test_a_limit_of_time_is_kept_by_the_worker(warm: SmolVlm) -> None:
    pid = warm.pid
    with pytest.raises(ModelError, match=r"within 0\.01 s") as caught:
        await warm.answer(question(schema=ENDLESS, max_tokens=1700, answer_s=0.01))
    assert caught.value.code is Code.MODEL_TIMEOUT
    assert warm.pid == pid


@pytest.mark.parametrize(
    "data",
    [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", picture()[:200]],
    ids=["no", "gif", "head", "cut"],
)
async def test_what_is_no_picture_is_refused(data: bytes, warm: SmolVlm) -> None:
    with pytest.raises(ModelError, match="no whole PNG or JPEG") as caught:
        await warm.answer(question(images=(data,)))
    assert caught.value.code is Code.OUT_OF_RANGE


async def test_pictures_of_any_side_are_taken(warm: SmolVlm) -> None:
    tiles = picture(1, 1), picture(9, 500, "JPEG"), picture(2000, 30)
    whole = await warm.answer(question(images=tiles))
    assert is_plan(whole.text)
    one = await warm.answer(question(images=tiles[:1]))
    assert whole.prompt_tokens > one.prompt_tokens


async def test_a_schema_that_cannot_be_a_mask_is_refused(warm: SmolVlm) -> None:
    with pytest.raises(ModelError, match="cannot be made a mask") as caught:
        await warm.answer(question(schema={"type": "object", "not": {"type": "string"}}))
    assert caught.value.code is Code.OUT_OF_RANGE


async def test_special_tokens_in_a_goal_are_plain_text(warm: SmolVlm) -> None:
    plain = await warm.answer(question("pick x"))
    for token in ("<image>", "<end_of_utterance>", "<|im_start|>", "<<image>image>"):
        told = await warm.answer(question(f"pick {token}"))
        # a special token would have been one, and a picture's would not have met its picture
        assert told.prompt_tokens > plain.prompt_tokens + 3


@pytest.mark.parametrize("text", ["", "\ud800 half a letter", "\x00\x1b[2J", "🧱" * 50])
async def test_any_text_is_a_question(text: str, warm: SmolVlm) -> None:
    assert is_plan((await warm.answer(question(text))).text)


async def test_more_tiles_take_more_tokens(tiny_folder: Path) -> None:
    backend = SmolVlm(WorkerSettings(str(tiny_folder), "tiny", variant="int8", tiles=5))
    try:
        answer = await backend.answer(question(images=(picture(),)))
        assert is_plan(answer.text)
        # four tiles and the whole, each 4 tokens and its two or three marks
        assert answer.prompt_tokens > 5 * 4 + 5 * 2
        facts = (await backend.state()).facts
        assert facts["sees"] is True
    finally:
        await backend.close()


async def test_unloading_ends_the_worker(warm: SmolVlm) -> None:
    await warm.warm()
    assert (await warm.state()).warmth is Warmth.WARM
    pid = warm.pid
    await warm.unload()
    assert warm.pid is None
    assert not Path(f"/proc/{pid}").exists()
    state = await warm.state()
    assert (state.warmth, state.memory_bytes) == (Warmth.COLD, None)
