"""A folder that cannot be used is refused with a sentence that names what is wrong."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from questions import is_plan, picture, question
from tiny import build_tiny

from armlabd.bench.models_made import save_config
from armlabd.bench.nodes import FLOAT, INT64, Nodes
from armlabd.bench.shapes import TINY, RandomWeights
from armlabd.bench.textgraphs import save_embedding
from armlabd.inference import graphs, memory
from armlabd.inference.backend import ModelError, Warmth
from armlabd.inference.folder import SEEING, look_at
from armlabd.inference.settings import WorkerSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.verdict import Code


def settings(folder: Path, **more: Any) -> WorkerSettings:
    return WorkerSettings(str(folder), "tiny", **more)


@contextlib.asynccontextmanager
async def using(folder: Path, **more: Any) -> AsyncIterator[SmolVlm]:
    """A backend that is closed whatever happens."""
    backend = SmolVlm(settings(folder, **more))
    try:
        yield backend
    finally:
        await backend.close()


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


def load(folder: Path, **more: Any) -> graphs.Graphs:
    told = settings(folder, **more)
    return graphs.load(told, look_at(told))


def change_config(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["text_config"].update(values)
    (folder / "config.json").write_text(json.dumps(config))


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def truncate(name: str) -> Callable[[Path], object]:
    def cut(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return cut


def other_shape(folder: Path) -> None:
    shape = replace(TINY, hidden=32)
    save_embedding(folder / "onnx" / "embed_tokens.onnx", shape, RandomWeights())


def wrong_type(folder: Path) -> None:
    """Token numbers as floats."""
    nodes = Nodes()
    ids = nodes.op("Cast", "input_ids", to=INT64)
    rows = nodes.rows(RandomWeights().matrix("token_embd", TINY.vocabulary, TINY.hidden), ids)
    path = folder / "onnx" / "embed_tokens.onnx"
    out = ("inputs_embeds", FLOAT, ["batch", "seq", TINY.hidden])
    nodes.save(path, [("input_ids", FLOAT, ["batch", "seq"])], [(rows, out)])


def no_cache(folder: Path) -> None:
    """Another graph under the decoder's name."""
    shutil.copy(folder / "onnx" / "embed_tokens.onnx", folder / "onnx/decoder_model_merged.onnx")


FAULTS: list[tuple[str, Callable[[Path], object], str]] = [
    ("no folder", shutil.rmtree, "There is no model folder"),
    ("no config", remove("config.json"), "has no config.json"),
    ("no tokenizer", remove("tokenizer.json"), "has no tokenizer.json"),
    ("no decoder", remove("onnx/decoder_model_merged.onnx"), "that are there: int8"),
    ("no embedding", remove("onnx/embed_tokens.onnx"), "that are there: int8"),
    ("no seeing", remove("onnx/vision_encoder.onnx"), "that are there: int8"),
    (
        "pointer",
        write("onnx/embed_tokens.onnx", b"version https://git-lfs.github.com/spec/v1\n"),
        "a pointer to the file",
    ),
    ("empty file", write("onnx/embed_tokens.onnx", b""), "only 0 bytes"),
    ("cut config", truncate("config.json"), "cannot be read"),
    ("config a list", write("config.json", b"[]"), "no JSON object"),
    ("cut decoder", truncate("onnx/decoder_model_merged.onnx"), "damaged"),
    ("no graph", write("onnx/vision_encoder.onnx", b"\x08\x09" * 4000), "damaged"),
    ("other shape", other_shape, "hidden_size 32"),
    ("wrong type", wrong_type, "input_ids as tensor(float)"),
    ("no cache", no_cache, "no past_key_values"),
    ("layers", lambda f: change_config(f, num_hidden_layers=3), "num_hidden_layers 2"),
    ("kv heads", lambda f: change_config(f, num_key_value_heads=4), "num_key_value_heads 2"),
    ("head", lambda f: change_config(f, head_dim=32), "head_dim 16"),
    ("vocabulary", lambda f: change_config(f, vocab_size=600), "vocab_size 512"),
    ("no end", write("generation_config.json", b"{}"), "eos_token_id"),
]


@pytest.mark.parametrize(
    ("damage", "said"), [row[1:] for row in FAULTS], ids=[r[0] for r in FAULTS]
)
def test_what_is_wrong_with_a_folder_is_said(
    damage: Callable[[Path], object], said: str, folder: Path
) -> None:
    damage(folder)
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert caught.value.code is Code.NO_MODEL
    assert said in caught.value.sentence


def test_a_whole_folder_loads_flat_too_and_in_both_variants(folder: Path) -> None:
    assert load(folder, variant="int8").vocabulary == TINY.vocabulary
    for path in list((folder / "onnx").iterdir()):
        path.rename(folder / path.name)
    (folder / "onnx").rmdir()
    made = load(folder, variants={SEEING: "int8"})
    assert made.cache.kv_heads == TINY.kv_heads
    assert len(made.cache.pairs) == 2 * TINY.layers


