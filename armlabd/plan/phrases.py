"""The names in a sentence: which words stand for things, and which for a place.

What stands before a preposition names things, what stands after it names a place; sides ("on the
left"), origins ("from the bin") and points ("the block at x 0.2 y 0.1") narrow a name down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from armlabd.plan import words as w
from armlabd.plan.text import Coordinates, tokens_of
from armlabd.plan.words import Action

MAX_NAME_WORDS = 6
JOINS = frozenset((",", "and", "&", "plus"))
_MARKS = frozenset((".", "!", "?"))


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
    near: Coordinates | None = None
    other: bool = False  # not what was mentioned before

    @property
    def text(self) -> str:
        """The name for sentences and for the kind of a question."""
        side = (self.side,) if self.side else ()
        source = ("from", *self.source) if self.source else ()
        near = (f"at x {self.near.x:g} y {self.near.y:g}",) if self.near else ()
        return " ".join((*side, *(self.words or ("thing",)), *source, *near))


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


def place_index(tokens: tuple[str, ...]) -> int | None:
    """Where the place begins: the first preposition that is not part of naming a thing.

    Raises NotUnderstoodError for a side that is measured from elsewhere.
    """
    for index, token in enumerate(tokens):
        if token in w.PREPOSITIONS or token in w.HERE or token in w.ASIDE:
            rest = tokens[index + 1 :]
            if token in ("to", "by") and index and tokens[index - 1] in w.NEAR | w.FAR:
                raise NotUnderstoodError  # "nearest to the bin"
            side = len(rest) > 1 and w.SIDES.intersection(rest[:2]) and _later_place(rest)
            if not side and not (index and tokens[index - 1] in w.FROM):
                return index
        elif token.startswith("@"):
            return index
    return None


def _later_place(rest: tuple[str, ...]) -> bool:
    return any(token in w.PREPOSITIONS or token.startswith("@") for token in rest)


def slots(
    rest: tuple[str, ...], points: tuple[Coordinates, ...], *, picks: bool = False
) -> tuple[tuple[Thing, ...], Where | None]:
    """The things and the place of a clause. `picks`: a point tells which thing, not where to."""
    rest, near = _pointed(rest, points, picks)
    at = place_index(rest)
    named, place = (rest, ()) if at is None else (rest[:at], rest[at:])
    found = things_of(named)
    if near is not None:
        if not found:
            raise NotUnderstoodError
        found = (*found[:-1], replace(found[-1], near=near))
    return found, where_of(place, points) if place else None


def _pointed(
    rest: tuple[str, ...], points: tuple[Coordinates, ...], picks: bool
) -> tuple[tuple[str, ...], Coordinates | None]:
    """A point that says which thing is meant ("the block at @0 to @1"), cut out."""
    for index in range(1, len(rest) - 1):
        mark, later = rest[index + 1], rest[index + 2 :]
        if (
            rest[index] in ("at", "from")
            and mark.startswith("@")
            and (picks or _later_place(later))
        ):
            return (*rest[:index], *later), points[int(mark[1:])]
    return rest, None


def things_of(tokens: tuple[str, ...]) -> tuple[Thing, ...]:
    """The names between commas and ands. Raises NotUnderstoodError."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in JOINS:
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(_thing(tuple(part)) for part in parts if part)


def _thing(tokens: tuple[str, ...]) -> Thing:
    tokens, source = _source(tokens)
    side = _side(tokens)
    any_one = bool(w.ANY.intersection(tokens)) or _says_any_one(tokens)
    if _says_any_one(tokens):
        tokens = tokens[1:]
    counts = [w.COUNTS[t] for t in tokens if t in w.COUNTS]
    said = tuple(w.PLURALS.get(t, t) for t in tokens if t not in _ignored(side))
    if len(said) > MAX_NAME_WORDS or any(not word[0].isalpha() for word in said):
        raise NotUnderstoodError
    pronoun = not said and side is None and bool(w.PRONOUNS.intersection(tokens))
    other = bool(w.OTHER.intersection(tokens))
    many = not any_one and any(t in w.ALL or t in w.PLURALS for t in tokens)
    if not (said or pronoun or many or side or counts or any_one or other):
        raise NotUnderstoodError  # "the" alone names nothing
    count = counts[0] if counts else None
    return Thing(said, pronoun, many, any_one, count, side, source, other=other)


def _says_any_one(tokens: tuple[str, ...]) -> bool:
    """ "one of the blocks", "one block": any will do."""
    nouns = w.BLOCK_NOUNS | w.COLOURS
    return tokens[:1] == ("one",) and (tokens[1:2] == ("of",) or bool(nouns & set(tokens[1:3])))


def _ignored(side: str | None) -> frozenset[str]:
    """Words inside a name that do not tell things apart, or were read already."""
    plain = w.DETERMINERS | w.ANY | w.ALL | w.PRONOUNS | w.SIDES | w.COUNTS.keys() | w.OTHER
    plain |= {"on", "at", "in", "which", "is"}
    return plain | w.SIDE_TAILS if side else plain


def _side(tokens: tuple[str, ...]) -> str | None:
    """Left, right, near or far. "Nearest to the bin" is measured from elsewhere: not known."""
    sides = [t for t in tokens if t in w.SIDES]
    across = [t for t in sides if t in w.LEFT | w.RIGHT]  # "the far right"
    return next(iter(across or sides), None)


def _source(tokens: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where a thing is taken from ("from the bin"), cut off its name; the table says nothing."""
    at = next((i for i, t in enumerate(tokens) if i and t in w.FROM), None)
    if at is None:
        return tokens, ()
    source = tuple(t for t in tokens[at:] if t not in w.FROM and t not in w.DETERMINERS)
    return tokens[:at], () if w.TABLE.intersection(source) else source


def where_of(tokens: tuple[str, ...], points: tuple[Coordinates, ...]) -> Where:
    """The place in words that begin with its preposition. Raises NotUnderstoodError."""
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


def parse_thing(text: str) -> Thing:
    """One name for a thing, as an answer gives it. Raises NotUnderstoodError."""
    tokens = tuple(t for t in tokens_of(text, w.KNOWN).words if t not in w.FILLERS)
    things = things_of(tuple(t for t in tokens if t not in _MARKS))
    if len(things) != 1:
        raise NotUnderstoodError
    return things[0]


def parse_where(text: str) -> Where:
    """One place, as an answer gives it, preposition or not. Raises NotUnderstoodError."""
    tokens = tokens_of(text, w.KNOWN)
    kept = tuple(t for t in tokens.words if t not in w.FILLERS | _MARKS | {","})
    if kept and w.VERBS.get(kept[:1]) in (Action.PLACE, Action.GO):
        kept = kept[1:]
    at = place_index(kept)
    if at is not None:
        kept = kept[at:]
    if not kept:
        raise NotUnderstoodError
    return where_of(kept, tokens.points)
