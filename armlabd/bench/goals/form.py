"""Reading goals: every line checked, every fault told with its line and field."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from armlabd.bench.goals.scenes import ORDERS, Laid, Scene, labels, scene_of
from armlabd.verdict import Code

MAX_LINE: Final = 4000  # characters
MAX_GOALS: Final = 5000
MAX_SAY: Final = 2000
GOAL_KEYS: Final = frozenset(
    ("kind", "scene", "say", "end", "where", "any", "arm", "says", "codes", "answer", "knowledge")
)
PLACES: Final = ("bin", "held", "table", "elsewhere")
ARMS: Final = ("home", "open", "shut")
Point = tuple[float, float]
Wanted = str | Point  # a word of PLACES, "beside NAME", or a point in m


class End(StrEnum):
    """How a goal should end."""

    DONE = "done"
    ASKED = "asked"
    DECLINED = "declined"
    STOPPED = "stopped"


class GoalsError(Exception):
    """A file that cannot be used: every fault as "line N, field: what is wrong"."""

    def __init__(self, name: str, faults: tuple[str, ...]) -> None:
        super().__init__("; ".join(faults))
        self.name, self.faults = name, faults


@dataclass(frozen=True, slots=True)
class Pick:
    """So many of these blocks must be there, the others where they were."""

    count: int
    of: tuple[str, ...]
    where: Wanted


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal: the scene, the sentence, and its right ending."""

    id: str
    part: str
    kind: str
    say: str
    blocks: tuple[Laid, ...]
    ends: tuple[End, ...]
    where: Mapping[str, Wanted] = field(default_factory=dict)
    any: Pick | None = None
    arm: Wanted | None = None
    says: tuple[str, ...] = ()
    codes: tuple[Code, ...] = ()
    answer: str | None = None
    knowledge: bool = False

    @property
    def seed(self) -> int:
        """Its own, for whoever rolls dice for it."""
        return zlib.crc32(f"{self.id} {self.say}".encode("utf-8", "replace"))


def load(path: Path) -> tuple[Goal, ...]:
    """The goals of a file, its name as their part. Raises GoalsError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise GoalsError(str(path), (f"it cannot be read: {why}",)) from None
    return parse(text, path.stem)


def parse(text: str, part: str) -> tuple[Goal, ...]:
    """The goals of a text. Raises GoalsError with every fault."""
    scenes: dict[str, Scene] = {}
    goals: list[Goal] = []
    faults: list[str] = []
    counts = Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            _take(_decoded(line), part, scenes, goals, counts)
        except ValueError as error:
            faults.append(f"line {number}, {error}")
    if not goals and not faults:
        faults.append("there is no goal in it")
    if faults:
        raise GoalsError(part, tuple(faults))
    return tuple(goals)


def _decoded(line: str) -> dict[str, Any]:
    if len(line) > MAX_LINE:
        raise ValueError(f"the line: longer than {MAX_LINE} characters")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the line: no JSON ({error})") from None
    if not isinstance(row, dict):
        raise ValueError("the line: a scene or a goal is a JSON object")
    return row


def _take(
    row: dict[str, Any],
    part: str,
    scenes: dict[str, Scene],
    goals: list[Goal],
    counts: Counter[str],
) -> None:
    if "say" not in row:
        _known(row, {"scene", "blocks", "draw", *ORDERS})
        name = _text(row, "scene", 60)
        if name in scenes:
            raise ValueError(f"scene: {name!r} is there already")
        scenes[name] = scene_of(row)
        return
    if len(goals) >= MAX_GOALS:
        raise ValueError(f"say: more than {MAX_GOALS} goals")
    kind = _text(row, "kind", 40)
    counts[kind] += 1
    goals.append(_goal(row, f"{part}/{kind.replace(' ', '-')}-{counts[kind]}", part, scenes))


def _goal(row: dict[str, Any], id: str, part: str, scenes: Mapping[str, Scene]) -> Goal:
    _known(row, GOAL_KEYS)
    scene = _text(row, "scene", 60)
    if scene not in scenes:
        raise ValueError(f"scene: {scene!r} is not named above it")
    say = _text(row, "say", MAX_SAY)
    blocks = scenes[scene].blocks(zlib.crc32(f"{id} {say}".encode("utf-8", "replace")))
    there = frozenset(block.label for block in blocks)
    return Goal(
        id=id,
        part=part,
        kind=row["kind"],
        say=say,
        blocks=blocks,
        ends=_ends(row.get("end")),
        where=_where(row.get("where", {}), there),
        any=_any(row.get("any"), there),
        arm=None if "arm" not in row else _spot(row["arm"], "arm", ARMS, frozenset()),
        says=_texts(row, "says"),
        codes=_codes(_texts(row, "codes")),
        answer=_text(row, "answer", 200) if "answer" in row else None,
        knowledge=_flag(row, "knowledge"),
    )


def _known(row: Mapping[str, Any], keys: frozenset[str] | set[str]) -> None:
    for key in row:
        if key not in keys:
            raise ValueError(f"{key[:40]}: no such field; there are {', '.join(sorted(keys))}")


def _text(row: Mapping[str, Any], name: str, most: int) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise ValueError(f"{name}: a text of 1 to {most} characters")
    return value


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name}: a list of texts")
    return tuple(value)


def _flag(row: Mapping[str, Any], name: str) -> bool:
    value = row.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name}: true or false")
    return value


def _ends(value: Any) -> tuple[End, ...]:
    given = value if isinstance(value, list) else [value]
    words = [str(end) for end in End]
    if not given or not all(isinstance(one, str) and one in words for one in given):
        raise ValueError(f"end: one or a list of {', '.join(words)}")
    return tuple(End(one) for one in given)


def _codes(names: tuple[str, ...]) -> tuple[Code, ...]:
    for name in names:
        if name not in list(Code):
            raise ValueError(f"codes: there is no cause {name!r:.40}")
    return tuple(Code(name) for name in names)


def _where(value: Any, there: frozenset[str]) -> dict[str, Wanted]:
    if not isinstance(value, dict):
        raise ValueError("where: an object of label and place")
    _in_scene(value, "where", there)
    return {label: _spot(spot, "where", PLACES, there) for label, spot in value.items()}


def _any(value: Any, there: frozenset[str]) -> Pick | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"count", "of", "where"}:
        raise ValueError('any: an object of "count", "of" and "where"')
    of, count = labels(value["of"], "any"), value["count"]
    _in_scene(of, "any", there)
    if not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= len(of):
        raise ValueError(f"any: count is 1 to {len(of)}")
    return Pick(count, of, _spot(value["where"], "any", PLACES, there))


def _in_scene(names: Any, name: str, there: frozenset[str]) -> None:
    strange = sorted(set(names) - there)
    if strange:
        raise ValueError(f"{name}: {strange} are not in the scene")


def _spot(value: Any, name: str, words: tuple[str, ...], there: frozenset[str]) -> Wanted:
    if isinstance(value, str):
        beside = value.removeprefix("beside ")
        if value in words or (there and beside != value and beside in there | {"bin"}):
            return value
    elif isinstance(value, list) and len(value) == 2 and all(_is_number(v) for v in value):
        return (float(value[0]), float(value[1]))
    more = ", beside LABEL, beside bin" if there else ""
    raise ValueError(f"{name}: {value!r:.40} is none of {', '.join(words)}{more} or [x, y]")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1
