"""The gripper's jaws: one fixed, one on a hinge, and the gap between them.

Measures lie in the plane of the jaws: `opening` from the fixed jaw's inner face, `depth` below the
gripper link's origin towards the tips, both in metres. The moving jaw's inner face is a straight
line beside its hinge; its slant was fitted to the gaps measured on the public model and repeats
them within 1.5 mm. The jaw angle is the URDF's: -10 degrees shut (0 %) to 100 open (100 %).
"""

from __future__ import annotations

import math
from functools import lru_cache

JAW_SHUT_DEG = -10.0
JAW_OPEN_DEG = 100.0
TOOL_DEPTH_M = 0.0981274  # the tool frame, from the URDF
FIXED_TIP_DEPTH_M = TOOL_DEPTH_M + 0.006
HINGE_DEPTH_M = 0.0234  # from the URDF
HINGE_OPENING_M = 0.0281  # hinge to the fixed jaw's inner face: 20.2 + 7.9 mm
JAW_LENGTH_M = 0.082  # hinge to the moving jaw's tip
_SLANT_SHUT_DEG = -22.0  # the face's angle from the hand's axis at 0 % (fitted)
_FACE_OFFSET_M = 0.0029  # from the hinge line to the inner face (fitted)


def jaw_deg(percent: float) -> float:
    """The jaw angle for a gripper opening in percent (0 shut, 100 open)."""
    return JAW_SHUT_DEG + percent / 100 * (JAW_OPEN_DEG - JAW_SHUT_DEG)


def percent(angle_deg: float) -> float:
    """The gripper opening in percent for a jaw angle."""
    return (angle_deg - JAW_SHUT_DEG) / (JAW_OPEN_DEG - JAW_SHUT_DEG) * 100


def _slant(angle_deg: float) -> float:
    """The inner face's angle from the hand's axis in radians, positive = tips apart."""
    return math.radians(_SLANT_SHUT_DEG + angle_deg - JAW_SHUT_DEG)


def gap_m(angle_deg: float, depth_m: float) -> float:
    """The distance between the jaws' faces at a depth.

    Negative when the faces would overlap; good for slants below 80 degrees.
    """
    slant = _slant(angle_deg)
    below_hinge_m = depth_m - HINGE_DEPTH_M
    return HINGE_OPENING_M + below_hinge_m * math.tan(slant) + _FACE_OFFSET_M / math.cos(slant)


def moving_tip(angle_deg: float) -> tuple[float, float]:
    """The end of the moving jaw's inner face as (opening, depth)."""
    slant = _slant(angle_deg)
    s, c = math.sin(slant), math.cos(slant)
    return (
        HINGE_OPENING_M + JAW_LENGTH_M * s + _FACE_OFFSET_M * c,
        HINGE_DEPTH_M + JAW_LENGTH_M * c - _FACE_OFFSET_M * s,
    )


def clear_gap_m(angle_deg: float, top_depth_m: float) -> float:
    """The free width for a block whose top lies at `top_depth_m`, down to the jaw's tip.

    The face is straight, so the narrowest place is at one of the two ends.
    """
    tip_opening_m, tip_depth_m = moving_tip(angle_deg)
    if top_depth_m >= tip_depth_m:
        return tip_opening_m
    return min(tip_opening_m, gap_m(angle_deg, top_depth_m))


@lru_cache(maxsize=256)
def _angle_at(width_um: int, top_depth_um: int) -> float:
    low, high = JAW_SHUT_DEG, 70.0
    for _ in range(40):
        middle = (low + high) / 2
        if clear_gap_m(middle, top_depth_um / 1e6) < width_um / 1e6:
            low = middle
        else:
            high = middle
    return high


def angle_at_width(width_m: float, top_depth_m: float) -> float:
    """The jaw angle at which the jaws touch a block of `width_m` on both sides."""
    # Rounded to 0.1 mm of depth, so that a slowly moving hand finds the answer already there.
    return _angle_at(round(width_m * 1e6), round(top_depth_m * 1e4) * 100)
