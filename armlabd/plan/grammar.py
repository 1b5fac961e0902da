"""From tokens to wishes: which action, which things, where to. Words only, no scene.

A sentence is cut into clauses; each begins with a verb, or repeats the verb before it. What stands
before a preposition names things, what stands after it names a place. Words that fit nowhere make
the sentence not understood: nothing is ignored that could have meant something.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from armlabd.plan import words as w
from armlabd.plan.phrases import (
    JOINS,
    NotUnderstoodError,
    Thing,
    Where,
    place_index,
    slots,
    things_of,
)
from armlabd.plan.text import Coordinates, Tokens
from armlabd.plan.words import Action

_BREAKS = frozenset((".", ";", "!", "?", "then", "afterwards"))
_STATES = frozenset(("is", "are", "was", "were", "lies"))
_LONGEST = max(len(phrase) for phrase in w.VERBS)
FREE_ACTIONS = frozenset((Action.LOOK, Action.STATUS, Action.HOME, Action.OPEN, Action.CLOSE))


@dataclass(frozen=True, slots=True)
class Wish:
    """One clause: what to do, with which things, where to."""

    action: Action
    things: tuple[Thing, ...] = ()
    where: Where | None = None
    percent: float | None = None
    slow: bool = False


def wishes_of(tokens: Tokens) -> tuple[Wish, ...]:
    """Every wish of a sentence in order. Raises NotUnderstoodError."""
    slow = bool(w.SLOWLY.intersection(tokens.words))
    kept = tuple(t for t in tokens.words if t not in w.FILLERS and t not in w.SLOWLY)
    while kept[:1] in (("arm",), (",",)):  # "robot arm, put ..."
        kept = kept[1:]
    wishes: list[Wish] = []
    topic: tuple[Thing, ...] = ()
    for clause in _clauses(kept):
        topic, before = _topic(clause, tokens.points) if not wishes else (), topic
        if topic:
            continue
        wish = _wish(clause, tokens.points, wishes[-1] if wishes else None)
        wishes.append(_about(wish, before) if before else wish)
    if not wishes:
        raise NotUnderstoodError
    return tuple(replace(wish, slow=slow) for wish in _carry_them(wishes))


def _topic(clause: tuple[str, ...], points: tuple[Coordinates, ...]) -> tuple[Thing, ...]:
    """What a sentence begins with: "the red one, put it in the bin"."""
    if _verb(clause) is not None or place_index(clause) is not None:
        return ()
    things, _ = slots(clause, points)
    return things if all(_plain_name(thing) for thing in things) else ()


def _about(wish: Wish, topic: tuple[Thing, ...]) -> Wish:
    """The wish with the topic in its pronoun's place. Raises NotUnderstoodError without one."""
    if len(wish.things) != 1 or not wish.things[0].pronoun:
        raise NotUnderstoodError
    return replace(wish, things=topic)


