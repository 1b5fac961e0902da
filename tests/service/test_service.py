"""The installed service under systemd: boots, moves a block, survives, comes back, goes away."""

from __future__ import annotations

import re
from typing import Any

import board as b
import pytest
from use import FLAGS, INSTALL, WHERE, Steps, laptop_of

pytestmark = pytest.mark.needs_board
MOST_COMMANDS = 6
LONG_WAY = [{"tool": name, "args": {}} for name in ("get_status", "open_gripper")] + [
    {"tool": "move_to_pose", "args": {"x": 0.2, "y": y, "z": 0.06, "speed_dps": 10}}
    for y in (0.14, -0.14)
]
ELSEWHERE = ("/root/armlabd", "/wheels", b.RUN, "/run/systemd")  # brought along, not installed


def microseconds(board: b.Board, name: str) -> int:
    return int(board.property(name))


def core_of(board: b.Board) -> int:
    """The board's own number of the motion core's process."""
    return int(laptop_of(board).ask("GET", "/status")[1]["core"]["pid"])


def in_motion(board: b.Board) -> None:
    """Send the arm on a long way and return while it moves."""
    laptop = laptop_of(board)
    assert (
        laptop.ask("POST", "/call/open_gripper", {})[0] == 200
    )  # then the run's first motion is the arm's
    status, answer = laptop.ask("POST", "/plans/run", {"steps": LONG_WAY})
    assert status == 202, answer

    def moves() -> bool:
        run = laptop.ask("GET", answer["url"])[1]
        assert run["state"] != "ended", run["sentence"]
        return moving(board)

    board.wait(moves, 20, "the arm did not start to move")


def at_rest(board: b.Board) -> None:
    """For so long that nothing counts as motion any more: its mark has gone from the disk."""
    mark = board.root / "var/lib/armlabd/in_motion.json"
    board.wait(lambda: not mark.exists(), 10, "the mark of motion stayed")


def moving(board: b.Board) -> bool:
    return laptop_of(board).ask("GET", "/status")[1].get("arm", {}).get("moving") is True


def back(board: b.Board) -> dict[str, Any]:
    """The status once the service answers again with a core that speaks."""
    found: dict[str, Any] = {}

    def answers() -> bool:
        status, answer = laptop_of(board).ask("GET", "/status")
        found.clear()
        found.update(answer)
        return status == 200 and answer["arm"]["state"] not in ("core_lost", "starting")

    board.wait(answers, 30, "the service did not come back")
    return found


def torque(board: b.Board) -> list[bool]:
    return [bool(on) for on in board.bus.ask("state")["torque"]]


def test_it_is_active_within_two_seconds_of_its_start(installed: b.Board) -> None:
    began = microseconds(installed, "InactiveExitTimestampMonotonic")
    assert microseconds(installed, "ActiveEnterTimestampMonotonic") - began < 2_000_000
    assert installed.property("NRestarts") == "0"


def test_from_a_flashed_card_to_the_first_block_in_the_bin(
    installed: b.Board, first_block: Steps
) -> None:
    commands = ["scripts/install.sh", "armlabd markers", *first_block.took_s]
    print("\n", first_block.took_s)  # noqa: T201  the figures belong in the output
    assert len(commands) <= MOST_COMMANDS
    assert installed.bus.ask("state")["in_bin"] == ["red block"]


def test_a_goal_from_the_laptop_needs_its_key(ready: b.Board) -> None:
    assert b.Laptop(ready.network, "not a key of this arm").ask("GET", "/status")[0] == 401
    laptop = laptop_of(ready)
    ready.bus.ask("reset")
    status, answer = laptop.ask("POST", "/goals", {"goal": "put the blue block in the bin"})
    assert status == 202, answer
    ready.wait(lambda: laptop.ask("GET", answer["url"])[1]["state"] == "ended", 90, "no end")
    assert laptop.ask("GET", answer["url"])[1]["result"] == "done"
    assert ready.bus.ask("state")["in_bin"] == ["blue block"]


def test_runs_and_stops_are_fields_in_the_journal(ready: b.Board) -> None:
    laptop_of(ready).ask("POST", "/stop")
    rows = ready.journal()
    runs = [row for row in rows if row.get("RUN_ID")]
    stops = [row for row in rows if row.get("STOP_LATENCY_US")]
    assert runs
    assert runs[-1]["CAUSE"] == "ok"
    assert stops
    assert int(stops[-1]["STOP_LATENCY_US"]) > 0
    assert stops[-1]["CAUSE"]


@pytest.mark.parametrize("moving_then", [False, True], ids=["at rest", "in motion"])
def test_a_killed_core_leaves_the_arm_limp_and_stopped(ready: b.Board, moving_then: bool) -> None:
    (in_motion if moving_then else at_rest)(ready)
    daemon = ready.property("MainPID")
    ready.kill("KILL", core_of(ready))
    ready.wait(lambda: not any(torque(ready)), 10, "the servos kept their torque")
    assert back(ready)["stopped"] is True
    assert ready.property("MainPID") == daemon


