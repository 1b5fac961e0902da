"""How starts before this one ended, and whether the disk takes what is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from armlabd.record.space import LEAST_MIB, MIB, look
from armlabd.record.starts import BROKEN, FILE, StartCounter, Starts, read_starts


def test_the_first_start_of_a_folder_counts_as_one(tmp_path: Path) -> None:
    told = StartCounter(tmp_path, "boot-1").as_dict()
    assert (told["starts"], told["power_cuts"], told["crashes"]) == (1, 0, 0)
    assert told["last_end"] == "in order"


def test_case_60_a_power_cut_a_crash_and_an_end_in_order_are_told_apart(tmp_path: Path) -> None:
    StartCounter(tmp_path, "boot-1")
    crashed = StartCounter(tmp_path, "boot-1")  # the same boot: it died alone
    assert crashed.as_dict()["last_end"] == "crash"
    cut = StartCounter(tmp_path, "boot-2")
    assert cut.as_dict()["last_end"] == "power cut"
    cut.ran(30.9)
    cut.ended()
    last = StartCounter(tmp_path, "boot-3")
    assert last.as_dict()["last_end"] == "in order"
    assert last.now == Starts(4, 1, 1, True, "boot-3", 30)
    last.ran(12.0)
    assert last.now.ran_s == 42


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"starts": "1", "power_cuts": 0, "crashes": 0, "running": true, "boot_id": ""}',
        '{"starts": true, "power_cuts": 0, "crashes": 0, "running": 1, "boot_id": "", "ran_s": 0}',
        '{"starts": -1, "power_cuts": 0, "crashes": 0, "running": true, "boot_id": "", "ran_s": 0}',
        "[" * 100_000,
    ],
)
def test_case_61_a_broken_record_is_set_aside_and_the_start_goes_on(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / FILE).write_text(text)
    assert read_starts(tmp_path) is None
    counter = StartCounter(tmp_path, "boot-1")
    assert counter.now.starts == 1
    assert "set aside" in counter.trouble
    assert (tmp_path / BROKEN).read_text() == text
    assert read_starts(tmp_path) == counter.now


def test_case_62_a_counter_that_cannot_be_written_is_said_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("armlabd.record.starts.write_atomic", full)
    counter = StartCounter(tmp_path, "boot-1")
    counter.ended()
    assert counter.as_dict()["note"] == "The counter cannot be written: No space left on device."


def disk(monkeypatch: pytest.MonkeyPatch, **own: int) -> None:
    found = {"f_bavail": LEAST_MIB, "f_frsize": MIB, "f_flag": 0, "f_files": 10, "f_favail": 10}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**{**found, **own}))


@pytest.mark.parametrize(
    ("own", "state"),
    [
        ({}, "ok"),
        ({"f_bavail": LEAST_MIB - 1}, "low"),
        ({"f_bavail": 1}, "low"),
        ({"f_bavail": 0}, "full"),
        ({"f_favail": 0}, "full"),
        ({"f_favail": 0, "f_files": 0}, "ok"),  # a file system that does not count its names
        ({"f_flag": os.ST_RDONLY}, "read_only"),
        ({"f_flag": os.ST_RDONLY, "f_bavail": 0}, "read_only"),
        ({"f_flag": os.ST_NOSUID}, "ok"),
    ],
)
def test_case_62_each_disk_has_a_name_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, int], state: str
) -> None:
    disk(monkeypatch, **own)
    space = look(tmp_path)
    assert space.state == state
    assert bool(space.next) is (state != "ok")


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    space = look(tmp_path / "gone")
    assert (space.state, space.free_mib) == ("lost", None)
    assert json.dumps(space.as_dict())
