"""The stop button: what a line says and what that means, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.arm.joints import HOME
from armlabd.bench.arena import Arena
from armlabd.config.stop import ButtonConfig
from armlabd.motion.button import MOST_EDGES, Button, Reading, ScriptedLine
from armlabd.motion.disk import DirectDisk, Ticket
from armlabd.motion.proof import AGAIN_S, Proof, read_proof
from armlabd.motion.servos import ALL_OFF
from armlabd.motion.settings import CoreSettings
from armlabd.motion.state import slow_state
from armlabd.motion.watch import REST_WIDE_TICKS, WIDE_TICKS

Make = Callable[..., Arena]
AWAY = HOME._replace(pan=40.0, grip=50.0)
START = HOME._replace(grip=50.0)
RELEASE_S = 0.2


def button(line: ScriptedLine, **given: object) -> Button:
    return Button(line, True, RELEASE_S, 10.0, **given)  # type: ignore[arg-type]


# --- what a line means ------------------------------------------------------------------------


def test_a_closed_contact_at_the_start_runs_and_an_open_one_stops() -> None:
    assert button(ScriptedLine(False)).state == "released"
    assert button(ScriptedLine(True)).state == "pressed"
    assert button(ScriptedLine(None)).state == "broken"
    assert Button(None, True).state == "missing"
    assert Button(None, False).state == "none"
    assert not Button(None, False).look(1.0)


def test_the_first_sign_of_open_trips_without_debouncing() -> None:
    line = ScriptedLine()
    one = button(line)
    line.level = True
    assert one.look(10.0001)
    assert (one.state, one.stops) == ("pressed", True)
    assert not one.look(10.0002), "tripped once"


def test_open_and_closed_again_between_two_looks_is_a_press() -> None:
    line = ScriptedLine()
    one = button(line)
    line.script = [Reading(False, edges=2, edge_s=10.4995)]
    assert one.look(10.5, woken=True)
    assert one.state == "pressed"
    assert one.tripped_s == 10.4995, "the kernel's stamp of the first edge"


@pytest.mark.parametrize("edge_s", [None, 9.0, 9.4999, 11.0])
def test_a_stamp_that_cannot_be_is_not_believed(edge_s: float | None) -> None:
    line = ScriptedLine()
    one = button(line)
    line.script = [Reading(True, edges=1, edge_s=edge_s)]
    assert one.look(10.5, woken=True)
    assert one.tripped_s == 10.5


def test_a_stamp_of_up_to_a_second_ago_is_believed() -> None:
    line = ScriptedLine()
    one = button(line)
    line.script = [Reading(True, edges=1, edge_s=9.5)]
    one.look(10.5, woken=True)
    assert one.tripped_s == 9.5


def test_edges_are_asked_for_at_the_start_when_woken_and_in_a_storm_by_each_tick() -> None:
    line = ScriptedLine()
    one = button(line)
    one.look(10.1)
    one.look(10.2, woken=True)
    line.script = [Reading(False, edges=MOST_EDGES)]
    one.look(10.3, woken=True)
    one.look(10.4)
    assert line.asked == [True, False, True, True, True]


def test_the_time_of_release_is_the_settings_own_default() -> None:
    line = ScriptedLine(True)
    one = Button(line, True, now_s=10.0)
    line.level = False
    one.look(10.0)
    one.look(10.1)
    assert one.state == "pressed"
    one.look(10.25)
    assert one.state == "released"
    assert CoreSettings("", "").button_release_s == ButtonConfig().release_s == RELEASE_S


def test_edges_are_counted_by_the_second() -> None:
    line = ScriptedLine()
    one = button(line)
    line.script = [Reading(False, edges=60), Reading(False, edges=60)]
    one.look(10.5, woken=True)
    one.look(11.0, woken=True)
    assert one.state == "pressed", "a second has begun anew"
    line.script = [Reading(False, edges=39), Reading(False, edges=1)]
    one.look(11.4, woken=True)
    assert one.state == "pressed"
    one.look(11.9, woken=True)
    assert one.state == "noisy"


def test_lost_events_trip_although_the_contact_reads_closed() -> None:
    line = ScriptedLine()
    one = button(line)
    line.script = [Reading(False, lost=True)]
    assert one.look(10.5, woken=True)
    assert (one.state, one.lost) == ("pressed", 1)


def test_released_is_closed_and_quiet_for_the_whole_time() -> None:
    line = ScriptedLine(True)
    one = button(line)
    line.level = False
    for at_s, state in ((10.1, "pressed"), (10.29, "pressed"), (10.301, "released")):
        one.look(at_s)
        assert one.state == state
    line.level = True
    one.look(10.4)
    line.level = False
    one.look(10.5)
    line.script = [Reading(False, edges=2)]  # it bounced: the time begins anew
    one.look(10.6, woken=True)
    one.look(10.75)
    assert one.state == "pressed"
    one.look(10.81)
    assert one.state == "released"


def test_a_line_that_fails_stops_and_is_tried_again_every_second() -> None:
    line = ScriptedLine()
    one = button(line)
    line.level = None
    assert one.look(10.5)
    assert one.state == "broken"
    assert "It is scripted so." in one.why
    before = line.opened
    assert not one.look(11.4), "it tripped once"
    assert (one.state, line.opened) == ("broken", before)
    assert not one.look(11.5)
    assert not one.look(11.6)
    assert (one.state, line.opened) == ("broken", before + 1)
    line.level, before = False, line.opened
    one.look(12.51)
    assert line.opened == before + 1
    assert one.state == "pressed", "closed again, but not for long enough"
    one.look(12.7)
    assert one.state == "pressed"
    one.look(12.72)
    assert one.state == "released"
    assert line.opened == before + 1


def test_flicker_stops_is_named_and_is_read_on() -> None:
    line = ScriptedLine()
    one = button(line)
    line.fd = 7
    assert one.fd == 7
    line.script = [Reading(False, edges=MOST_EDGES)]
    assert one.look(10.5, woken=True)
    assert (one.state, one.fd) == ("noisy", -1), "it is read by the ticks, not by waking"
    assert "flickers" in one.why
    line.script = [Reading(False, edges=1)]
    one.look(11.4)  # still now and then: quiet counts from here
    one.look(12.3)
    assert one.state == "noisy"
    one.look(12.41)
    assert (one.state, one.fd) == ("released", 7)
    line.level = True
    assert one.look(12.5), "noise has not switched it off"


def test_just_below_the_count_it_is_a_press_and_flicker_that_ends_open_is_one_too() -> None:
    line = ScriptedLine()
    one = button(line)
    line.script = [Reading(False, edges=MOST_EDGES - 1)]
    one.look(10.5, woken=True)
    assert one.state == "pressed"
    line.script = [Reading(True, edges=MOST_EDGES)]
    line.level = True
    one.look(10.6, woken=True)
    assert one.state == "noisy"
    one.look(11.5)
    assert one.state == "noisy"
    one.look(11.6)
    assert one.state == "pressed"


READINGS = st.builds(
    Reading, st.sampled_from([True, False, None]), st.integers(0, 200), st.booleans(), st.none()
)


@given(st.lists(st.tuples(READINGS, st.floats(0.0001, 0.4)), max_size=60))
def test_released_is_never_said_within_the_release_time_of_any_sign_of_open(
    steps: list[tuple[Reading, float]],
) -> None:
    line = ScriptedLine()
    one = button(line)
    now_s, calm_s = 10.0, float("-inf")
    for reading, gap_s in steps:
        now_s += gap_s
        line.script = [reading]
        before, opened = one.state, line.opened
        one.look(now_s, woken=True)
        if line.script:  # it was broken and not yet tried again
            assert (before, one.state, line.opened) == ("broken", "broken", opened)
            continue
        if reading.level is not False or reading.edges or reading.lost:
            calm_s = now_s
        assert (one.state == "released") <= (now_s - calm_s >= RELEASE_S - 1e-9)


# --- the proof --------------------------------------------------------------------------------


def press(one: Button, line: ScriptedLine, at_s: float, for_s: float = 0.1) -> None:
    """Open for so long, then closed until it counts as released."""
    line.level = True
    one.look(at_s)
    one.look(at_s + for_s)
    line.level = False
    one.look(at_s + for_s + 0.01)
    one.look(at_s + for_s + 0.02 + RELEASE_S)
    assert one.state == "released"


def test_case_86_a_line_is_unproven_until_it_was_seen_to_open_and_close(tmp_path: Path) -> None:
    line = ScriptedLine()
    one = button(line, proof=Proof(tmp_path, "chip line", DirectDisk()))
    one.look(11.0)
    assert one.details()["proven_at"] == "", "a line that only ever reads closed proves nothing"
    press(one, line, 12.0, for_s=0.001)
    assert one.details()["proven_at"] == "", "nor does a spike"
    press(one, line, 13.0)
    assert one.details()["proven_at"]
    again = Proof(tmp_path, "chip line", DirectDisk())
    assert again.at == one.proof.at, "it stays over a restart"
    assert Proof(tmp_path, "chip other", DirectDisk()).at == "", "but not for another line"


def test_the_proof_is_written_once_an_hour_at_most(tmp_path: Path) -> None:
    proof = Proof(tmp_path, "chip line", DirectDisk())
    proof.seen(100.0)
    (tmp_path / "button.json").unlink()
    proof.seen(100.0 + AGAIN_S - 1.0)
    assert not (tmp_path / "button.json").exists()
    proof.seen(100.0 + AGAIN_S)
    assert read_proof(tmp_path, "chip line") == proof.at


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"line": "chip line"}', b"\xff", b"[" * 900])
def test_a_proof_that_cannot_be_read_proves_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "button.json").write_bytes(text)
    assert read_proof(tmp_path, "chip line") == ""


# --- the core ---------------------------------------------------------------------------------


@pytest.fixture
def line() -> ScriptedLine:
    return ScriptedLine()


@pytest.fixture
def wired(make: Make, line: ScriptedLine) -> Arena:
    """A core with a button that is ready to move."""
    return make(line=line, button_required=True).ready()


def pressed(arena: Arena, line: ScriptedLine) -> list[int]:
    """Press it; the kinds of frame that went out from then on within one cycle."""
    line.level, before = True, len(arena.frames)
    arena.step()
    assert arena.core.latch.stopped
    assert arena.core.latch.cause is not None
    assert arena.core.latch.cause.code == "button"
    return arena.torque_offs(before)


def test_case_04_a_press_while_a_long_motion_is_planned_stops_it(
    wired: Arena, line: ScriptedLine
) -> None:
    number = wired.ask("park")  # a route in many slices of a millisecond
    assert wired.core.has_work
    assert pressed(wired, line)
    assert wired.answers[number]["code"] == "stopped"


def test_case_04_a_press_while_servos_are_searched_stops_before_any_torque(
    make: Make, line: ScriptedLine
) -> None:
    arena = make(line=line, button_required=True)
    arena.step()
    assert not arena.core.link.ready
    line.level = True
    arena.step()
    assert arena.core.latch.stopped
    arena.ready()
    assert arena.core.latch.stopped
    assert not arena.core.conductor.torque


def test_case_04_a_press_while_the_arm_parks_and_leaves_stops_it(
    wired: Arena, line: ScriptedLine
) -> None:
    wired.go(AWAY)
    wired.ask("goodbye")
    wired.run(0.3)
    assert wired.core.conductor.job is not None
    assert pressed(wired, line)
    assert not wired.core.conductor.torque


def test_case_04_a_press_with_the_daemon_silent_and_the_disk_stuck_stops(
    wired: Arena, line: ScriptedLine
) -> None:
    wired.go(AWAY)
    wired.move(wired.program(START, 10.0))
    wired.run(0.3)
    wired.leased = False
    wired.core.latch._disk = HeldDisk()
    assert pressed(wired, line)
    assert not wired.core.latch.on_disk


def test_a_press_is_a_stop_of_its_own_while_another_is_being_cleared(
    wired: Arena, line: ScriptedLine
) -> None:
    wired.ask("stop", cause="asked", by="a test")
    held = HeldDisk()
    wired.core.latch._disk = held
    number = wired.ask("clear", by="a person", role="operator")
    line.script = [Reading(False, edges=2)]
    wired.core.look_at_button(wired.clock.monotonic(), woken=True)
    held.let_go()
    wired.run(1.0)
    assert wired.answers[number]["code"] == "cannot_clear"
    assert wired.core.latch.stopped


class HeldDisk(DirectDisk):
    """Keeps what it is given until it is let go."""

    def __init__(self) -> None:
        self.kept: list[tuple[Callable[[], None], Ticket]] = []

    def submit(self, work: Callable[[], None]) -> Ticket:
        self.kept.append((work, Ticket()))
        return self.kept[-1][1]

    def let_go(self) -> None:
        for work, ticket in self.kept:
            work()
            ticket.done = True


@pytest.mark.parametrize(
    ("reading", "word"),
    [
        (Reading(None), "cannot be read"),
        (Reading(True), "release it first"),
        (Reading(False, edges=MOST_EDGES), "flickers"),
    ],
)
def test_case_19_nothing_moves_and_nothing_is_cleared_and_it_is_said_why(
    wired: Arena, line: ScriptedLine, reading: Reading, word: str
) -> None:
    line.level, line.script = reading.level, [reading]
    wired.core.look_at_button(wired.clock.monotonic(), woken=True)
    answer = wired.now("clear", by="a person", role="operator")
    assert answer["code"] == "cannot_clear"
    assert word in answer["sentence"]
    number = wired.move(wired.program(START, 1.0))
    wired.run(0.1)
    assert wired.answers[number]["code"] == "stopped"


def test_released_alone_clears_nothing_and_a_clear_then_does(
    wired: Arena, line: ScriptedLine
) -> None:
    pressed(wired, line)
    line.level = False
    wired.run(1.0)
    assert wired.core.latch.stopped
    assert wired.now("clear", by="a person", role="operator")["code"] == "ok"
    assert not wired.core.conductor.torque, "clearing switches nothing on"


def test_a_press_keeps_the_stop_that_is_there_and_its_cause(
    wired: Arena, line: ScriptedLine
) -> None:
    wired.ask("stop", cause="asked", by="kitchen")
    line.level = True
    wired.run(0.1)
    assert wired.core.latch.stopped
    line.level = False
    wired.run(0.5)
    assert wired.now("clear", by="a person", role="operator")["code"] == "ok"


@pytest.mark.parametrize("mute", [0, 1, 2, 6])
def test_whoever_listens_is_told_of_a_press_before_the_core_counts_as_lost(
    wired: Arena, line: ScriptedLine, mute: int
) -> None:
    """Reading back from mute servos takes 50 ms, right before it 40 may have passed in silence."""
    wired.arm.bus.faults.muted |= set(range(1, mute + 1))
    told_s: list[float] = []
    wired.core.publish = lambda core: told_s.append(core.clock.monotonic())
    line.script, line.level = [Reading(True, edges=1)], True
    pressed_s = wired.clock.monotonic()
    wired.core.look_at_button(pressed_s, woken=True)
    patience_s = wired.settings.heartbeat_s - wired.settings.push_s
    assert len(told_s) == 1
    assert told_s[0] - pressed_s < patience_s


def test_the_latency_counts_from_the_kernels_stamp(wired: Arena, line: ScriptedLine) -> None:
    now_s = wired.clock.monotonic()
    line.script = [Reading(True, edges=1, edge_s=now_s - 0.0005)]
    line.level = True
    wired.core.look_at_button(now_s, woken=True)
    stamped_us = wired.core.lane.latency_us
    wired.ask("stop", cause="asked", by="a test")
    assert 400 <= stamped_us - wired.core.lane.latency_us <= 2000


def waking(arena: Arena, line: ScriptedLine, wait_s: float) -> float:
    """Press so long after a tick, as the woken loop sees it; ms from the edge to the last byte."""
    arena.clock.advance_to(arena.clock.monotonic() + wait_s)
    edge_s, before = arena.clock.monotonic(), len(arena.frames)
    line.level, line.script = True, [Reading(True, edges=1, edge_s=edge_s)]
    arena.core.look_at_button(edge_s, woken=True)
    first = arena.torque_offs(before)[0]
    wire_s = len(ALL_OFF) * 10 / arena.settings.baud
    return (arena.frames[first][0] + wire_s - edge_s) * 1e3


def run_again(arena: Arena, line: ScriptedLine) -> None:
    line.level = False
    arena.run(RELEASE_S + 0.05)
    assert arena.now("clear", by="a person", role="operator")["code"] == "ok"


@pytest.mark.parametrize("moves", [False, True])
def test_from_the_edge_to_the_frame_are_less_than_2_ms_at_every_phase_of_the_cycle(
    wired: Arena, line: ScriptedLine, moves: bool
) -> None:
    plain_ms, wide_ms = [], []
    for phase in range(20):
        if moves:
            wired.move(wired.program(START, 10.0) if phase % 2 else wired.program(AWAY, 10.0))
            wired.run(0.3)
            assert wired.core.conductor.moving
        free_s = wired.core.cycles.due_s - wired.clock.monotonic()
        wide = wired.core.cycles.ticks % (WIDE_TICKS if moves else REST_WIDE_TICKS) == 0
        (wide_ms if wide else plain_ms).append(waking(wired, line, free_s * phase / 20))
        assert wired.core.latch.stopped
        run_again(wired, line)
    most_ms = 2.0 if moves else 1.1  # at rest the answers are the positions alone
    assert max(plain_ms) < most_ms, plain_ms
    assert max(wide_ms, default=0.0) < 2.6, "every tenth or thirtieth answer is a longer one"
    assert min(plain_ms) < 0.2, "where no answer is on its way nothing is waited for"


def test_the_line_is_told_in_the_details(wired: Arena) -> None:
    told = slow_state(wired.core)["button_line"]
    assert (told["where"], told["proven_at"]) == ("a scripted line", "")
