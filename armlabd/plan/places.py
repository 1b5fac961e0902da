"""Which place is meant: a point, a named place, beside something, a free spot; else a question."""

from __future__ import annotations

from collections.abc import Sequence

from armlabd.plan.context import PlanContext
from armlabd.plan.desk import AskError, Desk, Item
from armlabd.plan.names import fits, match_place
from armlabd.plan.phrases import NotUnderstoodError, Where, parse_where
from armlabd.plan.question import Question, answered
from armlabd.plan.skills import Spot
from armlabd.plan.spots import (
    APART_M,
    IN_BIN_M,
    TABLE_RELEASE_M,
    bin_wall,
    free_spot,
    is_bin,
    room,
    spot_at,
    spot_beside,
    spot_in_bin,
)
from armlabd.plan.text import Coordinates
from armlabd.table import Point
from armlabd.verdict import Code

FREE_SPOT = "a free spot"
Disc = tuple[Point, float]  # a middle and a radius, m
ON_PLACE_M = 0.02  # nearer than this to a plain place, a block lies on it
RELEASE_Z_M = (0.02, 0.06)  # a height of release that a person may name


def target_of(where: Where | None, context: PlanContext) -> Disc | None:
    """The named place as a middle and a radius: what lies in it need not be brought there."""
    name = None if where is None or where.beside else match_place(where.name, context.places)
    if name is None:
        return None
    return context.places[name], IN_BIN_M if is_bin(name) else ON_PLACE_M


def spot_for(where: Where | None, desk: Desk, what: str) -> Spot:
    """The spot to put something down at. Raises AskError."""
    if where is None:
        return _other(_where_to(what, desk), desk, what)
    kept = _answer_to(where, desk)
    return _spot(kept or where, where, desk, what)


def spot_named(name: str, desk: Desk, what: str) -> Spot:
    """The spot at the place of exactly this name, or where a person wanted it instead."""
    asked = Where(tuple(name.split()))
    kept = _answer_to(asked, desk)
    return _spot(kept, asked, desk, what) if kept else _at_place(name, asked, desk, what)


def spot_near(name: str, anchor: Item, desk: Desk, what: str) -> Spot:
    """The spot beside this very object, or where a person wanted it instead."""
    asked = Where(tuple(name.split()))
    kept = _answer_to(asked, desk)
    if kept:
        return _spot(kept, asked, desk, what)
    others = [item.at for item in desk.items if item is not desk.held]
    return _found(spot_beside(anchor.at, others, desk.context, name), asked, desk, what)


def point_of(where: Where, desk: Desk, items: Sequence[Item]) -> tuple[str, Coordinates]:
    """The point over which the hand is wanted: coordinates, a place or one of `items`."""
    if where.point is not None:
        _inside(where, where.point, desk)
        return where.text, where.point
    name = match_place(where.name, desk.context.places)
    if name is not None:
        return f"the {name}", Coordinates(*desk.context.places[name])
    if len(items) == 1:
        return f"the {items[0].label}", Coordinates(*items[0].at)
    raise AskError(_unknown(where, desk))


def _answer_to(where: Where, desk: Desk) -> Where | None:
    """The place that a person chose when this one could not be, if one was asked."""
    answer = desk.context.answers.get(f"place:{where.text}")
    if answer is None:
        return None
    try:
        return parse_where(answer)
    except NotUnderstoodError:
        return None


def _spot(where: Where, asked: Where, desk: Desk, what: str) -> Spot:
    if where.point is not None:
        return _at_point(where, where.point, asked, desk)
    if where.free:
        # Aside is not where it lay.
        taken = (*desk.blocks, *((desk.came_from,) if desk.came_from else ()))
        return _found(free_spot(taken, desk.context, FREE_SPOT), asked, desk, what)
    name = match_place(where.name, desk.context.places)
    if where.beside:
        return _beside(where, name, asked, desk, what)
    if name is None:
        raise AskError(_unknown(where, desk, asked))
    return _at_place(name, asked, desk, what)


