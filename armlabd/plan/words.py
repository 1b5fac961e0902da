"""The vocabulary of RulesPlanner as tables: what people say, and what is meant by it."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """What a clause asks for."""

    PICK = "pick"
    PLACE = "place"
    PUT_DOWN = "put down"
    ASIDE = "set aside"
    THROW_AWAY = "throw away"
    GO = "go"
    HOME = "home"
    OPEN = "open"
    CLOSE = "close"
    LOOK = "look"
    STATUS = "status"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(*rows: tuple[Action, str]) -> dict[tuple[str, ...], Action]:
    return {tuple(p.split()): action for action, text in rows for p in text.split(", ")}


# Phrases without fillers ("show me" is "show"). The longest that fits wins. A particle may also
# stand after the object ("put it down").
VERBS = _table(
    (Action.PICK, "pick up, pick, grab hold of, grab, take hold of, take, get, lift up, lift"),
    (Action.PICK, "grasp, fetch, collect, pick out, hold, grip, seize, get hold of, snatch"),
    (Action.PICK, "hold on to, keep hold of, hang on to"),
    (Action.PLACE, "put, place, move, bring, drop, set, throw, toss, carry, transfer, deliver"),
    (Action.PLACE, "lay, shift, transport, stick, pop, dump, deposit, store, position, relocate"),
    (Action.PLACE, "chuck, fling, lob, stow, stash, plop"),
    (Action.PUT_DOWN, "put down, set down, lay down, place down, let go of, let go, release"),
    (Action.ASIDE, "set aside, put aside, move aside, lay aside, place aside"),
    (Action.THROW_AWAY, "throw away, throw out, discard, get rid of, dispose of, bin, trash"),
    (Action.GO, "go, hover"),
    (Action.HOME, "home, go home, return home, go back home, come home, move home, come back home"),
    (Action.HOME, "go to home, go to the home position, move to home, return to home, back home"),
    (Action.HOME, "move to the home position, go to the home pose, go to home position, get home"),
    (Action.HOME, "return to the home position, go to your home position, drive home, homing"),
    (Action.OPEN, "open up, open, unclench"),
    (Action.CLOSE, "close up, close, shut, clench"),
    (Action.LOOK, "look for, look around, look, take a look, have a look, take another look"),
    (Action.LOOK, "scan, see, show, describe, find, locate, search, list, which blocks, what lies"),
    (Action.LOOK, "what do you see, what can you see, what is on, what is there, what's on"),
    (Action.LOOK, "what's there, where is, where are, where's, how many, is there, are there"),
    (Action.LOOK, "tell what you see, do you see, can you see, what objects, what blocks"),
    (Action.LOOK, "what colours, what colors, tell what is, tell which, tell what lies"),
    (Action.STATUS, "status, get status, show status, report, how are you, are you ready"),
    (Action.STATUS, "show the status, report status, what is your status, check status"),
)
MOVING_VERBS = ("move", "go", "hover", "position", "shift")  # with no object: the hand itself
PARTICLES = {
    (Action.PICK, "up"): Action.PICK,
    (Action.PLACE, "up"): Action.PICK,
    (Action.PLACE, "down"): Action.PUT_DOWN,
    (Action.PLACE, "aside"): Action.ASIDE,
    (Action.PLACE, "away"): Action.ASIDE,
    (Action.PICK, "away"): Action.ASIDE,
    (Action.PICK, "aside"): Action.ASIDE,
    (Action.PICK, "out"): Action.PICK,
}
OUT_OF_THE_WAY = ("out", "of", "the", "way")

# Said before the wish or after it; they change nothing. Regular expressions on lower-case text.
POLITE = (
    r"(can|could|would|will) (you|we)( please| kindly)?( mind)?",
    r"(i|we)( would|'d)? (really )?(want|need|like|love|wish)( you)?( to)?( have)?",
    r"i'd (like|love)( you)?( to)?( have)?",
    r"(let's|lets|let us)",
    r"(for|to) me",
    r"right (away|now)",
    r"as well",
    r"(many )?(thank you|thanks)( very much| a lot| so much)?",
    r"if (you (can|could|would|please|want|like|don't mind)|possible)",
    r"do me a favou?r( and)?",
    r"go ahead and",
    r"(go|try) and",
    r"(please )?try to",
    r"be (so kind|kind enough)( as)?( to)?( and)?",
    r"your (job|task) is to",
    r"you (should|must|may|can|have to|need to)",
    r"as (soon|fast|quickly) as (you can|possible)",
    r"with (your|the) (gripper|hand|arm|jaws|claw)",
    r"to (you|yourself)",
    r"at once",
    r"one (more time|at a time)",
)
FILLERS = _set(
    "please kindly now just hey hello hi ok okay robot robots dear oh um uh so well also "
    "too immediately quickly fast quick directly simply again first finally lastly yes maybe "
    "pls plz there's afterwards me us"
)
SLOWLY = _set("slowly gently carefully softly slow careful")
SLOW_DPS = 15.0

DETERMINERS = _set("the a an that this those these my your our of")
ANY = _set("a an any some either whichever")
ALL = _set("all both every each everything them")
OTHER = _set("other others")
PRONOUNS = _set("it that this them these those")
COUNTS = {"two": 2, "three": 3, "four": 4, "2": 2, "3": 3, "4": 4}
COLOURS = _set(
    "red green blue yellow orange purple violet pink black white brown grey gray cyan magenta "
    "turquoise gold silver"
)
BLOCK_NOUNS = _set("block cube brick box square lego dice die")
THING_NOUNS = _set("one object thing piece item part")
PLURALS = {
    "blocks": "block",
    "cubes": "cube",
    "bricks": "brick",
    "boxes": "box",
    "squares": "square",
    "ones": "one",
    "objects": "object",
    "things": "thing",
    "pieces": "piece",
    "items": "item",
    "parts": "part",
    "legos": "lego",
    "everything": "thing",
    "all": "thing",
    "both": "thing",
    "them": "thing",
}
LEFT = _set("left leftmost")
RIGHT = _set("right rightmost")
NEAR = _set("near nearest nearer closest closer front")
FAR = _set("far farthest furthest farther further back rear")
MIDDLE = _set("middle middlemost centre center")
RANKS = {  # side and place in its row, from 0
    f"{word}-{side}": (side, rank)
    for rank, word in enumerate(("second", "third", "fourth"), 1)
    for side in ("left", "right")
}
SIDES = LEFT | RIGHT | NEAR | FAR | MIDDLE | RANKS.keys()
SIDE_TAILS = _set("side hand most")

INTO = ("into", "in", "inside", "within")
ONTO = ("onto", "on", "upon", "at", "to", "towards", "toward", "over", "above")
INVERTS = frozenset(("with", "go", "goes", "put"))  # "into the bin with it"
BESIDE = ("beside", "near", "by", "next")
LIES = ("in", "inside", "within", "on", "at", *BESIDE)
FROM = ("from", "off", "out")
PREPOSITIONS = frozenset((*INTO, *ONTO, *BESIDE))
TABLE = _set("table desk board surface ground floor mat")
ASIDE = frozenset(("aside", "somewhere", "anywhere", "elsewhere", "wherever", "away"))
FREE = _set("free empty clear spot space place area position side some other")
HERE = _set("there here")
BIN_NAMES = _set(
    "bin box basket container tray bucket crate trash garbage rubbish can dustbin wastebasket "
    "carton pot cup bowl drawer pail"
)
HALF = frozenset({"half", "halfway", "half-way"})
GRIPPER = _set("arm gripper hand jaws jaw claw claws fingers grip pincers hands")

# A sentence with one of these says more than the rules can carry out; it is asked about.
TOO_SUBTLE = _set(
    "not don't dont doesn't never without except unless if until while when whenever instead "
    "no but cannot can't cant avoid unlike why because than rather only before undo nor "
    "neither where wouldn't shouldn't won't isn't hardly stop or"
)
# Ordinary words one letter from a word above; they are never taken for a misspelling of it.
OTHER_WORDS = _set(
    "book books clock clocks lock plate ball balls bowls tin tins pen pens pin table's plane "
    "bean beans train brain greet greed rod rode bread tread reed read blow blew glue clue "
    "flue sea seen tale tape cake tack pack back rack hall hat pot pots cut but nut top stop "
    "step shop card cart sand band hang bang land lend send sent lid lids bid bed bad bag "
    "bags bug bugs mug mugs cups hone hose hope dome come some rope rose nose move's lane "
    "lake rake bake wake open's pipe pick's closer close-by lose loss boss toss's grape "
    "grapes crab drab slab stab lice mice dice's place's plaice places lace black's trick "
    "tricks wrist bricked grass class glass"
)
AGAIN = _set("again retry ready done ok okay yes moved")
CANCEL = _set("cancel none nothing nevermind forget abandon leave")
EXAMPLES = (
    "put the red block in the bin",
    "pick up the green block",
    "put the blue block at x 0.20 y 0.10",
    "go home",
)

GERUNDS = {
    "putting": "put",
    "moving": "move",
    "placing": "place",
    "picking": "pick",
    "taking": "take",
    "bringing": "bring",
    "grabbing": "grab",
    "dropping": "drop",
    "setting": "set",
    "opening": "open",
    "closing": "close",
    "going": "go",
    "looking": "look",
}

# Every word of the tables: what a misspelt word may be mended to.
KNOWN: frozenset[str] = (
    frozenset(word for phrase in VERBS for word in phrase)
    | FILLERS
    | SLOWLY
    | DETERMINERS
    | ANY
    | ALL
    | PRONOUNS
    | COUNTS.keys()
    | COLOURS
    | BLOCK_NOUNS
    | THING_NOUNS
    | PLURALS.keys()
    | SIDES
    | SIDE_TAILS
    | PREPOSITIONS
    | set(FROM)
    | TABLE
    | ASIDE
    | FREE
    | HERE
    | BIN_NAMES
    | GRIPPER
    | TOO_SUBTLE
    | GERUNDS.keys()
    | HALF
    | {"and", "then", "after", "aside", "away", "way", "percent", "wide", "fully"}
)
