"""A motion as data: one set-point per 10 ms, the first where the arm is, the last at rest."""

from __future__ import annotations

import base64
import binascii
import math
import sys
from array import array
from dataclasses import dataclass

from armlabd.arm.joints import Pose

DT_S = 0.01  # the motion core's cycle
MAX_POINTS = 60_000  # ten minutes; bounds what a peer may send
_WIDTH = len(Pose._fields)


class ProgramError(ValueError):
    """A program that is not of its form; `sentence` says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Program:
    """Set-points `dt_s` apart. Point 0 is the start and costs no time."""

    points: tuple[Pose, ...]
    dt_s: float = DT_S
    note: str = ""

    @property
    def start(self) -> Pose:
        """Where the program begins."""
        return self.points[0]

    @property
    def goal(self) -> Pose:
        """Where the program ends, at rest."""
        return self.points[-1]

    @property
    def duration_s(self) -> float:
        """How long the program takes."""
        return (len(self.points) - 1) * self.dt_s


def pack(program: Program) -> str:
    """The set-points as base64 text: little-endian float64, six a row. dt and note go apart."""
    numbers = array("d")
    for point in program.points:
        numbers.extend(point)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def unpack(text: str, dt_s: float = DT_S, note: str = "") -> Program:
    """The program that `pack` wrote; ProgramError when the text is anything else."""
    if len(text) > MAX_POINTS * _WIDTH * 8 * 4 // 3 + 4:
        raise ProgramError(f"the program is longer than {MAX_POINTS} set-points. Split the motion.")
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as fault:
        raise ProgramError("the program is not base64 text. Send what pack() gives.") from fault
    if not raw or len(raw) % (_WIDTH * 8):
        raise ProgramError(
            f"the program has {len(raw)} bytes, which is no positive whole number of rows of "
            f"{_WIDTH * 8}. Send six float64 per set-point."
        )
    numbers = array("d")
    numbers.frombytes(raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    if not all(map(math.isfinite, numbers)):
        raise ProgramError("the program holds NaN or an infinity. Every set-point must be finite.")
    rows = range(0, len(numbers), _WIDTH)
    return Program(tuple(Pose(*numbers[k : k + _WIDTH]) for k in rows), dt_s, note)
