"""The goal suite: sentences over generated tables, each with its right ending, judged by the world.

Every goal is played from the sentence at the door to the blocks on the virtual table, in a house of
its own and in virtual time. Whoever plans, nothing may move unsafely and nothing may hang.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Final

from armlabd.bench import bars
from armlabd.bench.figures import Bar, Figure
from armlabd.bench.goals import End, Goal, load
from armlabd.bench.play import Played, play
from armlabd.bench.report import Machine, Report, Section
from armlabd.bench.subjects import Subject, planners

OWN_GOALS: Final = Path(__file__).parent / "goals"
PARTS: Final = ("tuned", "held_out")
PATIENCE: Final = {"random": 2, "liar": 2}  # questions that chance answers, so that more is tried
MOST_JOBS: Final = 4
SHARE: Final = 6  # goals that a process takes at a time
ENOUGH: Final = 50  # goals before a bar in percent means something
SHOWN: Final = 220  # characters of a fault in the report


@dataclass(frozen=True, slots=True)
class Suite:
    """What to play: with whom, which goals (None: our own), how many (0: all), in `jobs` processes
    (0: as many as there are processors, one for a model).
    """

    subject: Subject = field(default_factory=Subject)
    goals: Path | None = None
    limit: int = 0
    jobs: int = 0

    @property
    def processes(self) -> int:
        """How many play at the same time."""
        if self.subject.is_model:
            return 1
        return self.jobs or min(MOST_JOBS, len(os.sched_getaffinity(0)))


def own_goals() -> tuple[Goal, ...]:
    """The suite's own goals, tuned and held out."""
    return tuple(goal for part in PARTS for goal in load(OWN_GOALS / f"{part}.jsonl"))


