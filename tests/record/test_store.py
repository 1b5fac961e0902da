from __future__ import annotations

from pathlib import Path

import pytest

from armlabd.record.store import Bounds, RunFolder, RunStore, size_of


def test_a_run_keeps_what_it_is_given(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    run = store.create("put the red block in the bin")
    run.write_json("plan", {"steps": [1, 2]})
    run.write_bytes("seen.png", b"\x89PNG")
    run.append_trace({"step": 1})
    run.append_trace({"step": 2})
    found = store.load(run.id)
    assert found is not None
    assert found.read_json("goal") == {"goal": "put the red block in the bin", "age_s": 0}
    assert found.read_json("plan") == {"steps": [1, 2]}
    assert found.trace() == [{"step": 1}, {"step": 2}]
    assert (found.path / "seen.png").read_bytes() == b"\x89PNG"


def test_ids_go_up_also_after_a_restart(tmp_path: Path) -> None:
    first = RunStore(tmp_path).create("a")
    second = RunStore(tmp_path).create("b")
    assert RunStore(tmp_path).list() == [second.id, first.id]
    assert first.id == "run-000001"


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    store = RunStore(tmp_path, Bounds(runs=2))
    ids = [store.create(str(n)).id for n in range(4)]
    assert store.list() == ids[:1:-1]
    assert store.load(ids[0]) is None


def test_numbers_are_ordered_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "run-999999").mkdir()
    (tmp_path / "run-1000000").mkdir()
    (tmp_path / "notes").mkdir()
    assert RunStore(tmp_path).list()[0] == "run-1000000"
    assert RunStore(tmp_path).create("x").id == "run-1000001"


@pytest.mark.parametrize("run_id", ["", "..", "run-1", "../run-000001", "run-000001/..", "x" * 999])
def test_an_id_that_is_none_finds_nothing(tmp_path: Path, run_id: str) -> None:
    store = RunStore(tmp_path / "runs")
    store.create("a")
    assert store.load(run_id) is None


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "", ".hidden", "a..b", "x" * 99])
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    run = RunStore(tmp_path).create("a")
    with pytest.raises(ValueError, match="no name"):
        run.write_bytes(name, b"")


def test_torn_files_read_as_missing(tmp_path: Path) -> None:
    run = RunStore(tmp_path).create("a")
    (run.path / "plan.json").write_text('{"steps": [')
    (run.path / "trace.jsonl").write_text('{"step": 1}\n{"ste')
    assert run.read_json("plan") is None
    assert run.read_json("nothing") is None
    assert run.trace() == [{"step": 1}]


def test_an_empty_store_lists_nothing(tmp_path: Path) -> None:
    assert RunStore(tmp_path / "none").list() == []


def filled(store: RunStore, size: int) -> RunFolder:
    run = store.create("a goal")
    run.write_bytes("picture.png", b"x" * size)
    return run


def test_case_63_runs_beyond_their_size_go_oldest_first_and_the_new_one_stays(
    tmp_path: Path,
) -> None:
    one = size_of(filled(RunStore(tmp_path / "probe"), 100_000).path)
    goal = size_of(RunStore(tmp_path / "probe").create("a goal").path)
    store = RunStore(tmp_path / "runs", Bounds(size_bytes=2 * one + goal))
    runs = [filled(store, 100_000) for _ in range(3)]
    assert store.list() == [runs[2].id, runs[1].id, runs[0].id], "the last one was empty when made"
    last = store.create("a goal")
    assert store.list() == [last.id, runs[2].id, runs[1].id], "exactly the size is inside"
    tight = RunStore(tmp_path / "runs", Bounds(size_bytes=0))
    newest = tight.create("a goal").id
    assert tight.list() == [newest]


def test_runs_older_than_the_board_has_run_since_go(tmp_path: Path) -> None:
    ran_s = 0
    store = RunStore(tmp_path, Bounds(age_s=100), age_s=lambda: ran_s)
    first = store.create("a goal").id
    ran_s = 100
    second = store.create("a goal").id
    assert store.list() == [second, first], "at the age it stays"
    ran_s = 101
    third = store.create("a goal").id
    assert store.list() == [third, second]


def test_runs_of_before_ages_were_written_stay(tmp_path: Path) -> None:
    old = RunStore(tmp_path).create("a goal")
    for content in ({"goal": "x"}, ["x"], {"age_s": "1"}):
        old.write_json("goal", content)
        RunStore(tmp_path, Bounds(age_s=1), age_s=lambda: 10**9).create("a goal")
        assert old.id in RunStore(tmp_path).list()


def test_case_62_a_run_that_cannot_be_recorded_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("armlabd.record.store.write_atomic", full)
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            RunStore(tmp_path / "runs").create("a goal")
    assert list((tmp_path / "runs").iterdir()) == []
