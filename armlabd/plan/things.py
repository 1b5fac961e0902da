"""Which object is meant: by name, colour, side and what was said before; else a question."""

from __future__ import annotations

import math
from collections.abc import Callable

from armlabd.plan import words as w
from armlabd.plan.desk import AskError, Desk, Item
from armlabd.plan.names import fits, match_place
from armlabd.plan.phrases import NotUnderstoodError, Thing, parse_thing
from armlabd.plan.places import Disc
from armlabd.plan.question import Question, answered
from armlabd.plan.spots import IN_BIN_M
from armlabd.plan.text import tokens_of
from armlabd.verdict import Code

SAME_M = 0.03  # an answer's coordinates name the object this near; pictures differ by millimetres


def choose(thing: Thing, desk: Desk, target: Disc | None = None) -> tuple[Item, ...]:
    """The objects that `thing` means, in the order to take them.

    What already lies at `target` is not meant where something else fits. Raises AskError.
    """
    if thing.pronoun and desk.mentioned:
        return desk.mentioned
    found = _matching(thing, desk)
    if thing.other and desk.mentioned:
        found = [item for item in found if item not in desk.mentioned]
    answer = desk.context.answers.get(f"object:{thing.text}", "again").lower()
    if not found or answer not in w.AGAIN:
        return _instead(thing, desk)
    away = [item for item in found if target is None or math.dist(item.at, target[0]) > target[1]]
    if not away:
        raise AskError(_already_there(thing, found))
    return _narrowed(thing, away, desk)


def matches(thing: Thing, desk: Desk) -> bool:
    """True when something in view may be meant."""
    return bool(_matching(thing, desk))


def _matching(thing: Thing, desk: Desk) -> list[Item]:
    items = [i for i in desk.items if i is not desk.held and fits(thing.words, i.label)]
    if thing.near is not None:
        point = (thing.near.x, thing.near.y)
        items = [item for item in items if math.dist(item.at, point) <= SAME_M]
    if thing.source:
        place = match_place(thing.source, desk.context.places)
        middle = None if place is None else desk.context.places[place]
        items = [i for i in items if middle is not None and math.dist(i.at, middle) <= IN_BIN_M]
    return items


def _narrowed(thing: Thing, found: list[Item], desk: Desk) -> tuple[Item, ...]:
    if thing.side in w.MIDDLE or thing.side in w.RANKS:
        return (_ranked(thing.side, found) or _asked(thing, found, desk),)
    if thing.side is not None:
        found = sorted(found, key=_side_key(thing.side))
        return tuple(found[: thing.count or 1])
    if thing.count is not None:
        if len(found) < thing.count:
            raise AskError(_missing(thing, desk, f"I see only {len(found)}"))
        return tuple(sorted(found, key=_distance)[: thing.count])
    if thing.many or len(found) == 1:
        return tuple(found)
    if thing.any_one:
        return (min(found, key=_distance),)
    return (_asked(thing, found, desk),)


def _ranked(side: str, found: list[Item]) -> Item | None:
    """The one in the middle, or the second from the left; None where there is none."""
    if side in w.MIDDLE:
        ranked, rank = sorted(found, key=_side_key("left")), len(found) // 2
        return ranked[rank] if len(ranked) % 2 == 1 else None
    end, rank = w.RANKS[side]
    ranked = sorted(found, key=_side_key(end))
    return ranked[rank] if rank < len(ranked) else None


def _side_key(side: str) -> Callable[[Item], float]:
    """What to sort by so that the first is the leftmost, rightmost, nearest or farthest."""
    if side in w.LEFT:
        return lambda item: -item.y  # y points to the left
    if side in w.RIGHT:
        return lambda item: item.y
    return _distance if side in w.NEAR else lambda item: -_distance(item)


def _distance(item: Item) -> float:
    return math.hypot(item.x, item.y)


def _asked(thing: Thing, found: list[Item], desk: Desk) -> Item:
    options = tuple(item.text for item in found)
    text = f"I see {len(found)} that fit {thing.text!r}. Which one do you mean?"
    question = Question(text, options, Code.AMBIGUOUS, f"which:{thing.text}")
    answer = answered(desk.context.answers, question)
    item = _by_answer(answer, found) if answer else None
    if item is None:
        raise AskError(question)
    return item


def _by_answer(answer: str, found: list[Item]) -> Item | None:
    """The candidate that an answer names: by its coordinates, its side or its name."""
    tokens = tokens_of(answer, w.KNOWN)
    if tokens.points:
        point = (tokens.points[0].x, tokens.points[0].y)
        nearest = min(found, key=lambda item: math.dist(item.at, point))
        return nearest if math.dist(nearest.at, point) <= SAME_M else None
    try:
        thing = parse_thing(answer)
    except NotUnderstoodError:
        return None
    if thing.side in w.MIDDLE or thing.side in w.RANKS:
        return _ranked(thing.side, found)
    if thing.side is not None:
        return min(found, key=_side_key(thing.side))
    named = [item for item in found if thing.words and fits(thing.words, item.label)]
    if thing.any_one:
        return min(found, key=_distance)
    return named[0] if len(named) == 1 else None


def _instead(thing: Thing, desk: Desk) -> tuple[Item, ...]:
    """What a person answered to "I see no such thing", or that question."""
    question = _missing(thing, desk, f"I see no {thing.text}")
    answer = answered(desk.context.answers, question)
    if answer is None or answer.lower() in w.AGAIN:
        raise AskError(question)
    tokens = tokens_of(answer, w.KNOWN)
    if tokens.points:
        item = _by_answer(answer, desk.items) if desk.items else None
        found = [item] if item else []
    else:
        try:
            other = parse_thing(answer)
        except NotUnderstoodError:
            raise AskError(question) from None
        found = _matching(other, desk) if other.words else []
        if found:
            return _narrowed(other, found, desk)
    if not found:
        raise AskError(question)
    return tuple(found)


def _missing(thing: Thing, desk: Desk, what: str) -> Question:
    seen = [item for item in desk.items if item is not desk.held]
    options = tuple(item.text for item in seen)
    doubts = [d for d in desk.context.doubted if fits(thing.words, d.label)]
    told = "".join(f" A {d.label} was seen but cannot be used: {d.reason}" for d in doubts)
    good = "In view and in reach: " if doubts else "In view: "
    view = good + ("; ".join(options) if options else "nothing")
    text = f"{what}.{told} {view}. What do you mean? Or put it in view and say 'again'."
    return Question(text, options, Code.OBJECT_MISSING, f"object:{thing.text}")


def _already_there(thing: Thing, found: list[Item]) -> Question:
    text = f"The {thing.text} lies there already ({found[0].text}). What shall I do instead?"
    return Question(text, w.EXAMPLES, Code.OBJECT_MISSING, "goal")