def chosen(suite: Suite) -> tuple[Goal, ...]:
    """The goals of a suite; a limit takes every n-th, so of every kind. Raises GoalsError."""
    goals = own_goals() if suite.goals is None else load(suite.goals)
    if not 0 < suite.limit < len(goals):
        return goals
    return tuple(goals[k * len(goals) // suite.limit] for k in range(suite.limit))


def measure(suite: Suite) -> Report:
    """Play the suite and report. Raises GoalsError for a file that cannot be used."""
    machine, began_s = Machine.now(), time.monotonic()
    goals = chosen(suite)
    played = run(suite, goals)
    return report(suite, goals, played, machine, time.monotonic() - began_s)


def run(suite: Suite, goals: Sequence[Goal]) -> list[Played]:
    """Every goal played, in the order of the goals."""
    if suite.processes == 1 or len(goals) <= SHARE:
        return _share(suite.subject, goals)
    shares = [goals[k : k + SHARE] for k in range(0, len(goals), SHARE)]
    spawn = multiprocessing.get_context("spawn")  # threads of ours do not survive a fork
    with ProcessPoolExecutor(suite.processes, spawn, _leave_with_parent) as pool:
        parts = pool.map(_share, [suite.subject] * len(shares), shares)
        return [played for part in parts for played in part]


def _leave_with_parent() -> None:
    """A process of the pool ends when the one that began it is gone, however it went."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch(sentinel: int) -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def _share(subject: Subject, goals: Sequence[Goal]) -> list[Played]:
    said = logging.getLogger("armlabd")
    before = said.level
    said.setLevel(logging.ERROR)  # a stop is no news here
    try:
        return asyncio.run(play_all(subject, goals))
    finally:
        said.setLevel(before)


async def play_all(subject: Subject, goals: Sequence[Goal]) -> list[Played]:
    """Goals one after the other in this process."""
    patience = PATIENCE.get(subject.backend, 0)
    async with planners(subject) as planner_of:
        return [await play(goal, planner_of(goal), patience) for goal in goals]


# --- the report ----------------------------------------------------------------------------------


def report(
    suite: Suite,
    goals: Sequence[Goal],
    played: Sequence[Played],
    machine: Machine,
    took_s: float,
) -> Report:
    """Scores, costs and every wrong ending."""
    pairs = list(zip(goals, played, strict=True))
    parts = list(dict.fromkeys(goal.part for goal in goals))
    rules = suite.subject.backend == "rules"  # a model may plan badly, but never harm
    sections = [Section("Safety", _safety(played)), Section("Endings", _scores(pairs, rules))]
    for part in parts:
        mine = [pair for pair in pairs if pair[0].part == part]
        if len(parts) > 1:
            sections.append(Section(f"Endings, {part.replace('_', ' ')}", _scores(mine, False)))
        sections.append(Section(f"Right endings by kind, {part.replace('_', ' ')}", _kinds(mine)))
    sections.append(Section("Cost", _costs(played)))
    return Report(
        f"planner ({suite.subject.backend}, {len(goals)} goals, {took_s:.0f} s)",
        machine,
        tuple(sections),
        failures=tuple(_unsafe(pairs)),
        notes=tuple(_wrong(pairs)),
    )


Pair = tuple[Goal, Played]


def _safety(played: Sequence[Played]) -> tuple[Figure, ...]:
    judged = sum(one.goals_judged for one in played)
    counts = (
        ("unsafe motions", sum(len(one.unsafe) for one in played), bars.SUITE_UNSAFE),
        ("hangs", sum(one.hung for one in played), bars.SUITE_HANGS),
        ("runs without a named result", sum(not one.named for one in played), bars.SUITE_UNNAMED),
        ("faults of armlabd itself", sum(one.internal for one in played), bars.SUITE_INTERNAL),
    )
    notes = (f"{judged} set-points on the wire judged", "", "", "")
    return tuple(
        Figure.of(name, "", [count], bar, note=note)
        for (name, count, bar), note in zip(counts, notes, strict=True)
    )


def _scores(pairs: Sequence[Pair], barred: bool) -> tuple[Figure, ...]:
    """Shares of wrong endings."""
    plain = [pair for pair in pairs if not pair[0].knowledge]
    rows = (
        ("wrong, of all that needs no world knowledge", plain, bars.RULES_WRONG_PERCENT),
        ("wrong, where something is to be done", _ending(plain, End.DONE), None),
        ("wrong, where a question is right", _ending(plain, End.ASKED), bars.RULES_WRONG_PERCENT),
        ("wrong, where it is to be declined", _ending(plain, End.DECLINED), None),
        ("wrong, where it is to stop", _ending(plain, End.STOPPED), None),
        ("wrong, of what needs world knowledge", [p for p in pairs if p[0].knowledge], None),
    )
    figures = [_percent(name, mine, bar if barred else None) for name, mine, bar in rows if mine]
    harm = sum(one.harm for _, one in pairs)
    figures.append(Figure.of("something moved though nothing was to be moved", "", [harm]))
    return tuple(figures)


def _ending(pairs: Sequence[Pair], end: End) -> list[Pair]:
    """The goals of one right ending. A question to be answered counts with the questions."""
    return [
        pair
        for pair in pairs
        if (End.ASKED if pair[0].answer is not None else pair[0].ends[0]) is end
    ]


def _percent(name: str, pairs: Sequence[Pair], bar: Bar | None) -> Figure:
    wrong = sum(not one.right for _, one in pairs)
    judged = bar if len(pairs) >= ENOUGH or (bar is not None and "question" in name) else None
    return Figure.of(name, "%", [100 * wrong / len(pairs)], judged, note=f"{wrong} of {len(pairs)}")


def _kinds(pairs: Sequence[Pair]) -> tuple[Figure, ...]:
    figures = []
    for kind in dict.fromkeys(goal.kind for goal, _ in pairs):
        mine = [one.right for goal, one in pairs if goal.kind == kind]
        note = f"{sum(mine)} of {len(mine)}"
        figures.append(Figure.of(kind, "%", [100 * sum(mine) / len(mine)], note=note))
    return tuple(figures)


def _costs(played: Sequence[Played]) -> tuple[Figure, ...]:
    figures = [
        Figure.of("wall time of a goal", "s", [one.wall_s for one in played]),
        Figure.of("virtual time of a goal", "s", [one.virtual_s for one in played]),
        Figure.of("planning in a goal", "s", [one.plan_s for one in played]),
    ]
    sums = (
        ("plans", sum(one.plans for one in played)),
        ("answers of a model that were no plan or question", sum(one.invalid for one in played)),
        ("plans that the checker refused", sum(one.refused for one in played)),
        ("plans by the rules in a model's place", sum(one.fell_back for one in played)),
        ("questions", sum(one.questions for one in played)),
        ("prompt tokens", sum(one.prompt_tokens for one in played)),
        ("output tokens", sum(one.output_tokens for one in played)),
    )
    return (*figures, *(Figure.of(name, "", [count]) for name, count in sums))


def _unsafe(pairs: Sequence[Pair]) -> list[str]:
    return [
        f"{goal.id} {goal.say!r:.80}: {fault}"
        for goal, one in pairs
        for fault in (*one.unsafe, *(["it hangs"] if one.hung else []))
    ]


def _wrong(pairs: Sequence[Pair]) -> list[str]:
    """Every wrong ending, in one line each."""
    return [
        f"{goal.id} {goal.say!r}{' (world knowledge)' if goal.knowledge else ''}: "
        f"{'; '.join(one.faults):.{SHOWN}}"
        for goal, one in pairs
        if one.faults
    ]
