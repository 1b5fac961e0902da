"""How many tokens a text may be, for models whose own tokenizer is out of reach.

Byte-pair tokenizers give an English word one or two tokens, a digit, sign or line one, and a byte
of rarer writing at most one. `most` counts so that no text of ours came out lower; `least` counts
what no tokenizer does with less. A true count outside of the two means that something was cut.
"""

from __future__ import annotations

import re

PIECES = re.compile(r"[a-z]+|[A-Z]|[0-9]|[ \t]+|[^\x00-\x7f]+|[\s\S]")
WORDS = re.compile(r"[A-Za-z]+|[0-9]+")
LETTERS_PER_TOKEN = 2  # of lower case, at worst: words take about five, random letters two
DIGITS_PER_TOKEN = 3  # at best
IMAGE_TOKENS = 1024  # of one picture: 64 to 900 in the models that boards run


def most_tokens(text: str) -> int:
    """More tokens than the text takes."""
    return sum(_most(piece) for piece in PIECES.findall(text))


def _most(piece: str) -> int:
    if piece[0] > "\x7f":
        return len(piece.encode("utf-8", "replace"))
    if "a" <= piece[0] <= "z":
        return -(-len(piece) // LETTERS_PER_TOKEN)
    return 0 if piece == " " else 1  # one blank goes with the word that follows


def least_tokens(text: str) -> int:
    """Fewer tokens than the text takes."""
    return sum(_least(word) for word in WORDS.findall(text))


def _least(word: str) -> int:
    return -(-len(word) // DIGITS_PER_TOKEN) if word.isdigit() else 1
