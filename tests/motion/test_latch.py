"""The stop latch by itself: set at once, kept on disk, opened only by a finished clear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from armlabd.motion import latch
from armlabd.motion import latch as module
from armlabd.motion.disk import DirectDisk, Ticket, Work
from armlabd.motion.latch import (
    CAUSES,
    FILE,
    LONGEST_FILE,
    RETRY_S,
    Cause,
    Latch,
    boot_id,
    read_cause,
    wall_time,
    write_cause,
)


class LaterDisk:
    """Does the work when told to, and fails when told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Work, Ticket]] = []
        self.full = False

    def submit(self, work: Work) -> Ticket:
        ticket = Ticket()
        self.waiting.append((work, ticket))
        return ticket

    def do(self) -> int:
        count = len(self.waiting)
        for work, ticket in self.waiting:
            if self.full:
                ticket.error = "No space left on device"
            else:
                work()
            ticket.done = True
        self.waiting.clear()
        return count

    def close(self) -> None:
        self.do()


def record(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / FILE).read_text())
    return found


def cleared(folder: Path) -> None:
    (folder / FILE).write_text('{"stopped": false}')


def test_the_date_is_added_when_the_record_is_written_not_before(tmp_path: Path) -> None:
    (tmp_path / "stop.json").write_text('{"stopped": false}')
    latch = Latch(tmp_path, DirectDisk())
    latch.set("asked", "somebody")
    assert latch.cause == Cause("asked", "somebody")
    latch.save(0.0)
    assert latch.cause is not None
    dated = latch.cause.since
    assert dated[:2] == "20"
    assert json.loads((tmp_path / "stop.json").read_text())["since"] == dated
    latch.set("button", "button")
    latch.save(1.0)
    assert (latch.cause.code, latch.cause.since) == ("asked", dated)


