"""What can go wrong on the bus, each kind with a sentence that says what to do."""

from __future__ import annotations

from enum import StrEnum


class PortKind(StrEnum):
    """Why a port cannot be used."""

    MISSING = "missing"  # no such device
    AMBIGUOUS = "ambiguous"  # "auto" found more than one
    OTHER = "other"  # another board is there, not the one this arm was seen on
    BUSY = "busy"  # another program has it
    DENIED = "denied"  # the user may not open it
    BAD = "bad"  # not a serial port, or the driver refuses the rate
    LOST = "lost"  # it was open and went away


class PortError(OSError):
    """A port that cannot be used: `kind` for code, `sentence` for people."""

    def __init__(self, kind: PortKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence


class PortLost(PortError):
    """The port went away while it was open: unplugged, or without power."""

    def __init__(self, sentence: str) -> None:
        super().__init__(PortKind.LOST, sentence)


class Cause(StrEnum):
    """Why one servo's answer did not count."""

    SILENT = "silent"  # not one byte came
    CHECKSUM = "checksum"  # an answer of this servo came damaged
    STRAY = "stray"  # whole frames came, but of another servo or length
    GARBLED = "garbled"  # bytes came that make no frame
    DOUBTED = "doubted"  # clean, but after so many damaged ones that it may fit by chance
    ECHO = "echo"  # only the request itself came back from the adapter
    DOUBLED = "doubled"  # two answers came: one must be late, and nobody knows which
    UNCONFIRMED = "unconfirmed"  # a write without answer, and the read-back differs
    RESTING = "resting"  # not asked: it missed too often, and is tried again soon


# the servo has said something, and it came damaged
SPOKE = frozenset({Cause.CHECKSUM, Cause.DOUBLED, Cause.DOUBTED})
DAMAGED = SPOKE | {Cause.GARBLED}

_WHAT = {
    Cause.SILENT: "did not answer",
    Cause.CHECKSUM: "answered with a wrong checksum",
    Cause.STRAY: "did not answer, but others did",
    Cause.GARBLED: "answered with damaged bytes",
    Cause.DOUBTED: "answers damaged again and again, as two servos with one id do",
    Cause.ECHO: "did not answer; the adapter only sent the request back",
    Cause.DOUBLED: "answered twice",
    Cause.UNCONFIRMED: "did not take the value",
    Cause.RESTING: "missed too many answers and was not asked again yet",
}


class NoAnswer(Exception):
    """One or more servos gave no answer that counts. `causes` tells why, for each id."""

    def __init__(self, causes: dict[int, Cause]) -> None:
        self.causes = causes
        self.ids = tuple(causes)
        super().__init__(self.sentence)

    @property
    def sentence(self) -> str:
        """Every servo with what it did, and what to look at."""
        parts = "; ".join(f"servo {id} {_WHAT[cause]}" for id, cause in self.causes.items())
        return (
            f"{parts[:1].upper()}{parts[1:]}. Check the servo's power and the cable "
            "between it and the servo before it."
        )


class NotWritten(Exception):
    """A servo answered, but a setting does not hold the value that was written."""

    def __init__(self, id: int, register: str, wanted: int, found: int) -> None:
        self.sentence = (
            f"Servo {id} keeps {found} in {register} instead of {wanted}. Switch its torque off, "
            "check its supply voltage, and write the setting again."
        )
        super().__init__(self.sentence)
