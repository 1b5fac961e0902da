"""The graphs by themselves: cache, chunks, forced tokens, the mask, a halt. No worker."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from questions import ENDLESS, PLAN, is_plan
from tiny import build_tiny

from armlabd.bench.shapes import TINY
from armlabd.inference import generate, graphs
from armlabd.inference.backend import ModelError
from armlabd.inference.folder import look_at
from armlabd.inference.generate import Cancelled, Chooser, Decoder, Halt, Written
from armlabd.inference.mask import Masks
from armlabd.inference.settings import WorkerSettings
from armlabd.verdict import Code

PROMPT = list(range(3, 3 + 300))  # more than two chunks


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Model:
    """Graphs and masks of a tiny model in this process."""

    def __init__(self, folder: Path, **more: str) -> None:
        settings = WorkerSettings(str(folder), "tiny", **more)
        found = look_at(settings)
        self.graphs = graphs.load(settings, found)
        self.masks = Masks(folder / "tokenizer.json", TINY.vocabulary, found.numbers.ends)

    def write(
        self,
        schema: dict[str, object],
        *,
        forced: bool = True,
        seed: int | None = None,
        most: int = 800,
        prompt: list[int] = PROMPT,
    ) -> Written:
        halt = Halt(600.0)
        chooser = Chooser(0.0 if seed is None else 1.0, seed or 0)
        embeddings = generate.embedded(self.graphs, prompt, halt)
        return generate.write(
            self.graphs,
            Decoder(self.graphs, halt),
            embeddings,
            self.masks.of(schema),
            chooser,
            ends=self.masks.ends,
            most=most,
            halt=halt,
            forced=forced,
        )[0]

    def text(self, tokens: list[int]) -> str:
        import tokenizers

        return str(tokenizers.Tokenizer.from_file(str(self.path)).decode(tokens))

    path: Path


@pytest.fixture(scope="module")
def model(tiny_folder: Path) -> Model:
    made = Model(tiny_folder)
    made.path = tiny_folder / "tokenizer.json"
    return made


def test_a_cache_gives_what_the_whole_text_gives(model: Model) -> None:
    halt = Halt(60.0)
    cached = Decoder(model.graphs, halt)
    logits = cached.feed(generate.embedded(model.graphs, PROMPT, halt))
    tokens = list(PROMPT)
    for _ in range(12):
        token = int(logits.argmax())
        tokens.append(token)
        logits = cached.feed(generate.embedded(model.graphs, [token], halt))
        whole = Decoder(model.graphs, halt).feed(generate.embedded(model.graphs, tokens, halt))
        np.testing.assert_allclose(logits, whole, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("chunk", [1, 7, 128, 299, 300, 301])
def test_chunks_of_any_length_give_the_same(
    chunk: int, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    halt = Halt(60.0)
    embeddings = generate.embedded(model.graphs, PROMPT, halt)
    usual = Decoder(model.graphs, halt).feed(embeddings)
    monkeypatch.setattr(generate, "CHUNK", chunk)
    np.testing.assert_allclose(
        Decoder(model.graphs, halt).feed(embeddings), usual, rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("variant", ["fp32", "int8"])
@pytest.mark.parametrize("alike", [0, 100, 127, 128, 129, 256, 299, 300])
def test_what_two_prompts_share_is_read_once_and_changes_nothing(
    alike: int, variant: str, tiny_folder: Path
) -> None:
    model = Model(tiny_folder, variant=variant)
    halt = Halt(60.0)
    other = PROMPT[:alike] + [7] * (400 - alike)
    first = Decoder(model.graphs, halt)
    first.feed(generate.embedded(model.graphs, other, halt))
    begun = first.begun(other).of(PROMPT)
    kept = 0 if begun is None else begun.length
    assert kept == min(alike, len(PROMPT) - 1) // generate.CHUNK * generate.CHUNK
    rest = generate.embedded(model.graphs, PROMPT[kept:], halt)
    fresh = generate.embedded(model.graphs, PROMPT, halt)
    np.testing.assert_array_equal(
        Decoder(model.graphs, halt, begun).feed(rest), Decoder(model.graphs, halt).feed(fresh)
    )


def test_forced_tokens_change_the_steps_and_not_the_text(model: Model) -> None:
    fast, slow = model.write(PLAN), model.write(PLAN, forced=False)
    assert model.text(fast.tokens) == model.text(slow.tokens)
    assert slow.forced == 0
    assert slow.steps >= 2 * fast.steps
    assert fast.whole
    assert slow.whole


def test_any_walk_under_the_mask_is_a_plan(model: Model) -> None:
    texts = {model.text(model.write(PLAN, seed=seed).tokens) for seed in range(1, 13)}
    assert len(texts) > 6
    assert all(is_plan(text) for text in texts)


@pytest.mark.parametrize("most", [1, 2, 5, 30])
def test_never_more_tokens_than_asked_for(most: int, model: Model) -> None:
    for forced in (True, False):
        written = model.write(ENDLESS, most=most, forced=forced)
        assert len(written.tokens) == most
        assert not written.whole


def test_a_schema_of_one_answer_needs_no_step(model: Model) -> None:
    only = {"enum": ["the only answer"]}
    written = model.write(only)
    assert json.loads(model.text(written.tokens)) == "the only answer"
    assert (written.steps, written.whole) == (0, True)


def test_a_halt_ends_a_pass_from_another_thread(model: Model) -> None:
    halt = Halt(60.0)
    decoder = Decoder(model.graphs, halt)
    embeddings = generate.embedded(model.graphs, PROMPT, halt)
    halt.cancel()
    with pytest.raises(Cancelled):
        decoder.feed(embeddings)


def test_a_pass_that_is_terminated_leaves_the_session_usable(model: Model) -> None:
    halt = Halt(60.0)
    halt.options.terminate = True  # as a cancel does, without the flag: onnxruntime's own error
    with pytest.raises(ModelError) as caught:
        Decoder(model.graphs, halt).feed(generate.embedded(model.graphs, [3], halt))
    assert caught.value.code is Code.MODEL_LOST
    assert model.write(PLAN).whole


def test_the_limit_of_time_is_inside(model: Model) -> None:
    clock = Clock()
    halt = Halt(2.0, clock)
    clock.now_s = 2.0
    halt.look()
    clock.now_s = 2.001
    with pytest.raises(ModelError) as caught:
        halt.look()
    assert caught.value.code is Code.MODEL_TIMEOUT


def test_figures_that_are_no_numbers_are_no_answer() -> None:
    allowed = np.array([False, True, True])
    with pytest.raises(ModelError) as caught:
        Chooser(0.0, 0).choose(np.array([1.0, np.nan, np.nan], np.float32), allowed)
    assert caught.value.code is Code.MODEL_ANSWER
    assert Chooser(0.0, 0).choose(np.array([9.0, 1.0, 2.0], np.float32), allowed) == 2


def test_int8_graphs_write_plans_too(tiny_folder: Path) -> None:
    model = Model(tiny_folder, variant="int8")
    model.path = tiny_folder / "tokenizer.json"
    assert is_plan(model.text(model.write(PLAN).tokens))


def test_pictures_features_take_the_place_of_their_tokens(model: Model) -> None:
    from armlabd.inference.prompt import merged

    embeddings = np.zeros((1, 5, TINY.hidden), np.float32)
    features = np.ones((2, TINY.hidden), np.float32)
    made = merged(embeddings, [1, 9, 9, 2, 3], 9, features)
    assert made[0, :, 0].tolist() == [0, 1, 1, 0, 0]
    for tokens in ([1, 9, 2, 2, 3], [9, 9, 9, 2, 3]):
        with pytest.raises(ModelError, match="different models"):
            merged(embeddings, tokens, 9, features)


def test_tiles_are_seen_one_by_one_and_the_pixels_matter(model: Model) -> None:
    halt = Halt(60.0)
    side = TINY.image
    pixels = np.random.default_rng(0).standard_normal((1, 3, 3, side, side), dtype=np.float32)
    mask = np.ones((1, 3, side, side), np.bool_)
    three = generate.seen(model.graphs, pixels, mask, halt)
    assert three.shape == (3 * TINY.tile_tokens, TINY.hidden)
    assert not np.allclose(three[: TINY.tile_tokens], three[TINY.tile_tokens : -TINY.tile_tokens])
    alone = generate.seen(model.graphs, pixels[:, 1:2], mask[:, 1:2], halt)
    np.testing.assert_allclose(three[TINY.tile_tokens : 2 * TINY.tile_tokens], alone, rtol=1e-4)


def test_two_seeds_are_two_models(tmp_path: Path) -> None:
    first, second = (
        (build_tiny(tmp_path / str(seed), seed=seed) / "onnx/embed_tokens.onnx").read_bytes()
        for seed in (0, 1)
    )
    assert first != second
    assert (build_tiny(tmp_path / "again") / "onnx/embed_tokens.onnx").read_bytes() == first
