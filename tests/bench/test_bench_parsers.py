from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from armlabd.bench.cycle import statistics
from armlabd.bench.processes import (
    BenchError,
    Place,
    parse_cpu_ticks,
    parse_rss_kib,
    pids_naming,
    place,
    prompt,
    wait_for,
)
from armlabd.bench.rest import Sample, rest_after
from armlabd.bench.rig import read_note

STAT = "77 (a) b ( c)) S 1 77 77 0 -1 4194560 100 0 0 0 {user} {system} 5 6 20 0 1 0 100 1 2"


def test_resident_memory_is_read_from_its_own_line() -> None:
    assert parse_rss_kib("Name:\tpython\nVmHWM:\t   99 kB\nVmRSS:\t   17204 kB\n") == 17204


@pytest.mark.parametrize("text", ["", "Name:\tgone\nState:\tZ (zombie)\n"])
def test_a_process_that_has_ended_has_no_memory(text: str) -> None:
    with pytest.raises(ValueError, match="ended"):
        parse_rss_kib(text)


def test_processor_time_is_user_and_system_whatever_the_command_is_called() -> None:
    assert parse_cpu_ticks(STAT.format(user=120, system=34)) == 154


@pytest.mark.parametrize("text", ["", "77 (x) S 1 2 3"])
def test_a_line_cut_short_is_no_processor_time(text: str) -> None:
    with pytest.raises(ValueError, match="proc"):
        parse_cpu_ticks(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"url": "http://127.0.0.1:9", "pid": 7}', True),
        ('{"url": "http://127.0.0.1:9", "pid": 8}', False),
        ('{"pid": 7}', False),
        ('{"url": "http://127', False),
        ("[7]", False),
        ("", False),
    ],
)
def test_a_note_counts_when_it_is_whole_and_of_this_daemon(
    tmp_path: Path, text: str, found: bool
) -> None:
    path = tmp_path / "daemon.json"
    assert read_note(path, 7) is None
    path.write_text(text)
    assert read_note(path, 7) == (json.loads(text) if found else None)


def test_the_cycle_statistics_are_whole_numbers() -> None:
    told = {"ticks": 9, "overruns": 1, "late_p50_us": 2, "late_p99_us": 3, "longest_us": 4}
    assert statistics({"cycle": told}) == told


@pytest.mark.parametrize("arm", [{}, {"cycle": None}, {"cycle": {}}, {"cycle": {"ticks": 1}}])
def test_a_core_that_has_told_nothing_is_said_so(arm: dict[str, object]) -> None:
    with pytest.raises(BenchError, match="told nothing"):
        statistics(arm)


def swing(*angles: float, other: float = 0.0) -> list[Sample]:
    """A sample every 50 ms from 1.0 s on."""
    return [Sample(1.0 + 0.05 * i, (angle, other * i)) for i, angle in enumerate(angles)]


def test_rest_is_where_the_last_movement_ended() -> None:
    found = rest_after(1.04, swing(0.0, 3.0, 6.0, 7.0, 7.01, 7.0, 7.0))
    assert found.pan_s == pytest.approx(0.11)
    assert found.pan_deg == pytest.approx(7.0)
    assert found.most_deg == pytest.approx(7.0)


def test_travel_counts_from_the_last_sample_before_the_stop() -> None:
    found = rest_after(1.06, swing(0.0, 3.0, 6.0, 6.0, 6.0, 6.0))
    assert found.pan_deg == pytest.approx(3.0)


@pytest.mark.parametrize("angles", [(0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 2.0, 2.0)])
def test_an_arm_that_was_not_seen_at_rest_is_not_called_so(angles: tuple[float, ...]) -> None:
    with pytest.raises(BenchError, match="rest"):
        rest_after(1.01, swing(*angles))


def test_a_stop_nobody_looked_at_after_is_no_measurement() -> None:
    with pytest.raises(BenchError, match="after the stop"):
        rest_after(9.0, swing(0.0, 1.0))


def test_what_never_comes_is_named() -> None:
    with pytest.raises(BenchError, match="The arm did not come within 0 s"):
        wait_for(lambda: None, "The arm", 0.0)
    assert wait_for(lambda: 0, "A zero", 0.0) == 0


def start_sleeper(here: Place) -> int:
    code = "import sys, time; print('up', flush=True); time.sleep(60)"
    process = here.start(["-c", code, str(here.folder)], piped=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process.pid


def test_a_place_leaves_no_process_and_no_folder() -> None:
    with place() as here:
        pid = start_sleeper(here)
        assert pids_naming(here.folder) == [pid]
    assert pids_naming(here.folder) == []
    assert not here.folder.exists()


WHERE_COMPILED = "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)"


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_measured_is_compiled_once_as_pip_leaves_it(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "" if kept else "1")
    with place() as here:
        process = here.start(["-c", WHERE_COMPILED], piped=True)
        assert process.stdout is not None
        told = process.stdout.readline().decode().split()
    assert told == ["False", "None" if kept else str(here.folder / "compiled")]


def test_a_process_is_scheduled_as_before_after_it_stood_for_hardware() -> None:
    before = os.sched_getscheduler(0)
    with prompt() as granted:
        inside = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        assert (inside == os.SCHED_FIFO) is granted
    assert os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == before


def broken_off(error: type[BaseException], made: list[Place]) -> None:
    with place() as here:
        made.append(here)
        start_sleeper(here)
        raise error("now")


@pytest.mark.parametrize("error", [KeyboardInterrupt, BenchError])
def test_a_place_is_left_clean_when_the_bench_is_broken_off(error: type[BaseException]) -> None:
    made: list[Place] = []
    with pytest.raises(error):
        broken_off(error, made)
    assert pids_naming(made[0].folder) == []
    assert not made[0].folder.exists()
