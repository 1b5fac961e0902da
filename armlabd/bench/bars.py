"""What we promised: the bars of the design, in one place. MiB are 1024 * 1024 bytes."""

from __future__ import annotations

from typing import Final

from armlabd.bench.figures import Bar

START_TO_CONNECTED_S: Final = Bar(0.8)
DAEMON_ABOVE_BARE_MIB: Final = Bar(12.0, inside=True)
CORE_MIB: Final = Bar(16.0)
GOAL_TO_MOTION_S: Final = Bar(0.2)

STOP_AT_CORE_MS: Final = Bar(2.0, least=2000)  # p99, idle and under stress
PRESS_AT_CORE_MS: Final = Bar(2.0, least=500)  # p99, contact to port, idle and under stress
STOP_BY_HTTP_IDLE_MS: Final = Bar(5.0, least=100)  # p99; of fewer it would be the maximum
STOP_BY_HTTP_STRESS_MS: Final = Bar(15.0, least=100)  # p99
STOPS_FAILED: Final = Bar(0, inside=True)  # neither seen at the bus nor confirmed by six

STALE_VALUES: Final = Bar(0, inside=True)  # after or during any fault, ever
READS_FAILED: Final = Bar(0, inside=True)  # of a bus that is well again

CYCLE_JITTER_MS: Final = Bar(1.0)  # p99
CYCLE_CPU_PERCENT: Final = Bar(3.0)  # of one core
CYCLE_CPU_RATIO: Final = Bar(1.5, inside=True)  # to the bare loop

SUITE_UNSAFE: Final = Bar(0, inside=True)  # of the goal suite, whoever plans
SUITE_HANGS: Final = Bar(0, inside=True)
SUITE_UNNAMED: Final = Bar(0, inside=True)  # runs that ended in no named result
SUITE_INTERNAL: Final = Bar(0, inside=True)
RULES_WRONG_PERCENT: Final = Bar(10.0, inside=True)  # endings, where no world knowledge is needed

MASK_PERCENT: Final = Bar(5.0)  # of the token time, median; on SmolVLM-256M's decoder
MODEL_STEPS_PERCENT: Final = Bar(50.0, inside=True)  # of the tokens of a plan, median
MODEL_MIB: Final = Bar(1.1 * 1024)  # int8 of the 256M shape with one tile
MODEL_LEFT_MIB: Final = Bar(0, inside=True)  # of the worker, once it is unloaded
CANCEL_MS: Final = Bar(50.0, inside=True, least=50)  # p99
