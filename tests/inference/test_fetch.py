"""Fetching a model folder from a local server: pinned, checked, resumed, refused with figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_stand_in import COMMIT, NEXT, REPOSITORY, Hub, hub

from armlabd.inference import fetch as fetching
from armlabd.inference.backend import ModelError
from armlabd.inference.catalog import Entry
from armlabd.inference.fetch import fetch
from armlabd.inference.store import Store
from armlabd.verdict import Code

INT8 = {graph: "int8" for graph in fetching.GRAPHS}
DECODER = "onnx/decoder_model_merged_int8.onnx"


def entry(**more: Any) -> Entry:
    given: dict[str, Any] = {
        "id": "small",
        "backend": "smolvlm",
        "licence": "Apache-2.0",
        "good_for": "tests",
        "board": "any",
        "disk_mb": 1,
        "memory_mb": 1,
        "can": ("plan",),
        "repository": REPOSITORY,
    }
    return Entry(**{**given, **more})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub() as one:
        names = ("config.json", "tokenizer.json", "preprocessor_config.json", "chat_template.jinja")
        one.files = {name: b'{"of": "' + name.encode() + b'"}' for name in names}
        for graph in fetching.GRAPHS:
            for variant in ("_int8", "_q4"):
                one.files[f"onnx/{graph}{variant}.onnx"] = (graph + variant).encode() * 3000
        one.files["model.safetensors"] = b"not wanted"
        yield one


def get(server: Hub, store: Store, one: Entry | None = None, **more: Any) -> list[Any]:
    """Fetch; what was told of it."""
    told: list[Any] = []
    fetch(one or entry(), store, more.pop("variants", INT8), lambda *a: told.append(a),
          endpoint=server.url, **more)  # fmt: skip
    return told


def refused(server: Hub, store: Store, one: Entry | None = None, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        get(server, store, one, **more)
    return caught.value


def test_a_fetch_brings_the_wanted_files_and_pins_them(server: Hub, tmp_path: Path) -> None:
    store = Store(tmp_path / "models")
    told = get(server, store)
    folder = store.folder_of("small")
    got = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    wanted = {name for name in server.files if "q4" not in name and "safetensors" not in name}
    assert got == wanted
    pinned = store.pinned("small")
    assert pinned is not None
    assert (pinned.revision, pinned.repository) == (COMMIT, REPOSITORY)
    assert pinned.files[DECODER] == hashlib.sha256(server.files[DECODER]).hexdigest()
    assert (DECODER, len(server.files[DECODER]), len(server.files[DECODER])) in told
    assert store.is_here("small")
    assert store.folders() == ("small",)


def test_a_second_fetch_asks_for_no_file_again(server: Hub, tmp_path: Path) -> None:
    store = Store(tmp_path / "models")
    get(server, store)
    server.gets.clear()
    get(server, store)
    assert server.gets == []


def test_a_broken_line_is_taken_up_again(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 5_000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda s: None)
    store = Store(tmp_path / "models")
    server.break_after[DECODER] = 40_000
    get(server, store)
    asked = [r for path, r in server.gets if path == DECODER]
    assert asked == ["", "bytes=40000-"]
    assert (store.folder_of("small") / DECODER).read_bytes() == server.files[DECODER]


def test_an_ended_fetch_goes_on_where_it_was(server: Hub, tmp_path: Path) -> None:
    """The process was ended in the middle: what it left of this commit counts, no other part."""
    store = Store(tmp_path / "models")
    place = store.folder_of("small") / DECODER
    place.parent.mkdir(parents=True)
    part = place.with_name(f".{place.name}.{COMMIT[:12]}.part")
    part.write_bytes(server.files[DECODER][:30_000])
    other = place.with_name(f".{place.name}.{NEXT[:12]}.part")
    other.write_bytes(b"of another commit")
    told = get(server, store)
    assert [r for path, r in server.gets if path == DECODER] == ["bytes=30000-"]
    assert place.read_bytes() == server.files[DECODER]
    assert not part.exists()
    assert not other.exists()
    assert (DECODER, 30_000, len(server.files[DECODER])) in told


def test_what_was_spoilt_meanwhile_is_fetched_again(server: Hub, tmp_path: Path) -> None:
    store = Store(tmp_path / "models")
    get(server, store)
    for name in (DECODER, "config.json"):
        place = store.folder_of("small") / name
        place.write_bytes(b"?" * len(server.files[name]))
    server.gets.clear()
    get(server, store)
    assert {path for path, _ in server.gets} == {DECODER, "config.json"}
    assert (store.folder_of("small") / DECODER).read_bytes() == server.files[DECODER]


def test_update_takes_what_the_repository_has_now(server: Hub, tmp_path: Path) -> None:
    store = Store(tmp_path / "models")
    get(server, store)
    server.files["config.json"], server.commit = b'{"of": "another!!!"}', NEXT
    get(server, store, update=True)
    pinned = store.pinned("small")
    assert pinned is not None
    assert pinned.revision == NEXT
    assert (store.folder_of("small") / "config.json").read_bytes() == server.files["config.json"]


def test_a_fetch_keeps_to_the_commit_of_the_first_one(server: Hub, tmp_path: Path) -> None:
    """The repository moved on: the same bytes are wanted as before."""
    store = Store(tmp_path / "models")
    get(server, store)
    (store.folder_of("small") / DECODER).unlink()
    server.files[DECODER] = b"x" * len(server.files[DECODER])
    error = refused(server, store)
    assert error.code is Code.NO_MODEL
    assert "is not the file that is known" in error.sentence
    assert not (store.folder_of("small") / DECODER).exists()


def test_bytes_that_differ_from_the_hubs_own_checksum_are_removed(
    server: Hub, tmp_path: Path
) -> None:
    store = Store(tmp_path / "models")
    server.wrong[DECODER] = b"y" * len(server.files[DECODER])
    error = refused(server, store)
    assert "is not the file that is known" in error.sentence
    assert not (store.folder_of("small") / DECODER).exists()
    assert store.pinned("small") is None


def test_the_catalogs_checksum_counts_first(server: Hub, tmp_path: Path) -> None:
    store = Store(tmp_path / "models")
    good = hashlib.sha256(server.files[DECODER]).hexdigest()
    get(server, store, entry(sha256={DECODER: good}))
    other = Store(tmp_path / "others")
    error = refused(server, other, entry(sha256={DECODER: "0" * 64}))
    assert "it must be " + "0" * 64 in error.sentence


def test_another_variant_comes_beside_the_first(server: Hub, tmp_path: Path) -> None:
    store = Store(tmp_path / "models")
    get(server, store)
    get(server, store, variants={**INT8, "decoder_model_merged": "q4"})
    pinned = store.pinned("small")
    assert pinned is not None
    assert {DECODER, "onnx/decoder_model_merged_q4.onnx"} <= set(pinned.files)


def test_a_variant_that_is_not_offered_is_named_with_those_that_are(
    server: Hub, tmp_path: Path
) -> None:
    variants = {graph: "fp16" for graph in fetching.GRAPHS}
    error = refused(server, Store(tmp_path), variants=variants)
    assert error.code is Code.NO_MODEL
    assert "decoder_model_merged_fp16.onnx" in error.sentence
    assert "int8, q4" in error.sentence


def test_a_full_disk_is_refused_with_figures(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "free_bytes", lambda self: 100_000_000)
    error = refused(server, Store(tmp_path))
    assert error.code is Code.DISK
    assert "the disk has 100 MB free" in error.sentence
    assert server.gets == []


def test_an_unknown_repository_is_named(server: Hub, tmp_path: Path) -> None:
    error = refused(server, Store(tmp_path), entry(repository="Nobody/Nothing"))
    assert (error.code, "Nobody/Nothing" in error.sentence) == (Code.NO_MODEL, True)


def test_no_hub_says_that_a_later_fetch_goes_on(tmp_path: Path) -> None:
    with hub() as one:
        pass
    error = refused(one, Store(tmp_path))
    assert error.code is Code.MODEL_LOST
    assert "fetch again and it goes on" in error.sentence


@pytest.mark.parametrize("text", ["", "{", "[]", '{"small": 5}', '{"small": {"files": {"a": 1}}}'])
def test_a_broken_lock_pins_nothing(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    (tmp_path / "lock.json").write_text(text)
    assert store.pinned("small") is None


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", ".hidden", "a:b", "ä ö"])
def test_no_name_leads_out_of_the_store(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / "models")
    assert store.folder_of(name).parent == tmp_path / "models"


def test_a_folder_that_somebody_put_there_is_a_model_too(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "not-one").mkdir()
    (tmp_path / "mine" / "config.json").write_text(json.dumps({}))
    assert store.folders() == ("mine",)
    assert store.bytes_of("mine") == 2
    assert store.is_here(str(tmp_path / "mine"))
