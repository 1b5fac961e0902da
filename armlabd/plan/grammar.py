"""From tokens to wishes: which action, which things, where to. Words only, no scene.

A sentence is cut into clauses; each begins with a verb, or repeats the verb before it. What stands
before a preposition names things, what stands after it names a place. Words that fit nowhere make
the sentence not understood: nothing is ignored that could have meant something.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from armlabd.plan import words as w
from armlabd.plan.text import Coordinates, Tokens, tokens_of
from armlabd.plan.words import Action

MAX_NAME_WORDS = 6
_BREAKS = frozenset((".", ";", "!", "?", "then", "afterwards"))
_JOINS = frozenset((",", "and", "&", "plus"))
_LONGEST = max(len(phrase) for phrase in w.VERBS)
FREE_ACTIONS = frozenset((Action.LOOK, Action.STATUS, Action.HOME, Action.OPEN, Action.CLOSE))


class NotUnderstoodError(Exception):
    """The sentence, or a part of it, says something the rules do not know. Never leaves plan/."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A name for objects as it was said: `words` without determiners and selectors."""

    words: tuple[str, ...]
    pronoun: bool = False
    many: bool = False
    any_one: bool = False
    count: int | None = None
    side: str | None = None
    source: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The name for sentences and for the kind of a question."""
        return " ".join((*((self.side,) if self.side else ()), *self.words)) or "thing"


@dataclass(frozen=True, slots=True)
class Where:
    """A place as it was said: a point, a name, beside or on something, or simply a free spot."""

    name: tuple[str, ...] = ()
    point: Coordinates | None = None
    beside: bool = False
    free: bool = False

    @property
    def text(self) -> str:
        """The place for sentences and for the kind of a question."""
        if self.point is not None:
            return f"x {self.point.x:g} y {self.point.y:g}"
        return " ".join(self.name) or "a free spot"


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
    wishes: list[Wish] = []
    for clause in _clauses(kept):
        wishes.append(_wish(clause, tokens.points, wishes[-1] if wishes else None))
    if not wishes:
        raise NotUnderstoodError
    return tuple(replace(wish, slow=slow) for wish in _carry_them(wishes))


def _clauses(tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
    text = re.sub(r"\bafter (?:that|this|which)\b", " then ", " ".join(tokens))
    tokens = tuple(text.split())
    clauses: list[list[str]] = [[]]
    for index, token in enumerate(tokens):
        joins = token in _JOINS and _starts_clause(tokens[index + 1 :])
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
    while clause and (clause[0] in _JOINS or clause[0] == "next"):
        clause = clause[1:]
    while clause and clause[-1] in _JOINS:
        clause = clause[:-1]
    return tuple(clause)


def _starts_clause(rest: tuple[str, ...]) -> bool:
    rest = rest[1:] if rest[:1] in (("and",), ("then",)) else rest
    return rest == ("stop",) or _verb(rest) is not None


def _after_place(clause: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A clause cut where things are named again after a place: "... in the bin and the red one"."""
    at = _place_index(clause)
    if at is None:
        return [clause]
    for index in range(at + 1, len(clause)):
        if clause[index] in _JOINS:
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
    verb = _verb(clause)
    action, length = verb or (Action.PLACE, 0)
    rest = clause[length:]
    if w.TOO_SUBTLE.intersection(rest) - _named_stop(rest):
        raise NotUnderstoodError
    if verb is None:
        return _verbless(clause, points, last)
    if action in FREE_ACTIONS:
        return _simple(action, rest)
    action, rest = _particle(action, rest)
    things, where = _slots(rest, points)
    if not things and clause[0] in w.MOVING_VERBS and action in (Action.PLACE, Action.GO):
        action = Action.GO
    if action is Action.PICK and things and where is not None and _is_side(where):
        things, where = (*things[:-1], replace(things[-1], side=where.name[0])), None
    return _complete(Wish(action, things, where))


def _is_side(where: Where) -> bool:
    """ "take the block on the right": which one, not where to."""
    side = bool(where.name) and where.name[0] in w.SIDES
    return side and set(where.name[1:]) <= w.SIDE_TAILS and not where.beside


def _named_stop(clause: tuple[str, ...]) -> frozenset[str]:
    """ "stop" at the end of a place is a name, not a command (those never come here)."""
    at = _place_index(clause)
    return frozenset({"stop"}) if at is not None and "stop" in clause[at:] else frozenset()


def _verbless(clause: tuple[str, ...], points: tuple[Coordinates, ...], last: Wish | None) -> Wish:
    """ "the green one to x 0.15 y 0.1": put it there; without a place, as the wish before."""
    things, where = _slots(clause, points)
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
        return Wish(action)  # whatever it is about, the answer is what lies on the table
    numbers = [float(t) for t in rest if re.fullmatch(r"\d+(?:\.\d+)?", t)]
    fit = w.GRIPPER | w.DETERMINERS | {"to", "%", "percent", "wide", "fully", "it", "s"}
    fit |= {"position", "pose", "status"} if action in (Action.HOME, Action.STATUS) else set()
    known = all(t in fit or re.fullmatch(r"\d+(?:\.\d+)?", t) for t in rest)
    if not known or len(numbers) > 1 or (numbers and action is not Action.OPEN):
        raise NotUnderstoodError
    return Wish(action, percent=numbers[0] if numbers else None)


