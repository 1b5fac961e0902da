from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from armlabd.clock import VirtualClock
from armlabd.record.audit import MAX_TEXT, PARTS, Audit, boot_id


def test_rows_are_numbered_stamped_and_read_back(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit", VirtualClock(7.5))
    assert [audit.write({"tool": "go_home"}), audit.write({"tool": "stop"})] == [1, 2]
    first, second = audit.tail()
    assert (first["seq"], first["tool"], second["seq"], second["tool"]) == (1, "go_home", 2, "stop")
    assert first["monotonic_s"] == 7.5
    assert first["boot_id"] == boot_id()
    assert isinstance(first["synced"], bool)
    assert "T" in first["wall"]


def test_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    Audit(tmp_path, VirtualClock()).write({"a": 1})
    assert Audit(tmp_path, VirtualClock()).write({"a": 2}) == 2


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_line_torn_anywhere_costs_only_itself(tmp_path: Path, cut: int) -> None:
    audit = Audit(tmp_path, VirtualClock())
    audit.write({"a": 1})
    audit.write({"a": 2})
    whole = audit.path.read_bytes()
    audit.path.write_bytes(whole[:-cut])
    again = Audit(tmp_path, VirtualClock())
    number = again.write({"a": 3})
    rows = again.tail()
    assert [row["a"] for row in rows] == ([1, 2, 3] if cut == 1 else [1, 3])
    assert number == rows[-2]["seq"] + 1
    assert audit.path.read_bytes().startswith(whole[:-cut])  # nothing was taken away


def test_case_61_lines_that_are_no_rows_do_not_end_the_start(tmp_path: Path) -> None:
    audit = Audit(tmp_path, VirtualClock())
    audit.path.write_bytes(b"\x00\xff garbage\n[1]\n" + b'{"seq": 41, "a": 1}\n')
    assert audit.write({"a": 2}) == 42
    assert [row["a"] for row in audit.tail()] == [1, 2]


def test_the_tail_is_bounded_and_its_ends_are_right(tmp_path: Path) -> None:
    audit = Audit(tmp_path, VirtualClock())
    for number in range(5):
        audit.write({"n": number}, sync=False)
    assert [row["n"] for row in audit.tail(2)] == [3, 4]
    assert audit.tail(0) == []
    assert audit.tail(-1) == []
    assert len(audit.tail(10**9)) == 5


def test_a_long_file_is_read_only_at_its_end(tmp_path: Path) -> None:
    audit = Audit(tmp_path, VirtualClock())
    line = json.dumps({"seq": 1, "pad": "x" * 1000}).encode() + b"\n"
    audit.path.write_bytes(line * 2000 + b'{"seq": 9001}\n')
    assert audit.write({}) == 9002
    assert len(audit.tail(1000)) < 600


def test_an_empty_audit_has_no_rows(tmp_path: Path) -> None:
    assert Audit(tmp_path / "none", VirtualClock()).tail() == []


def test_what_a_caller_sends_is_cut_and_made_plain(tmp_path: Path) -> None:
    audit = Audit(tmp_path, VirtualClock())
    deep: list[object] = []
    for _ in range(50):
        deep = [deep]
    audit.write(
        {
            "text": "x" * 10_000,
            "nan": math.nan,
            "inf": -math.inf,
            "big": 10**5000,
            "picture": b"\x89PNG",
            "deep": deep,
            "many": list(range(1000)),
            "odd": "\ud800\n",
        }
    )
    (row,) = audit.tail()
    assert len(row["text"]) == MAX_TEXT
    assert (row["nan"], row["inf"]) == ("nan", "-inf")
    assert row["big"] == "a very large number"
    assert "PNG" not in row["picture"]
    assert len(row["many"]) == 40
    assert audit.path.read_bytes().count(b"\n") == 1


def test_writers_in_many_threads_lose_no_row(tmp_path: Path) -> None:
    audit = Audit(tmp_path, VirtualClock())

    def work(name: int) -> None:
        for _ in range(10):
            audit.write({"by": name}, sync=False)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row["seq"] for row in audit.tail()] == list(range(1, 41))


def test_every_row_is_on_the_disk_before_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), real(handle))[1])
    audit = Audit(tmp_path, VirtualClock())
    audit.write({"a": 1})
    after_first = len(synced)
    assert after_first >= 2  # the row, and the folder that names the new file
    audit.write({"a": 2})
    assert len(synced) == after_first + 1
    audit.write({"a": 3}, sync=False)
    assert len(synced) == after_first + 1


def test_a_row_survives_a_process_that_is_killed_right_after_it(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys\n"
        "from armlabd.clock import SystemClock\n"
        "from armlabd.record.audit import Audit\n"
        "Audit(pathlib.Path(sys.argv[1]), SystemClock()).write({'outcome': 'started'})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert ended.returncode == -9
    assert [row["outcome"] for row in Audit(tmp_path, VirtualClock()).tail()] == ["started"]


def test_case_62_a_full_disk_is_an_error_and_the_number_is_not_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit(tmp_path, VirtualClock())
    audit.write({"a": 1})

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            audit.write({"a": 2})
    assert audit.write({"a": 3}) == 2


def test_case_63_the_audit_stays_within_its_size_and_numbers_go_on(tmp_path: Path) -> None:
    size = 50_000
    audit = Audit(tmp_path, VirtualClock(), size)
    for number in range(1, 600):
        assert audit.write({"pad": "x" * 200}, sync=False) == number
        if number % 97 == 0:
            audit = Audit(tmp_path, VirtualClock(), size)  # a restart at any point
    files = list(tmp_path.iterdir())
    assert len(files) == PARTS + 1
    assert sum(file.stat().st_size for file in files) <= size + (PARTS + 1) * 500
    numbers = [row["seq"] for row in audit.tail(40)]
    assert numbers == list(range(560, 600)), "the tail reaches over into the closed file"


def test_after_a_restart_right_at_the_closing_numbers_go_on(tmp_path: Path) -> None:
    audit = Audit(tmp_path, VirtualClock(), 1000)
    audit.write({"pad": "x" * 290})
    os.replace(audit.path, tmp_path / "audit-000000000001.jsonl")  # the power went right after it
    assert Audit(tmp_path, VirtualClock(), 1000).write({}) == 2


def test_case_61_a_log_that_is_no_file_is_set_aside_and_the_next_row_is_kept(
    tmp_path: Path,
) -> None:
    audit = Audit(tmp_path, VirtualClock())
    audit.path.mkdir()
    assert audit.tail() == []
    assert audit.write({"a": 1}) == 1
    assert [row["a"] for row in audit.tail()] == [1]
    assert (tmp_path / "audit-000000000001.jsonl").is_dir()