def _clauses(tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
    text = re.sub(r"\bafter (?:that|this|which)\b", " then ", " ".join(tokens))
    tokens = tuple(text.split())
    clauses: list[list[str]] = [[]]
    for index, token in enumerate(tokens):
        joins = token in JOINS and _starts_clause(tokens[index + 1 :])
        if token in _BREAKS or joins:
            clauses.append([])
        else:
            clauses[-1].append(token)
    trimmed = [_trimmed(clause) for clause in clauses]
    found = [clause for clause in trimmed if clause]
    if len(found) > 1 and found[-1] == ("stop",):
        found.pop()  # "... and then stop": a plan ends by itself
    return [part for clause in found for part in _after_place(clause)]


def _trimmed(clause: list[str]) -> tuple[str, ...]:
    while clause and (clause[0] in JOINS or clause[0] == "next"):
        clause = clause[1:]
    while clause and clause[-1] in JOINS:
        clause = clause[:-1]
    return tuple(clause)


def _starts_clause(rest: tuple[str, ...]) -> bool:
    rest = rest[1:] if rest[:1] in (("and",), ("then",)) else rest
    return rest == ("stop",) or _verb(rest) is not None


def _after_place(clause: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A clause cut where things are named again after a place: "... in the bin and the red one"."""
    at = place_index(clause)
    if at is None:
        return [clause]
    for index in range(at + 1, len(clause)):
        if clause[index] in JOINS:
            rest = _trimmed(list(clause[index:]))
            return [clause[:index], *(_after_place(rest) if rest else [])]
    return [clause]


def _verb(tokens: tuple[str, ...]) -> tuple[Action, int] | None:
    """The action of the longest verb phrase at the start, and its length in words."""
    for length in range(min(_LONGEST, len(tokens)), 0, -1):
        action = w.VERBS.get(tokens[:length])
        if action is not None:
            return action, length
    return None


def _wish(clause: tuple[str, ...], points: tuple[Coordinates, ...], last: Wish | None) -> Wish:
    clause = _place_last(clause)
    verb = _verb(clause)
    action, length = verb or (Action.PLACE, 0)
    rest = clause[length:]
    if w.TOO_SUBTLE.intersection(rest) - _named_stop(rest):
        raise NotUnderstoodError
    if verb is None:
        return _verbless(clause, points, last)
    if action in FREE_ACTIONS:
        return _simple(action, rest)
    action, rest = _particle(action, _thing_first(rest))
    things, where = slots(rest, points, picks=action is Action.PICK)
    if things and all(_is_hand(thing) for thing in things):
        return _hand(clause[0], things, where)
    if not things and clause[0] in w.MOVING_VERBS and action in (Action.PLACE, Action.GO):
        action = Action.GO
    if action is Action.PICK and things and where is not None:
        things, where = _which(clause[0], things, where, rest)
    return _complete(Wish(action, things, where))


def _place_last(clause: tuple[str, ...]) -> tuple[str, ...]:
    """ "into the bin with the red one", "in the bin goes the red one": the thing first."""
    if not clause or clause[0] not in w.INTO:
        return clause
    at = next((k for k, token in enumerate(clause) if token in w.INVERTS), None)
    return clause if at is None else (*clause[at + 1 :], *clause[:at])


def _thing_first(rest: tuple[str, ...]) -> tuple[str, ...]:
    """ "(put) in the bin the red block" as "the red block in the bin"."""
    if not rest or rest[0] not in w.INTO:
        return rest
    names = w.DETERMINERS | w.ALL
    for k in range(2, len(rest)):
        begins = rest[k] in names and rest[k - 1] not in names | w.PREPOSITIONS
        if begins and rest[k] != "of" and not w.PREPOSITIONS.intersection(rest[k:]):
            return (*rest[k:], *rest[:k])
    return rest


def _is_hand(thing: Thing) -> bool:
    """The arm's own hand, not something on the table."""
    return bool(thing.words) and set(thing.words) <= w.GRIPPER | {"home"}


def _hand(verb: str, things: tuple[Thing, ...], where: Where | None) -> Wish:
    """ "move the gripper to x 0.2 y 0.1", "bring the arm home"."""
    if verb not in (*w.MOVING_VERBS, "bring", "take") or len(things) != 1:
        raise NotUnderstoodError
    if "home" in (*things[0].words, *(where.name if where else ())):
        return Wish(Action.HOME)
    return _complete(Wish(Action.GO, where=where))


def _which(
    verb: str, things: tuple[Thing, ...], where: Where, rest: tuple[str, ...]
) -> tuple[tuple[Thing, ...], Where | None]:
    """ "pick up the block on the right", "... in the bin": tells which one, not where to."""
    preposition = rest[place_index(rest) or 0]
    last = things[-1]
    if _is_side(where):
        side = next((t for t in where.name if t in w.LEFT | w.RIGHT), where.name[0])
        return (*things[:-1], replace(last, side=side)), None
    tells = ("on", "at", *w.BESIDE) if verb in ("take", "get", "collect") else w.LIES
    if preposition not in tells or where.point is not None:
        return things, where
    source = () if w.TABLE.intersection(where.name) else where.name
    return (*things[:-1], replace(last, source=source)), None


def _is_side(where: Where) -> bool:
    """ "on the right", "on the far left side"."""
    return (
        bool(where.name)
        and where.name[0] in w.SIDES
        and not where.beside
        and (set(where.name[1:]) <= w.SIDE_TAILS | w.SIDES)
    )


def _named_stop(clause: tuple[str, ...]) -> frozenset[str]:
    """ "stop" at the end of a place is a name, not a command (those never come here)."""
    at = place_index(clause)
    return frozenset({"stop"}) if at is not None and "stop" in clause[at:] else frozenset()


def _verbless(clause: tuple[str, ...], points: tuple[Coordinates, ...], last: Wish | None) -> Wish:
    """ "the green one to x 0.15 y 0.1": put it there; without a place, as the wish before."""
    if _STATES.intersection(clause):
        raise NotUnderstoodError  # "the red block is in the bin": no wish
    things, where = slots(clause, points)
    if not things or not all(_plain_name(thing) for thing in things):
        raise NotUnderstoodError
    if where is not None and (last is None or last.action in (Action.PLACE, Action.PICK)):
        return Wish(Action.PLACE, things, where)
    if last is None or last.action not in (Action.PLACE, Action.ASIDE, Action.THROW_AWAY):
        raise NotUnderstoodError
    return Wish(last.action, things, where or last.where)


def _plain_name(thing: Thing) -> bool:
    """A name made of colours and words for blocks alone: safe to take for a thing."""
    nouns = w.COLOURS | w.BLOCK_NOUNS | w.THING_NOUNS
    return not thing.pronoun and all(word in nouns for word in thing.words)


def _simple(action: Action, rest: tuple[str, ...]) -> Wish:
    """Home, open, close, look and status take no thing; open takes a percentage."""
    if action is Action.LOOK:
        # Whatever it is about, the answer is what lies on the table; "it" may come back to it.
        return Wish(action, _looked_for(rest))
    numbers = [float(t) for t in rest if re.fullmatch(r"\d+(?:\.\d+)?", t)]
    numbers += [50.0] * len(w.HALF.intersection(rest))
    fit = w.HALF | w.GRIPPER | w.DETERMINERS | {"to", "%", "percent", "wide", "fully", "it", "s"}
    fit |= {"position", "pose", "status"} if action in (Action.HOME, Action.STATUS) else set()
    known = all(t in fit or re.fullmatch(r"\d+(?:\.\d+)?", t) for t in rest)
    if not known or len(numbers) > 1 or (numbers and action is not Action.OPEN):
        raise NotUnderstoodError
    return Wish(action, percent=numbers[0] if numbers else None)


def _looked_for(rest: tuple[str, ...]) -> tuple[Thing, ...]:
    named = tuple(t for t in rest if t not in ("for", "at"))
    try:
        things = things_of(named)
    except NotUnderstoodError:
        return ()
    return things if all(_plain_name(thing) for thing in things) else ()


def _particle(action: Action, rest: tuple[str, ...]) -> tuple[Action, tuple[str, ...]]:
    """The particle of a parted verb: "put it down", "set the red block aside"."""
    joined = " ".join(rest)
    if joined.endswith("out of the way"):
        return Action.ASIDE, rest[:-4]
    if joined.endswith(" away") and action is Action.PLACE:
        return Action.ASIDE, rest[:-1]
    at = place_index(rest)
    end = len(rest) if at is None else at
    if end and (action, rest[end - 1]) in w.PARTICLES:
        meant = w.PARTICLES[action, rest[end - 1]]
        return meant, (*rest[: end - 1], *rest[end:])
    return action, rest


def _complete(wish: Wish) -> Wish:
    """Refuse a clause that lacks what its verb needs, or says too much."""
    needs_thing = wish.action in (Action.PICK, Action.ASIDE, Action.THROW_AWAY, Action.PLACE)
    if needs_thing and not wish.things:
        raise NotUnderstoodError
    if wish.action is Action.GO and (wish.things or wish.where is None):
        raise NotUnderstoodError
    if wish.action is Action.PICK and wish.where is not None:
        return replace(wish, action=Action.PLACE)
    return wish


def _carry_them(wishes: list[Wish]) -> list[Wish]:
    """ "take the red and the green block and put them in the bin": one wish, not two grips."""
    merged: list[Wish] = []
    for wish in wishes:
        last = merged[-1] if merged else None
        wish = _other_of(wish, last)
        again = len(wish.things) == 1 and wish.things[0].pronoun
        moves = wish.action in (Action.PLACE, Action.ASIDE, Action.THROW_AWAY)
        if last is not None and last.action is Action.PICK and again and moves:
            merged[-1] = replace(wish, things=last.things)
        elif last is not None and last.action is Action.LOOK and again and last.things:
            merged.append(replace(wish, things=last.things))
        elif last is not None and last.action is Action.GO and again and _gone_to(last):
            merged.append(replace(wish, things=_gone_to(last)))
        else:
            merged.append(wish)
    return merged


def _gone_to(wish: Wish) -> tuple[Thing, ...]:
    """What the hand goes to: "go to the red block and pick it up"."""
    named = () if wish.where is None else (Thing(wish.where.name),)
    return named if all(thing.words and _plain_name(thing) for thing in named) else ()


def _other_of(wish: Wish, last: Wish | None) -> Wish:
    """ "the other one" is of the kind that was named before: the other red block."""
    if last is None or not last.things:
        return wish
    words = last.things[-1].words
    things = tuple(
        replace(thing, words=words) if thing.other and set(thing.words) <= w.THING_NOUNS else thing
        for thing in wish.things
    )
    return replace(wish, things=things)