def _at_point(where: Where, point: Coordinates, asked: Where, desk: Desk) -> Spot:
    _inside(where, point, desk, asked)
    at = (point.x, point.y)
    if point.z is not None and not RELEASE_Z_M[0] <= point.z <= RELEASE_Z_M[1]:
        low, high = RELEASE_Z_M
        text = f"I let things go between z {low:g} and {high:g} m, not at {point.z:g}."
        raise AskError(_elsewhere(asked, desk, text, Code.OUT_OF_RANGE))
    if room(at, desk.blocks) < APART_M:
        raise AskError(_occupied(where, asked, desk))
    walls = bin_wall(at, desk.context.places)
    if walls is not None:
        text = f"At {where.text} stand the walls of the {walls}."
        raise AskError(_elsewhere(asked, desk, text, Code.UNKNOWN_PLACE))
    z = TABLE_RELEASE_M if point.z is None else point.z
    spot = spot_at(where.text, at, desk.blocks, desk.context, z)
    return _found(spot, asked, desk, where.text)


def _at_place(name: str, asked: Where, desk: Desk, what: str) -> Spot:
    at = desk.context.places[name]
    where = Where(tuple(name.lower().split()), Coordinates(*at))
    _inside(where, Coordinates(*at), desk, asked)
    if is_bin(name):
        spot = spot_in_bin(f"the {name}", at, desk.blocks, desk.context)
    elif room(at, desk.blocks) < APART_M:
        raise AskError(_occupied(where, asked, desk))
    else:
        spot = spot_at(f"the {name}", at, desk.blocks, desk.context)
    return _found(spot, asked, desk, what)


def _beside(where: Where, name: str | None, asked: Where, desk: Desk, what: str) -> Spot:
    anchors = [item.at for item in desk.items if item is not desk.held]
    named = [i.at for i in desk.items if i is not desk.held and fits(where.name, i.label)]
    if name is not None:
        named = [desk.context.places[name]]
    if len(named) != 1:
        raise AskError(_unknown(where, desk, asked))
    spot = spot_beside(named[0], anchors, desk.context, f"beside the {where.text}")
    return _found(spot, asked, desk, what)


def _inside(where: Where, point: Coordinates, desk: Desk, asked: Where | None = None) -> None:
    area = desk.context.area
    if not area.contains(point.x, point.y):
        text = (
            f"x {point.x:g}, y {point.y:g} is outside my area: x {area.x_min:g} to {area.x_max:g}, "
            f"y {area.y_min:g} to {area.y_max:g} m."
        )
        raise AskError(_elsewhere(asked or where, desk, text, Code.OUT_OF_RANGE))


def _found(spot: Spot | None, asked: Where, desk: Desk, what: str) -> Spot:
    if spot is None:
        text = f"I cannot reach {asked.text} with the hand pointing down."
        raise AskError(_elsewhere(asked, desk, text, Code.UNREACHABLE))
    return spot


def _where_to(what: str, desk: Desk) -> Question:
    text = f"Where shall I put {what}?"
    return Question(text, _options(desk), Code.UNKNOWN_PLACE, f"place:for {what}")


def _other(question: Question, desk: Desk, what: str) -> Spot:
    """The spot of an answer to "where to", or that question."""
    answer = answered(desk.context.answers, question)
    if answer is None:
        raise AskError(question)
    try:
        where = parse_where(answer)
    except NotUnderstoodError:
        raise AskError(question) from None
    return spot_for(where, desk, what)


def _unknown(where: Where, desk: Desk, asked: Where | None = None) -> Question:
    if where.name and any(fits(where.name, item.label) for item in desk.items):
        text = f"I do not stack, so {where.text!r} is no place to put things."
        return _elsewhere(asked or where, desk, text, Code.UNKNOWN_PLACE)
    names = ", ".join(desk.context.places) or "none"
    text = f"I know no place {where.text!r}. The places are: {names}."
    return _elsewhere(asked or where, desk, text, Code.UNKNOWN_PLACE)


def _occupied(where: Where, asked: Where, desk: Desk) -> Question:
    text = f"Something lies at {where.text} already, and I do not stack."
    return _elsewhere(asked, desk, text, Code.UNKNOWN_PLACE)


def _elsewhere(asked: Where, desk: Desk, text: str, code: Code) -> Question:
    text = f"{text} Where shall I go instead? Name a place or a point like x 0.20 y 0.10."
    return Question(text, _options(desk), code, f"place:{asked.text}")


def _options(desk: Desk) -> tuple[str, ...]:
    return (*desk.context.places, FREE_SPOT)
