"""Does a sentence mean stop? Decided by words alone, at the door, before anything else.

It errs on the side of stopping: a sentence that begins with a stop word is a stop, and so is one
that says nothing besides. A stop word further inside another wish ("put it at the stop") is not.
"""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 2000  # a longer text is no cry of stop, except where it begins with one


def _folded(word: str) -> str:
    """Without accents, doubled letters once: "stoooop" is "stop". The tables are folded alike."""
    parted = unicodedata.normalize("NFKD", word)
    plain = "".join(c for c in parted if not unicodedata.combining(c))
    return re.sub(r"(.)\1+", r"\1", plain)


def _table(text: str) -> frozenset[str]:
    return frozenset(map(_folded, text.split()))


STOP_WORDS = _table(
    "stop stp stpo sotp tsop sop stob stopit halt hlat hatl freze freez frezee"
    " estop abort emergencystop emergency stopnow"
    # a frightened person may not speak English
    " stopp anhalten halte arrête arrêtez arrêt alto detente deténgase pare fermati ferma basta"
    " stanna zatrzymaj стоп стой dur 停 停止 停下 止まれ 止めて とまれ 멈춰"
)
STILL = tuple(
    tuple(map(_folded, call.split()))
    for call in (
        "hold still",
        "stand still",
        "keep still",
        "stay still",
        "dont move",
        "do not move",
        "no more moving",
        "quit moving",
        "cease",
        "cut the power",
        "torque off",
    )
)
LEAD = _table(
    "please pls plz hey oh no ok okay now just robot arm wait um uh you must should need have to"
    " can could would will wil i we want said say the a an it make let us help god my"
    " quick quickly for heavens sake damn watch out look ouch careful aah ah eh yo sir mate"
    " im saying told teling tell immediately right hit press push"
    " activate trigger e emergency sofort bitte jetzt ya subito por favor"
)
PRESS = _table("hit press push activate trigger")
ARTICLES = _table("the a an")
NEGATED = _table("dont not never cant cannot wont didnt doesnt without unstop nonstop non")


def means_stop(text: str) -> bool:
    """True when the sentence is a command to stop. Any text; raises nothing."""
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARS]).lower()
    clauses = re.split(r"[.;!?\n\r]+|,(?=\s*\D)|\s[-–—]+\s", plain)
    return any(_clause_stops(_words(clause)) for clause in clauses)


def _words(clause: str) -> list[str]:
    clause = re.sub(r"\be[\s-]*stop\b", "estop", clause.replace("’", "'").replace("'", ""))
    words = re.findall(r"[^\W\d_]+", clause)
    return [_folded(word) for word in words]


def _clause_stops(words: list[str]) -> bool:
    """A stop word, or a call to stand still, after nothing but lead-in words."""
    if "".join(words) == "stop":  # s t o p
        return True
    for index, word in enumerate(words):
        if any(tuple(words[index : index + len(call)]) == call for call in STILL):
            return not NEGATED.intersection(words[:index])
        if word in STOP_WORDS and word != "emergency":
            return _commands(words[:index])
        if word not in LEAD:
            return False
    return bool(words) and set(words) == {"emergency"}


def _commands(before: list[str]) -> bool:
    """False where the words before make the stop word a thing ("the stop") or deny it."""
    a_thing = bool(before) and before[-1] in ARTICLES and not PRESS.intersection(before)
    return not a_thing and not NEGATED.intersection(before)