def test_a_new_folder_is_stopped_and_says_so_on_disk(tmp_path: Path) -> None:
    latch = Latch(tmp_path, DirectDisk(), "boot-1")
    assert latch.stopped
    assert latch.cause == Cause("new")
    assert not latch.on_disk
    latch.save(0.0)
    assert latch.on_disk
    assert read_cause(tmp_path / FILE) == Cause("new")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"stopped": 0}',
        b'{"stopped": null}',
        b'{"stopped": "false"}',
        b"\xff\xfe",
        b"[" * 9000,
        b'{"stopped": false' + b" " * LONGEST_FILE + b"}",
    ],
)
def test_a_record_that_is_torn_or_strange_means_stopped(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert read_cause(tmp_path / FILE) == Cause("unreadable")
    latch = Latch(tmp_path, DirectDisk())
    assert latch.stopped
    latch.save(0.0)
    assert record(tmp_path)["code"] == "unreadable"


def test_a_record_that_is_a_folder_means_stopped(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert read_cause(tmp_path / FILE) == Cause("unreadable")


def test_only_a_record_of_a_cleared_stop_lets_the_arm_move(tmp_path: Path) -> None:
    cleared(tmp_path)
    latch = Latch(tmp_path, DirectDisk())
    assert not latch.stopped
    assert latch.on_disk
    assert latch.disk_error is None
    latch.save(0.0)
    assert record(tmp_path) == {"stopped": False}, "nothing to write"


def test_a_stop_survives_a_restart_with_all_it_said(tmp_path: Path) -> None:
    cleared(tmp_path)
    latch = Latch(tmp_path, DirectDisk(), "boot-1")
    latch.set("asked", "a person")
    latch.save(0.0)
    again = Latch(tmp_path, DirectDisk(), "boot-2")
    assert again.cause == latch.cause
    assert again.cause is not None
    assert (again.cause.code, again.cause.by) == ("asked", "a person")
    assert again.cause.boot_id == "boot-1"
    assert again.cause.since
    assert again.on_disk, "what was read need not be written again"
    again.save(0.0)
    assert record(tmp_path)["boot_id"] == "boot-1"


def test_the_first_cause_stays_and_texts_are_bounded(tmp_path: Path) -> None:
    cleared(tmp_path)
    latch = Latch(tmp_path, DirectDisk())
    latch.set("c" * 100, "b" * 100)
    latch.set("button", "button")
    assert latch.cause is not None
    assert (latch.cause.code, latch.cause.by) == ("c" * 80, "b" * 80)


def test_a_strange_field_of_a_stop_reads_as_empty(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"stopped": true, "code": 5, "by": null, "since": "now"}')
    assert read_cause(tmp_path / FILE) == Cause("", "", "now", "")


def test_a_stop_is_set_in_memory_before_the_disk_has_it(tmp_path: Path) -> None:
    cleared(tmp_path)
    disk = LaterDisk()
    latch = Latch(tmp_path, disk)
    latch.set("asked", "x")
    assert latch.stopped
    assert not latch.on_disk
    latch.save(0.0)
    assert not latch.on_disk
    latch.save(0.1)
    assert disk.do() == 1, "handed over once"
    assert latch.on_disk
    assert record(tmp_path)["stopped"] is True


def test_a_write_that_failed_is_tried_again_once_a_second(tmp_path: Path) -> None:
    cleared(tmp_path)
    disk = LaterDisk()
    latch = Latch(tmp_path, disk)
    latch.set("asked", "x")
    latch.save(10.0)
    disk.full = True
    disk.do()
    assert latch.disk_error == "No space left on device"
    assert not latch.on_disk
    latch.save(10.0 + RETRY_S - 0.001)
    assert not disk.waiting
    latch.save(10.0 + RETRY_S)
    assert len(disk.waiting) == 1
    assert latch.disk_error is None
    disk.full = False
    disk.do()
    assert latch.on_disk


def test_a_clear_opens_only_when_finished_and_its_record_was_written(tmp_path: Path) -> None:
    disk = LaterDisk()
    latch = Latch(tmp_path, disk, "boot-1")
    latch.save(0.0)
    disk.do()
    ticket = latch.begin_clear("p" * 100)
    assert latch.stopped
    assert not ticket.done
    disk.do()
    assert ticket.ok
    assert latch.stopped
    written = record(tmp_path)
    assert (written["stopped"], written["by"], written["boot_id"]) == (False, "p" * 80, "boot-1")
    latch.finish_clear()
    assert not latch.stopped
    assert latch.on_disk


def test_a_stop_that_comes_while_a_clear_is_written_is_written_again(tmp_path: Path) -> None:
    disk = LaterDisk()
    latch = Latch(tmp_path, disk)
    latch.save(0.0)
    latch.begin_clear("p")
    disk.do()
    assert record(tmp_path)["stopped"] is False
    latch.write_again()
    assert not latch.on_disk
    latch.save(0.1)
    disk.do()
    assert record(tmp_path)["stopped"] is True
    assert Latch(tmp_path, disk).stopped


def test_every_cause_has_a_sentence_and_an_unknown_one_is_named() -> None:
    for code, sentence in CAUSES.items():
        assert Cause(code).sentence == sentence
        assert sentence.endswith(".")
    assert Cause("strange").sentence == "Stopped: strange."


def test_the_record_is_plain_text_for_people(tmp_path: Path) -> None:
    write_cause(tmp_path / FILE, Cause("asked", "me", "now", "b"))
    text = (tmp_path / FILE).read_text()
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "stopped": True,
        "code": "asked",
        "by": "me",
        "since": "now",
        "boot_id": "b",
    }
    assert text.count("\n") > 5


def test_the_boot_has_a_name_where_the_kernel_gives_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(boot_id(), str)
    assert boot_id() == boot_id()
    assert RETRY_S == 1.0
    assert len(wall_time()) >= 19

    monkeypatch.setattr(latch, "BOOT_ID", str(tmp_path / "nowhere"))
    assert boot_id() == ""


@pytest.mark.parametrize("sticks", [False, True])
def test_a_full_disk_gives_up_the_record_of_a_cleared_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sticks: bool
) -> None:
    path = tmp_path / "stop.json"
    path.write_text('{"stopped": false}')

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_atomic", full)
    if sticks:
        monkeypatch.setattr(module, "remove", full)
    with pytest.raises(OSError, match="No space left"):
        write_cause(path, Cause("asked"))
    assert path.exists() is sticks
    assert (read_cause(path) is None) is sticks, "without any record the arm counts as stopped"