@pytest.mark.parametrize("moving_then", [False, True], ids=["at rest", "in motion"])
def test_a_killed_daemon_comes_back_and_finds_the_arm_held(
    ready: b.Board, moving_then: bool
) -> None:
    (in_motion if moving_then else at_rest)(ready)
    core = core_of(ready)
    daemon = ready.property("MainPID")
    ready.kill("KILL", daemon)
    ready.wait(lambda: ready.property("MainPID") not in ("0", daemon), 20, "no new daemon")
    found = back(ready)
    assert found["stopped"] is moving_then  # where it moved, its lease lapsed: latched
    assert found["core"]["pid"] == core  # adopted: the arm was never let go
    assert all(torque(ready)) or found["stopped"]
    assert not moving(ready)


def test_a_frozen_daemon_is_ended_by_the_watchdog(ready: b.Board) -> None:
    in_motion(ready)
    daemon = ready.property("MainPID")
    ready.kill("STOP", daemon)
    ready.wait(lambda: ready.property("MainPID") not in ("0", daemon), 30, "nobody noticed")
    assert back(ready)["stopped"] is True
    words = " ".join(str(row.get("MESSAGE")) for row in ready.journal())
    assert "Watchdog timeout" in words


@pytest.mark.parametrize("latched", [True, False])
def test_a_reboot_brings_it_back_with_the_latch_as_it_was(ready: b.Board, latched: bool) -> None:
    if latched:
        laptop_of(ready).ask("POST", "/stop")
    ready.off()
    ready.boot()
    ready.wait(ready.active, b.BOOT_S, "the service did not come back by itself")
    assert back(ready)["stopped"] is latched


def test_a_power_cut_in_motion_is_a_stop(ready: b.Board) -> None:
    in_motion(ready)
    ready.cut()
    ready.boot()
    ready.wait(ready.active, b.BOOT_S, "the service did not come back by itself")
    assert back(ready)["stopped"] is True


@pytest.mark.parametrize("after_s", [0.2, 0.6, 1.2, 2.5, 5.0])
def test_case_58_an_installer_killed_at_any_point_ends_right_when_run_again(
    ready: b.Board, after_s: float
) -> None:
    keys = (ready.root / "etc/armlabd/credentials/arm_operator_key").read_text()
    with (ready.root / "root/armlabd/armlabd/__init__.py").open("a") as source:
        source.write(f"# {after_s}\n")
    ready.up("timeout", "-s", "KILL", str(after_s), INSTALL, *FLAGS, *WHERE)
    assert back(ready)["arm"]["state"] == "ready"  # the page answers whatever was cut
    done = ready.up(INSTALL, *FLAGS, *WHERE)
    assert done.returncode == 0, done.stderr[-2000:]
    assert back(ready)["arm"]["state"] == "ready"
    assert (ready.root / "etc/armlabd/credentials/arm_operator_key").read_text() == keys
    assert len(list((ready.root / "opt/armlabd").glob("env-*"))) == 1


def test_case_59_a_version_that_does_not_start_is_taken_back_and_shown(ready: b.Board) -> None:
    main = ready.root / "root/armlabd/armlabd/daemon/main.py"
    good = main.read_text()
    before = ready.up("readlink", "/opt/armlabd/current").stdout
    try:
        main.write_text(good.replace("async def serve(", "raise SystemExit(7)\nasync def serve("))
        done = ready.up(INSTALL, *FLAGS, *WHERE)
    finally:
        main.write_text(good)
    assert done.returncode == 1
    assert "The version before it is back in place" in done.stderr
    assert ready.up("readlink", "/opt/armlabd/current").stdout == before
    assert back(ready)["arm"]["state"] == "ready"


def test_installing_again_changes_nothing(ready: b.Board) -> None:
    files = ("etc/armlabd/config.toml", "etc/armlabd/credentials/arm_api_key")
    before = [(ready.root / name).read_text() for name in files]
    done = ready.up(INSTALL, "--no-models", "--wheelhouse", "/wheels", "--yes")
    assert done.returncode == 0, done.stderr[-2000:]
    assert [(ready.root / name).read_text() for name in files] == before
    assert "shown this once" not in done.stderr


def test_the_daemon_runs_as_its_own_user_in_its_sandbox(ready: b.Board) -> None:
    status = ready.up("cat", f"/proc/{ready.property('MainPID')}/status").stdout
    found = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.MULTILINE))
    assert found["NoNewPrivs"] == "1"
    assert found["CapEff"].strip("0") == ""
    assert found["Seccomp"] == "2"
    assert found["Uid"].split()[0] != "0"
    assert ready.up("stat", "-c", "%a %U", "/var/lib/armlabd").stdout.split() == ["700", "armlabd"]


def test_uninstalling_leaves_nothing(ready: b.Board) -> None:
    """The last one: it takes the board's service away."""
    done = ready.up(INSTALL, "--uninstall", "--yes")
    assert done.returncode == 0, done.stderr[-2000:]
    look = ready.up("find", "/", "-xdev", "-name", "*armlab*", "-not", "-path", "/proc/*").stdout
    left = [p for p in look.split() if not p.startswith(ELSEWHERE)]
    assert left == []
    assert ready.up("getent", "passwd", "armlabd").returncode == 2
    assert "armlabd" not in ready.up("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
