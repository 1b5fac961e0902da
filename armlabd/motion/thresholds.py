"""The figures by which servos are judged, each with its reason."""

from __future__ import annotations

from typing import NamedTuple


class Threshold(NamedTuple):
    """A limit, its unit, and why it is what it is."""

    value: float
    unit: str
    why: str


class SupplyClass(NamedTuple):
    """A kind of servo by the supply it is made for; volts at rest and at least in motion.

    A servo belongs to the first class whose `highest_register` its register 14 does not exceed.
    """

    name: str
    highest_register: int  # 0.1 V
    lowest_v: float
    highest_v: float
    supply: str


SUPPLY_CLASSES = (
    # The vendor ships 80 in register 14 of the 7.4 V servo (C001) and about 140 in the 12 V one.
    SupplyClass("7.4 V", 99, 4.5, 8.4, "a supply of 5 to 7.4 V, 4 A or more"),
    SupplyClass("12 V", 254, 9.0, 14.0, "a supply of 12 V, 2 A or more"),
)

BACK_OFF = Threshold(
    55.0, "C", "a squeezing gripper gets there within a minute; from here on less power is used"
)
TOO_HOT = Threshold(65.0, "C", "the servo itself gives way at 70, and its sensor lags behind")
COOLED = Threshold(62.0, "C", "three degrees below, so that it does not come and go at the limit")
SLOWEST_SHARE = Threshold(0.5, "of the speed", "left at the limit: half the speed is half the heat")
WEAKEST_SHARE = Threshold(0.5, "of the grip", "left at the limit: 10 percent still carry a block")

SAG_SHARE = Threshold(0.1, "of the voltage", "a fall in motion that is worth telling about")
LOOKS = Threshold(3, "looks", "30 ms beyond a limit in motion: one reading may be a spike")

FASTEST_JOINT = Threshold(
    6800.0, "steps/s", "twice the servo's speed without load, 600 deg/s: no hand is faster"
)
JUMP_SLACK = Threshold(48.0, "steps", "4 degrees: backlash, and the age of the last reading")
JUMPS_IN_A_ROW = Threshold(5, "readings", "50 ms: noise is over by then, a slipped encoder is not")


def supply_class(voltage_max: int) -> SupplyClass:
    """The class of a servo by its register 14, in 0.1 V."""
    for known in SUPPLY_CLASSES:
        if voltage_max <= known.highest_register:
            return known
    return SUPPLY_CLASSES[-1]


def share_left(celsius: float, least: float) -> float:
    """What a warm servo may still give: 1 up to `BACK_OFF`, down to `least` at `TOO_HOT`."""
    over = (celsius - BACK_OFF.value) / (TOO_HOT.value - BACK_OFF.value)
    return 1.0 - (1.0 - least) * min(1.0, max(0.0, over))
