"""A servo that was silent for long is asked again soon after it speaks, however long it was."""

from __future__ import annotations

from typing import Any

import pytest

from armlabd.bus.late import LateAnswers
from armlabd.bus.master import Master
from armlabd.bus.registers import TABLE_BYTES
from armlabd.bus.wire import Timing
from armlabd.clock import VirtualClock

IDS = (1, 2, 3)
FAST = Timing(patient_slack_s=0.008, drain_s=0.008, probe_s=0.005)  # as the motion core has it


@pytest.mark.parametrize("silent_s", [0.3, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("timing", [Timing(), FAST])
def test_a_servo_is_read_again_within_half_a_second_of_its_return(
    bus: Any, clock: VirtualClock, timing: Timing, silent_s: float
) -> None:
    master = Master(bus, clock, timing=timing)
    bus._reads = -10_000_000
    bus.fault = lambda id, answer: [] if id == 2 else [(0.0, answer)]
    until_s = clock.monotonic() + silent_s
    while clock.monotonic() < until_s:
        clock.sleep(0.005)
        assert set(master.sync_read(IDS, 56, 2, retries=0)) == {1, 3}
    bus.fault = lambda id, answer: [(0.0, answer)]
    until_s = clock.monotonic() + 0.5
    while 2 not in master.sync_read(IDS, 56, 2, retries=0):
        clock.sleep(0.005)
        assert clock.monotonic() < until_s, "it never comes back"


@pytest.mark.parametrize("probe_s", [0.001, 0.005, 0.1])
def test_a_silent_servo_never_uses_up_all_lengths(probe_s: float) -> None:
    late, now_s = LateAnswers(0.5, probe_s), 0.0
    for _ in range(8):
        late.missed(1, 15, now_s)
    probes = 0
    while now_s < 60.0:
        now_s += 0.001
        if late.probe_due(1, now_s):
            probes += 1
            count = late.safe_bytes((1,), 1)
            assert count < TABLE_BYTES
            late.missed(1, count, now_s)
    assert probes > 500
