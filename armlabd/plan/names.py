"""Do these words name that object, or that place? Own words first, then general ones for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armlabd.plan import words as w
from armlabd.plan.spots import is_bin
from armlabd.table import Point


def fits(words: Sequence[str], label: str) -> bool:
    """True when every word said fits the label: its own words, or a general word for it."""
    own = set(label.lower().split())
    general = w.THING_NOUNS | (w.BLOCK_NOUNS if own & w.BLOCK_NOUNS else set())
    same = {"grey": "gray", "gray": "grey", "violet": "purple", "purple": "violet"}
    return all(
        word in own or word in general or same.get(word) in own or word.removesuffix("s") in own
        for word in words
    )


def match_place(words: Sequence[str], places: Mapping[str, Point]) -> str | None:
    """The name of the place that these words mean: its own words, or the only bin's other names."""
    said = [word for word in words if word not in w.DETERMINERS]
    for name in places:
        if said == name.lower().split():
            return name
    bins = [name for name in places if is_bin(name)]
    if len(said) in (1, 2) and len(set(said)) == len(said) and set(said) <= w.BIN_NAMES:
        return bins[0] if len(bins) == 1 else None
    return None