def test_a_config_that_is_silent_is_not_held_against_the_graphs(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["text_config"] = {}
    (folder / "config.json").write_text(json.dumps(config))
    assert load(folder).hidden == TINY.hidden


def test_a_provider_that_is_not_there_is_told(folder: Path) -> None:
    made = load(folder, providers=("CUDAExecutionProvider",))
    assert made.decoder.get_providers() == ["CPUExecutionProvider"]
    assert "CUDAExecutionProvider is not in this onnxruntime" in made.notes[0]


def meminfo(proc: Path, free_kib: int) -> None:
    proc.mkdir()
    (proc / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {free_kib} kB\n")


def test_a_model_that_does_not_fit_is_refused_with_figures(folder: Path, tmp_path: Path) -> None:
    told, proc, groups = settings(folder), tmp_path / "proc", tmp_path / "groups"
    found = look_at(told)
    need = memory.needed(found, told)
    meminfo(proc, need // 1024 - 1)
    with pytest.raises(ModelError) as caught:
        memory.refuse_what_does_not_fit(found, told, proc, groups)
    assert caught.value.code is Code.MODEL_MEMORY
    assert f"needs about {need // memory.MIB} MiB" in caught.value.sentence
    (proc / "meminfo").write_text(f"MemAvailable: {need // 1024 + 1} kB\n")
    assert memory.refuse_what_does_not_fit(found, told, proc, groups) == need


def test_the_control_groups_limit_counts_and_its_kills_too(tmp_path: Path) -> None:
    proc, group = tmp_path / "proc", tmp_path / "groups" / "armlabd.service"
    meminfo(proc, 8 << 20)
    group.mkdir(parents=True)
    (proc / "self").mkdir()
    (proc / "self" / "cgroup").write_text("0::/armlabd.service\n")
    (group / "memory.max").write_text("max\n")
    assert memory.available(proc, tmp_path / "groups") == 8 << 30
    (group / "memory.max").write_text("1000000\n")
    (group / "memory.current").write_text("700000\n")
    (group / "memory.stat").write_text("anon 5\ninactive_file 200000\n")
    assert memory.available(proc, tmp_path / "groups") == 500000
    (group / "memory.events").write_text("low 0\noom_kill 2\n")
    (proc / "vmstat").write_text("oom_kill 7\n")
    assert memory.oom_kills(proc, tmp_path / "groups") == 9


def test_where_nothing_can_be_read_nothing_is_refused(folder: Path, tmp_path: Path) -> None:
    told = settings(folder)
    assert memory.refuse_what_does_not_fit(look_at(told), told, tmp_path, tmp_path) > 0
    assert memory.oom_kills(tmp_path, tmp_path) == 0


@pytest.mark.real
async def test_a_damaged_folder_leaves_no_worker_and_a_mended_one_loads(folder: Path) -> None:
    decoder = folder / "onnx" / "decoder_model_merged.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(whole[:-3000])
    async with using(folder) as backend:
        with pytest.raises(ModelError, match="damaged"):
            await backend.warm()
        assert backend.pid is None
        assert (await backend.state()).warmth is Warmth.FAILED
        decoder.write_bytes(whole)
        await backend.warm()
        assert (await backend.state()).warmth is Warmth.WARM
        await backend.unload()
        (folder / "config.json").unlink()
        assert (await backend.state()).warmth is Warmth.ABSENT


@pytest.mark.real
@pytest.mark.parametrize("mib", [60, 220])
async def test_too_little_address_space_is_an_answer_not_an_end(mib: int, folder: Path) -> None:
    async with using(folder, address_space_bytes=mib * memory.MIB) as backend:
        with pytest.raises(ModelError) as caught:
            await backend.answer(question())
        assert caught.value.code is Code.MODEL_MEMORY
        assert backend.pid is None


@pytest.mark.real
async def test_a_model_for_text_refuses_pictures(tmp_path: Path) -> None:
    async with using(build_tiny(tmp_path / "text", vision=False)) as backend:
        assert is_plan((await backend.answer(question())).text)
        with pytest.raises(ModelError, match="reads text only") as caught:
            await backend.answer(question(images=(picture(),)))
        assert caught.value.code is Code.OUT_OF_RANGE


def test_configs_of_the_two_kinds_are_read(tmp_path: Path) -> None:
    for seeing in (True, False):
        folder = build_tiny(tmp_path / str(seeing), vision=seeing)
        save_config(folder, TINY, seeing=seeing, end=7)
        numbers = look_at(settings(folder)).numbers
        assert numbers.ends == (7,)
        assert numbers.layers == TINY.layers
        assert (numbers.image is not None) is seeing
