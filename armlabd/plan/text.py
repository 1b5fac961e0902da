"""From a person's sentence to plain tokens: case, politeness, coordinates, simple misspellings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from armlabd.plan.rewrites import rewritten
from armlabd.plan.words import GERUNDS, OTHER_WORDS, POLITE

MAX_CHARS = 500  # a goal longer than this is no wish for a table with blocks
_NUMBER = r"[-+]?\s?(?:\d+(?:\.\d+)?|\.\d+)(?![\d.]*[a-z]{3,})"
_UNIT = r"(?:\s*(mm|cm|m|millimet(?:er|re)s?|centimet(?:er|re)s?|met(?:er|re)s?)\b)?"
_METRES = {"": 1.0, "mm": 0.001, "cm": 0.01, "m": 1.0, "mi": 0.001, "ce": 0.01, "me": 1.0}
_AXIS = rf"([xyz])\s*(?:[=:]|\bis\b|\bof\b|\bat\b)?\s*({_NUMBER}){_UNIT}"
_AXES = re.compile(rf"\b{_AXIS}(?:(?:\s|,|;|\band\b)*{_AXIS}){{1,2}}", re.IGNORECASE)
_ONE_AXIS = re.compile(_AXIS)
_GAP = r"(?:\s*[,;]\s*|\s+and\s+|\s+)"
_PAIR = re.compile(
    rf"(?<![\w.])[(\[]?\s*({_NUMBER}){_UNIT}{_GAP}({_NUMBER}){_UNIT}"
    rf"(?:{_GAP}({_NUMBER}){_UNIT})?\s*[)\]]?(?:\s*(mm|cm|m)\b)?"
)
_POLITE = re.compile(r"\b(?:" + "|".join(POLITE) + r")(?![\w'])")
_TOKEN = re.compile(r"@\d+|\d+(?:\.\d+)?|\.\d+|[^\W\d_]+(?:['-][^\W\d_]+)*|[.,;!?%&]|\S")


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A point that a sentence names, in metres; z None: not said."""

    x: float
    y: float
    z: float | None = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of a sentence; `@0`, `@1` stand for the coordinates in `points`."""

    words: tuple[str, ...]
    points: tuple[Coordinates, ...] = ()


def tokens_of(text: str, known: Collection[str]) -> Tokens:
    """Lower-case tokens without politeness; words one slip away from a known word are mended."""
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARS]).lower()
    plain = "".join(" " if _is_ornament(c) else c for c in plain)
    plain = plain.replace("’", "'").replace("−", "-").replace("–", "-")
    plain = plain.replace("@", " at ")  # the sign is ours: it marks coordinates below
    plain = re.sub(r"\b(?:minus|negative)\s+(?=[\d.])", "-", plain)
    plain, points = _take_points(plain)
    plain = _POLITE.sub(" ", rewritten(plain))
    found = (mended(word, known) for word in _TOKEN.findall(plain) if word not in "\"'()[]`")
    return Tokens(tuple(GERUNDS.get(word, word) for word in found), tuple(points))


def _is_ornament(char: str) -> bool:
    """True for emoji, other symbols without a meaning here, and what cannot be printed."""
    symbol = unicodedata.category(char) in ("So", "Sk") and char != "°"
    return symbol or char == "\ufe0f" or not char.isprintable()


def _take_points(text: str) -> tuple[str, list[Coordinates]]:
    """Every pair or triple of coordinates replaced by its mark."""
    points: list[Coordinates] = []

    def axes(match: re.Match[str]) -> str:
        found = {m[1].lower(): _metres(m[2], m[3]) for m in _ONE_AXIS.finditer(match[0])}
        if not {"x", "y"} <= found.keys():
            return match[0]
        points.append(Coordinates(found["x"], found["y"], found.get("z")))
        return f" @{len(points) - 1} "

    def pair(match: re.Match[str]) -> str:
        last = match[7] or match[6] or match[4]  # one unit at the end speaks for all
        x, y = _metres(match[1], match[2] or last), _metres(match[3], match[4] or last)
        z = None if match[5] is None else _metres(match[5], match[6] or last)
        points.append(Coordinates(x, y, z))
        return f" @{len(points) - 1} "

    return _PAIR.sub(pair, _AXES.sub(axes, text)), points


def _metres(number: str, unit: str | None) -> float:
    unit = unit or ""
    scale = _METRES.get(unit, _METRES.get(unit[:2], 1.0))
    return round(float(number.replace(" ", "")) * scale, 6)


def mended(word: str, known: Collection[str]) -> str:
    """The known word that `word` is one slip away from, if there is exactly one; else `word`.

    A slip is two letters swapped, one missing, one too many or one wrong; the first letter must
    be right unless it was swapped. Words of three letters are mended by a swap or a lost letter.
    """
    if word in known or word in OTHER_WORDS or len(word) < 3 or not word.isalpha():
        return word
    found = {other for other in known if other.isalpha() and _one_slip(word, other)}
    swapped = {other for other in found if len(other) == len(word) and _swapped(word, other)}
    found = swapped or found  # the commonest slip of typing
    return found.pop() if len(found) == 1 else word


def _one_slip(word: str, known: str) -> bool:
    if sorted(word) == sorted(known):
        return _swapped(word, known)
    if word[0] != known[0] or len(known) < 3:
        return False
    if len(known) == len(word) + 1:
        return _one_more(word, known)
    if len(word) < 4:
        return False
    if len(word) == len(known) + 1:
        return _one_more(known, word)
    wrong = sum(a != b for a, b in zip(word, known, strict=False))
    return len(word) == len(known) and len(word) > 4 and wrong == 1


def _swapped(word: str, known: str) -> bool:
    apart = [i for i, (a, b) in enumerate(zip(word, known, strict=True)) if a != b]
    return len(apart) == 2 and apart[1] == apart[0] + 1


def _one_more(short: str, long: str) -> bool:
    return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


def vocabulary(names: Iterable[str]) -> frozenset[str]:
    """The words of labels and places, in lower case."""
    return frozenset(word for name in names for word in re.findall(r"[^\W_]+", name.lower()))
