"""How many tokens a text has, from a byte-pair tokenizer's file alone: exact, and small.

The daemon counts prompts before a worker is asked, and may not import a tokenizer library. This
reads the pairs of tokenizer.json and merges them itself; a tokenizer of another kind gives None.
Only monstrous words are counted too high.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

PLAIN = (*range(33, 127), *range(161, 173), *range(174, 256))
OTHERS = iter(range(256, 512))
LETTERS = tuple(chr(byte) if byte in PLAIN else chr(next(OTHERS)) for byte in range(256))
# The published pattern of byte-level tokenizers, on a text whose letters are all "a", ...
PIECES = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
)
DIGIT = re.compile(r"[0-9]")
KEPT = 4096  # pieces whose count is remembered
LONGEST = 256  # bytes of a piece that is merged; a longer one counts a token for each byte


class BytePairs:
    """Counts tokens of texts. About 8 MB for 49,000 pairs."""

    def __init__(self, ranks: dict[str, int], digits: bool) -> None:
        self._ranks, self._digits = ranks, digits
        self._counted = lru_cache(KEPT)(self._count_piece)

    @classmethod
    def read(cls, path: Path) -> BytePairs | None:
        """From tokenizer.json; None when it is missing or of another kind."""
        try:
            found = json.loads(path.read_bytes())
            kinds = _kinds(found.get("pre_tokenizer"))
            model = found["model"]
            if model["type"] != "BPE" or model.get("byte_fallback") or found.get("normalizer"):
                return None
            if not set(kinds) <= {"ByteLevel", "Digits"} or "ByteLevel" not in kinds:
                return None
            ranks = {_pair(pair): rank for rank, pair in enumerate(model["merges"])}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return cls(ranks, "Digits" in kinds)

    def count(self, text: str) -> int:
        """Tokens of a text without special tokens."""
        return sum(self._counted(piece) for piece in self._pieces(text))

    def _pieces(self, text: str) -> Iterator[str]:
        """Words, signs and blanks: no token goes across."""
        shadow = text if text.isascii() and text.isprintable() else "".join(map(_class, text))
        for start, end in _parts(shadow, self._digits):
            for match in PIECES.finditer(shadow, start, end):
                yield text[match.start() : match.end()]

    def _count_piece(self, piece: str) -> int:
        """Merge the pair that comes first in the list until none is left."""
        parts = [LETTERS[byte] for byte in piece.encode(errors="replace")]
        if len(parts) > LONGEST:
            return len(parts)
        while len(parts) > 1:
            pairs = [
                (rank, place)
                for place in range(len(parts) - 1)
                if (rank := self._ranks.get(f"{parts[place]} {parts[place + 1]}")) is not None
            ]
            if not pairs:
                break
            _, place = min(pairs)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return len(parts)


def _parts(shadow: str, digits: bool) -> Iterator[tuple[int, int]]:
    """Stretches between digits, and each digit alone where the tokenizer wants it so."""
    start = 0
    for match in DIGIT.finditer(shadow) if digits else ():
        yield start, match.start()
        yield match.span()
        start = match.end()
    yield start, len(shadow)


def _class(character: str) -> str:
    """An ASCII character of the same kind, so that one pattern serves all writing."""
    if character.isascii() and (character.isprintable() or character in "\t\n\r\v\f"):
        return character
    kind = unicodedata.category(character)[0]
    if kind in "LN":
        return "a" if kind == "L" else "1"
    return " " if kind == "Z" or character == "\x85" else "!"


def _kinds(tokenizer: Any) -> list[str]:
    if tokenizer["type"] == "Sequence":
        return [str(one["type"]) for one in tokenizer["pretokenizers"]]
    return [str(tokenizer["type"])]


def _pair(pair: Any) -> str:
    """Both forms of the file: "a b" and ["a", "b"]."""
    return pair if isinstance(pair, str) else f"{pair[0]} {pair[1]}"
