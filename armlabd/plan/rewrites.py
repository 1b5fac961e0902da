"""The same wish in another form: what is rewritten before a sentence is cut into tokens.

Data only: regular expressions on lower-case text, applied in order. Each row says what people say
and puts it in the words that the grammar knows. A row must never make a wish out of a statement, a
condition or a denial: "the red block is in the bin" stays what it is.
"""

from __future__ import annotations

import re
from typing import Final

_INTO = r"(?:in|into|inside|to|onto)"
_PLACE = r"(?:in|into|inside|on|onto|to|at|next|beside|near|by)\b"
_TABLE = r"(?:table|desk|board|surface)"
_THE = r"(?:the|this|that|your|my)"
_COLOUR = r"(red|green|blue|yellow|orange|purple|violet|pink|black|white|brown|grey|gray)"
_NEAR = r"(near|nearest|nearer|closest|closer|far|farthest|furthest|farther|further)"
_MUST = r"(?:should|must|shall|ought to|needs? to|has to|have to)"
_NOT_ME = r"(?<!you )(?<!arm )(?<!hand )(?<!gripper )"  # "you should go to ..." sends the arm
_PUT = r"(?:put|placed|moved|dropped|thrown|brought|set|laid)"
_VERB = r"(?:put|place|move|pick|take|grab|get|go|open|close|bring|drop|throw|set|lift|return|look)"
_END = r"(?=\s*(?:$|[.,;!?]|and\b|then\b))"

_ROWS: Final = (
    # typed in a hurry
    (r"\s*(?:->|=>|→|⇒)\s*", " to "),
    (r"\b(?:thx|thanx|tnx|ty|cheers)\b", " "),
    (r"\b(?:da|tha|th)\b", "the"),
    (r"\b(pick|lift|grab)up\b", r"\1 up"),
    (r"\b(put|set|lay)down\b", r"\1 down"),
    (r"\b(in|into|on|onto|to|at|inside)the\b", r"\1 the"),
    (rf"\b{_COLOUR}(blocks?|cubes?|bricks?|box(?:es)?|ones?)\b", r"\1 \2"),
    (rf"\b{_COLOUR} colou?r(?:ed)?\b", r"\1"),
    (r":(?=\s)", ","),
    # what surrounds a wish
    (rf"\buse {_THE} (?:gripper|hand|arm|claw|jaws) to\b", " "),
    (r"\b(?:it's|it is) time to\b", " "),
    (r"\b(?:start|begin|finish|end)(?: off)? (?:by|with) (?=\w+ing\b)", " "),
    (
        r"(?:\band )?\b(?:once|when|as soon as|after) (?:(?:that|this|it|you)(?:'s|'re|'ve| is| are"
        r"| have| has)(?: been)? )?(?:done|finished|ready)\b,?",
        " then ",
    ),
    (rf"\b(?:the )?(?:robot|arm) (?:{_MUST}|can|could|will)(?: please)? (?={_VERB})", " "),
    (r"\b(?:do )?(?:the )?same (?:with|for|to)\b", " "),
    (r"\bwith care\b|\bas (?:gently|carefully|slowly) as (?:you can|possible)\b", " carefully "),
    (r"\b(?:already|really|very|firmly|tightly)\b", " "),
    (r"\b(?:make sure|see to it|ensure|see that)(?: that)? (?=(?:the|all|both|every)\b)", " "),
    (r"\b(?:i|we)(?:'d| would) (?:appreciate|love|like) it if you(?: could| would)?\b", " "),
    (r"\bit(?:'d| would) be \w+ if you(?: could| would)?\b", " "),
    (r"\b(?:can|could|would) you be able to\b", " "),
    (r"\bgo (?=(?:get|fetch|pick|grab|take|put|bring|find)\b)", " "),
    (r"\band (?:keep|keep hold of|hold on to|hang on to|keep holding) (?:it|them)\b" + _END, " "),
    (rf"\bhome with (?:it|them|{_THE} block)\b", "home"),
    (r"\b(?:all the way|as far as (?:it goes|you can|it will go))\b", "wide"),
    # which one
    (r"\b(?:that's|that is|that are|which is|which are|which's|located|lying)\b", " "),
    (rf"\b{_NEAR}(?: one)?(?: away)? (?:to|from) (?:you|yourself|the (?:robot|arm|base))\b", r"\1"),
    (rf"\b{_NEAR}(?: \w+)?(?: away)? (?:to|from) (?:me|us|myself)\b", r"\1 to speaker"),
    (rf"\b{_NEAR} away\b", r"\1"),
    (rf"\b(?:furthest|farthest|far|most) (?:to|on|at|towards?) {_THE} (left|right)\b", r"\1most"),
    (r"\bevery single\b", "every"),
    (r"\b(?:something|anything)\b", "any thing"),
    (r"\b(?:all )?the rest(?: of (?:them|the blocks))?\b", "all other blocks"),
    (r"\b(?:remaining|left over)\b", "other"),
    (rf"\bfirst((?: \w+){{0,2}}) from {_THE} (left|right)\b", r"\2most\1"),
    (rf"\b(second|third|fourth)((?: \w+){{0,2}}) from {_THE} (left|right)\b", r"\1-\3\2"),
    # a wish told as what should be: "the red one goes in the bin"
    (
        rf"^\s*(?:can|could|may|might|will|would) ((?:{_THE}|all|both|every)\b[^.;!?]*?) go "
        rf"(?={_PLACE})",
        r"\1 ",
    ),
    (rf"\b(?:have|get) ((?:{_THE}|all|both|every)\b[^.;!?]*?) {_PUT} (?={_PLACE})", r"put \1 "),
    (rf"^\s*(?:can|could|may|might) (?={_THE}|all|both|every)", " "),
    (
        rf"{_NOT_ME}\b(?:goes|belongs?|{_MUST} (?:go|end up|be(?: {_PUT})?)|ends? up|be {_PUT}"
        rf"|to (?:be(?: {_PUT})?|end up))(?: right)? (?={_PLACE})",
        " ",
    ),
    (rf"{_NOT_ME}\bto go (?=(?:in|into|inside)\b)", " "),
    # where to
    (rf"\b(?:on|off|from) {_THE} {_TABLE}(?: and)? (?=(?:{_INTO}|next|beside)\b)", " "),
    (rf"\baway (?={_INTO}\b)", " "),
    (r"\boff (?=(?:in|into|at)\b)", " "),
    (r"\b(?:go|return|move|come|get)(?: back)? to (?:the|your) home\b", "go home"),
    (r"\b(?:somewhere|anywhere|some place) else\b", "elsewhere"),
    (r"\bclose (?:to|by) (?!\s*[@\d])", "near "),
    (r"\b(?:directly|straight) (?=(?:beside|next to|by)\b)", " "),
    (r"(?<!the )(?<!hand )\bright (?=(?:beside|next to)\b)", " "),
    (
        r"\b(?:go|return|move|drive|come|get|head)(?: back)?(?: to)?(?: (?:the|your|its))? "
        r"(?:home|rest|resting|start|starting|initial) (?:position|pose|place|spot)\b",
        "go home",
    ),
)
ROWS: Final = tuple((re.compile(pattern), told) for pattern, told in _ROWS)


def rewritten(text: str) -> str:
    """The lower-case text with every row applied."""
    for pattern, told in ROWS:
        text = pattern.sub(told, text)
    return text