def _particle(action: Action, rest: tuple[str, ...]) -> tuple[Action, tuple[str, ...]]:
    """The particle of a parted verb: "put it down", "set the red block aside"."""
    joined = " ".join(rest)
    if joined.endswith("out of the way"):
        return Action.ASIDE, rest[:-4]
    if joined.endswith(" away") and action is Action.PLACE:
        return Action.ASIDE, rest[:-1]
    at = _place_index(rest)
    end = len(rest) if at is None else at
    if end and (action, rest[end - 1]) in w.PARTICLES:
        meant = w.PARTICLES[action, rest[end - 1]]
        return meant, (*rest[: end - 1], *rest[end:])
    return action, rest


def _place_index(tokens: tuple[str, ...]) -> int | None:
    """Where the place begins: the first preposition that is not part of naming a thing."""
    for index, token in enumerate(tokens):
        if token in w.PREPOSITIONS or token in w.HERE or token in w.ASIDE:
            rest = tokens[index + 1 :]
            side = len(rest) > 1 and w.SIDES.intersection(rest[:2]) and _later_place(rest)
            if not side and not (index and tokens[index - 1] in w.FROM):
                return index
        elif token.startswith("@"):
            return index
    return None


def _later_place(rest: tuple[str, ...]) -> bool:
    return any(token in w.PREPOSITIONS or token.startswith("@") for token in rest)


def _slots(
    rest: tuple[str, ...], points: tuple[Coordinates, ...]
) -> tuple[tuple[Thing, ...], Where | None]:
    at = _place_index(rest)
    named, place = (rest, ()) if at is None else (rest[:at], rest[at:])
    return _things(named), _where(place, points) if place else None


def _things(tokens: tuple[str, ...]) -> tuple[Thing, ...]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in _JOINS:
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(_thing(tuple(part)) for part in parts if part)


def _thing(tokens: tuple[str, ...]) -> Thing:
    tokens, source = _source(tokens)
    side = next((t for t in tokens if t in w.SIDES), None)
    ignored = (
        w.DETERMINERS | w.ANY | w.PRONOUNS | w.SIDES | {"on", "at", "in", "which", "is"} | w.ALL
    )
    if side:
        ignored |= w.SIDE_TAILS | {"to"}
    many = bool(w.ALL.intersection(tokens)) or any(t in w.PLURALS for t in tokens)
    count = next((w.COUNTS[t] for t in tokens if t in w.COUNTS), None)
    said = [w.PLURALS.get(t, t) for t in tokens if t not in ignored and t not in w.COUNTS]
    if len(said) > MAX_NAME_WORDS:
        raise NotUnderstoodError
    pronoun = not said and side is None and bool(w.PRONOUNS.intersection(tokens))
    one = bool(w.ANY.intersection(tokens)) or tokens[:2] == ("one", "of")
    if tokens[:2] == ("one", "of"):
        said, many = [word for word in said if word != "one"], False
    return Thing(tuple(said), pronoun, many, one, count, side, source)


def _source(tokens: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where a thing is taken from ("from the bin"), cut off its name; the table says nothing."""
    at = next((i for i, t in enumerate(tokens) if i and t in w.FROM), None)
    if at is None:
        return tokens, ()
    source = tuple(t for t in tokens[at:] if t not in w.FROM and t not in w.DETERMINERS)
    return tokens[:at], () if w.TABLE.intersection(source) else source


def _where(tokens: tuple[str, ...], points: tuple[Coordinates, ...]) -> Where:
    marks = [t for t in tokens if t.startswith("@")]
    words = tuple(
        t
        for t in tokens
        if t not in w.PREPOSITIONS and t not in w.DETERMINERS and not t.startswith("@")
    )
    if marks:
        if len(marks) > 1 or not set(words) <= w.FREE | {"point", "coordinates", "coordinate"}:
            raise NotUnderstoodError
        return Where(point=points[int(marks[0][1:])])
    if len(words) > MAX_NAME_WORDS:
        raise NotUnderstoodError
    free = w.FREE | w.TABLE | w.ASIDE
    if words and set(words) <= free and not {"place", "position", "area"} >= set(words):
        return Where(words, free=True)
    beside = tokens[0] in w.BESIDE or tokens[:2] == ("to", "next")
    return Where(words, beside=beside)


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
        again = len(wish.things) == 1 and wish.things[0].pronoun
        moves = wish.action in (Action.PLACE, Action.ASIDE, Action.THROW_AWAY)
        if last is not None and last.action is Action.PICK and again and moves:
            merged[-1] = replace(wish, things=last.things)
        else:
            merged.append(wish)
    return merged


def parse_thing(text: str) -> Thing:
    """One name for a thing, as an answer gives it. Raises NotUnderstoodError."""
    tokens = tuple(t for t in tokens_of(text, w.KNOWN).words if t not in w.FILLERS)
    things = _things(tuple(t for t in tokens if t not in (".", "!", "?")))
    if len(things) != 1:
        raise NotUnderstoodError
    return things[0]


def parse_where(text: str) -> Where:
    """One place, as an answer gives it, preposition or not. Raises NotUnderstoodError."""
    tokens = tokens_of(text, w.KNOWN)
    kept = tuple(t for t in tokens.words if t not in w.FILLERS and t not in (".", "!", "?", ","))
    verb = _verb(kept)
    if verb is not None and verb[0] in (Action.PLACE, Action.GO):
        kept = kept[verb[1] :]
    at = _place_index(kept)
    if at is not None:
        kept = kept[at:]
    if not kept:
        raise NotUnderstoodError
    return _where(kept, tokens.points)
