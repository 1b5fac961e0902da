"""A model's answer, already of the schema, becomes a plan: names to places, integers to metres.

The author chooses names only; the code below does the geometry. A call that makes no sense after
the one before it is a fault, told back to the author. What stands in the way on the table
(reach, room, area) is a question to a person, as it is for the rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armlabd.gate.tools import ToolTable
from armlabd.plan import words as w
from armlabd.plan.context import PlanContext
from armlabd.plan.desk import AskError, Desk, Item
from armlabd.plan.listed import Listed, Place
from armlabd.plan.phrases import Thing, Where
from armlabd.plan.places import ON_PLACE_M, spot_for, spot_named, spot_near
from armlabd.plan.plan import Plan, Step
from armlabd.plan.question import Question
from armlabd.plan.rules import grip_of
from armlabd.plan.schema import CLOSE, MUST_HOLD, SKILLS, whole
from armlabd.plan.skills import HELD, OPEN_PERCENT, Spot
from armlabd.plan.spots import IN_BIN_M, is_bin
from armlabd.plan.text import MAX_CHARS
from armlabd.plan.things import choose

Faults = tuple[str, ...]
NAMED = frozenset(skill for skill, takes in SKILLS.items() if "object" in takes)


class SenseError(Exception):
    """A call that makes no sense here; the text is told to its author. Never leaves plan/."""


@dataclass(frozen=True, slots=True)
class _Writer:
    """A desk, and what the names on it stand for."""

    desk: Desk
    listed: Listed
    items: tuple[Item, ...]  # as in the scene, by index


def plan_of_skills(
    calls: Sequence[Mapping[str, Any]],
    listed: Listed,
    context: PlanContext,
    planner: str,
    goal: str,
) -> Plan | Question | Faults:
    """The plan of calls such as `{"skill": "pick_up", "object": "red block (left)"}`.

    `calls` obey the schema made of the same `listed`. Raises nothing.
    """
    desk = Desk.of(context)
    writer = _Writer(desk, listed, tuple(desk.items))
    for number, call in enumerate(calls, 1):
        try:
            _carry_out(call, writer)
        except SenseError as error:
            return (f"step {number}: {error}",)
        except AskError as ask:
            return ask.question
    return Plan(desk.finished(), planner, goal[:MAX_CHARS])


def plan_of_tools(
    calls: Sequence[Mapping[str, Any]], table: ToolTable, planner: str, goal: str
) -> Plan:
    """The plan of calls such as `{"tool": "move_to_pose", "x_mm": 200, ...}`; checked later."""
    return Plan(tuple(_step(call, table) for call in calls), planner, goal[:MAX_CHARS])


def _step(call: Mapping[str, Any], table: ToolTable) -> Step:
    tool = table[call["tool"]]
    args: dict[str, float] = {}
    for parameter in tool.parameters:
        name, factor = whole(parameter)
        if name in call:
            args[parameter.name] = call[name] / factor
    holds = tool.name == CLOSE and call[MUST_HOLD]
    return Step(tool.name, args, "", HELD if holds else None)


def _carry_out(call: Mapping[str, Any], writer: _Writer) -> None:
    skill, desk = call["skill"], writer.desk
    if skill in NAMED:
        _handle(call, writer)
    elif skill == "put_down":
        if not desk.holding:
            raise SenseError("the hand holds nothing that could be put down")
        desk.put(_spot(call["place"], None, writer))
    elif skill == "open":
        if desk.holding:
            raise SenseError("the hand would drop what it holds; use put_down")
        desk.open(OPEN_PERCENT)
    else:
        {"go_home": desk.home, "close": desk.close, "look": desk.look}[skill]()


def _handle(call: Mapping[str, Any], writer: _Writer) -> None:
    """The skills that take an object: bring it somewhere, or only pick it up."""
    desk, name = writer.desk, call["object"]
    item = _item(name, writer)
    if call["skill"] == "pick_and_place":
        _not_there_yet(name, item, call["place"], writer)
    if desk.held is not item:
        if desk.holding:
            raise SenseError("the hand holds something already; put that down first")
        desk.pick(item, grip_of(item, desk, _thing(name)))
    elif call["skill"] == "pick_up":
        raise SenseError(f"the hand holds the {name} already")
    if call["skill"] == "pick_and_place":
        desk.put(_spot(call["place"], item, writer))
    elif call["skill"] == "set_aside":
        desk.put(spot_for(Where(free=True), desk, f"the {name}"))


def _item(name: str, writer: _Writer) -> Item:
    """The very object of a name; or what a person chose when that one could not be had."""
    kept = writer.desk.context.answers.get(f"object:{_thing(name).text}", "again")
    if kept.lower() in w.AGAIN:
        return writer.items[writer.listed.objects[name]]
    return choose(_thing(name), writer.desk)[0]


def _thing(name: str) -> Thing:
    return Thing(tuple(name.split()))


def _not_there_yet(name: str, item: Item, place: str, writer: _Writer) -> None:
    """Refuse to bring a thing to where it lies; it would be done without being done."""
    where = writer.listed.places[place]
    if where.beside is not None and writer.items[where.beside] is item:
        raise SenseError(f"the {name} cannot be put beside itself")
    if where.named is None or item is writer.desk.held:
        return
    radius = IN_BIN_M if is_bin(where.named) else ON_PLACE_M
    if math.dist(item.at, writer.desk.context.places[where.named]) < radius:
        raise SenseError(f"the {name} lies at the {place} already")


def _spot(name: str, item: Item | None, writer: _Writer) -> Spot:
    place, desk = writer.listed.places[name], writer.desk
    what = "what I hold" if item is None else f"the {item.label}"
    if place.named is not None:
        return spot_named(place.named, desk, what)
    if place.beside is not None:
        return _spot_beside(name, place, writer, what)
    where = Where(free=True) if place.point is None else Where(point=place.point)
    return spot_for(where, desk, what)


def _spot_beside(name: str, place: Place, writer: _Writer, what: str) -> Spot:
    assert place.beside is not None  # the caller looked
    anchor = writer.items[place.beside]
    if anchor is writer.desk.held:
        raise SenseError(f"{name}: the hand holds that one")
    return spot_near(name, anchor, writer.desk, what)
