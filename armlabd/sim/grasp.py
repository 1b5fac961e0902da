"""What the jaws do to a block on the table: push it, turn it into line, or stop at its width.

The rules repeat what was measured on a physics model of the public arm: a block is picked when its
centre lies 14.4 to 45.9 mm from the fixed jaw's face along the opening (roll axis 6.5 to 38 mm
short of the centre) and at most 12 mm off the jaws' middle, with the hand nearly upright. Aimed at
with the tool frame itself, the fixed jaw comes down on the block and shoves it away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from armlabd.sim import jaws
from armlabd.sim.blocks import Block, wrapped
from armlabd.sim.geometry import Points

PICK_NEAR_M = 0.0144
PICK_FAR_M = 0.0459
PICK_ACROSS_M = 0.012
PICK_TILT_DEG = 25.5
LANDING_ROOM_M = 0.004  # the jaws must be this much wider than a block to come down around it
JAW_HALF_WIDTH_M = 0.008
JAW_THICKNESS_M = 0.008
PUSH_MPS = 0.5  # how fast a block slides from under a jaw
NEAR_M = 0.14  # beyond this from the tool no jaw can touch a block
_SLACK_M = 1e-6  # boundaries are inside


class Side(Enum):
    """Where a block lies, seen from the jaws; it is pushed on towards that side."""

    BETWEEN = "between"
    BEHIND = "behind"  # outside the fixed jaw
    BEYOND = "beyond"  # outside the moving jaw
    ASIDE = "aside"  # off the jaws' width


@dataclass(frozen=True, slots=True)
class Hand:
    """The hand as the table sees it: the tool point and the opening's direction on the table."""

    x: float
    y: float
    z: float
    opening_x: float  # unit vector on the table
    opening_y: float
    yaw_deg: float  # of the opening
    upright: float  # cosine of the tilt
    fixed_tip_z: float
    moving_tip_z: float
    jaw_deg: float

    def depth_of(self, z: float) -> float:
        """The depth below the gripper link's origin of a height above the table."""
        return jaws.TOOL_DEPTH_M + (self.z - z) / max(self.upright, 0.2)


def hand_of(points: Points, jaw_deg: float) -> Hand | None:
    """The hand for the table, or None when the jaws open upwards and cannot grip anything there."""
    ox, oy, _ = points.opening
    length = math.hypot(ox, oy)
    if length < 0.3:
        return None
    tool = points.tool
    return Hand(
        tool[0], tool[1], tool[2], ox / length, oy / length, math.degrees(math.atan2(oy, ox)),
        -points.axis[2], points.fixed_tip[2], points.moving_tip[2], jaw_deg,
    )  # fmt: skip


class Touch:
    """One block and the jaws during one time step, in the hand's own measures.

    `along` is the centre's distance from the fixed jaw's face along the opening, `off` its
    distance from the jaws' middle, `turn_deg` the block's yaw from the jaws' (-45..45).
    """

    def __init__(self, hand: Hand, block: Block) -> None:
        self.hand, self.block = hand, block
        dx, dy = block.x - hand.x, block.y - hand.y
        self.along = dx * hand.opening_x + dy * hand.opening_y
        self.off = dy * hand.opening_x - dx * hand.opening_y
        self.turn_deg = wrapped(block.yaw_deg - hand.yaw_deg, 90.0)
        top_z = block.z + block.height_m
        self.fixed_low = block.z <= hand.fixed_tip_z + 0.01 and hand.fixed_tip_z < top_z
        self.moving_low = block.z <= hand.moving_tip_z + 0.01 and hand.moving_tip_z < top_z
        self.top_depth = hand.depth_of(top_z)
        self.gap = jaws.clear_gap_m(hand.jaw_deg, self.top_depth)

    @property
    def low(self) -> bool:
        """True when a jaw reaches below the block's top."""
        return self.fixed_low or self.moving_low

    @property
    def half(self) -> float:
        """Half the block's extent along the opening, as it is turned now."""
        turn = math.radians(abs(self.turn_deg))
        return self.block.size_m / 2 * (math.cos(turn) + math.sin(turn))

    @property
    def in_width(self) -> bool:
        """True when the block overlaps the jaws' width."""
        return abs(self.off) < self.half + JAW_HALF_WIDTH_M - _SLACK_M

    @property
    def on_fixed(self) -> bool:
        """True when the block and the fixed jaw overlap."""
        inside = -JAW_THICKNESS_M - self.half < self.along < self.half - _SLACK_M
        return self.fixed_low and self.in_width and inside

    @property
    def on_moving(self) -> bool:
        """True when the block and the moving jaw overlap."""
        inside = self.gap - self.half < self.along < self.gap + JAW_THICKNESS_M + self.half
        return self.moving_low and self.in_width and inside

    @property
    def in_zone(self) -> bool:
        """True when the centre lies where the jaws pick, however high the hand is."""
        return (
            self.hand.upright >= math.cos(math.radians(PICK_TILT_DEG))
            and PICK_NEAR_M - _SLACK_M <= self.along <= PICK_FAR_M + _SLACK_M
            and abs(self.off) <= PICK_ACROSS_M + _SLACK_M
        )

    @property
    def pickable(self) -> bool:
        """True when closing the jaws would pick the block."""
        return self.fixed_low and self.moving_low and self.in_zone

    @property
    def jammed(self) -> bool:
        """True when the block is under a gap too narrow for the jaws to come down around it."""
        narrow = self.gap < self.block.size_m + LANDING_ROOM_M
        return narrow and self.in_width and 0.0 < self.along < self.gap

    @property
    def stop_deg(self) -> float:
        """The jaw angle at which the jaws hold the block in line."""
        return jaws.angle_at_width(self.block.size_m, self.top_depth)

    def side_when_free(self) -> Side:
        """Where a block lies that no jaw touches."""
        if not self.in_width:
            return Side.ASIDE
        if self.along < 0:
            return Side.BEHIND
        return Side.BETWEEN if self.along < self.gap else Side.BEYOND

    def side_when_landing(self) -> Side:
        """Where a block goes when the jaws come down onto it."""
        if self.in_zone and self.gap >= self.block.size_m + LANDING_ROOM_M:
            return Side.BETWEEN
        if abs(self.off) > PICK_ACROSS_M + _SLACK_M:
            return Side.ASIDE
        if self.along < self.gap / 2:
            return Side.BEHIND
        return Side.BEYOND

    def push(self, side: Side, dt_s: float) -> Side:
        """Move the block out of the jaws towards its side; returns the side it is on now."""
        if side is Side.BETWEEN:
            if not self.on_moving or self.pickable:
                self._push_between()
                return side
            side = Side.ASIDE  # the jaw meets it too far out and squeezes it away
        step = PUSH_MPS * dt_s
        if side is Side.BEHIND:
            self.along = max(self.along - step, -JAW_THICKNESS_M - self.half)
        elif side is Side.BEYOND:
            self.along = min(self.along + step, self.gap + JAW_THICKNESS_M + self.half)
        else:
            self.off = _outward(self.off, step, self.half + JAW_HALF_WIDTH_M)
        return side

    def _push_between(self) -> None:
        if self.on_fixed:
            self.along = self.half
        if not self.on_moving:
            return
        size = self.block.size_m
        if self.gap < 2 * self.half:  # squeezed on both sides: it turns until it fits
            fit = min(max(self.gap / (size * math.sqrt(2)), math.sqrt(0.5)), 1.0)
            turn = max(0.0, math.degrees(math.asin(fit)) - 45.0)
            self.turn_deg = math.copysign(min(turn, abs(self.turn_deg)), self.turn_deg)
        self.along = max(self.gap - self.half, self.half)

    def align(self) -> None:
        """Lay the block flat against the fixed jaw, as both jaws hold it."""
        self.turn_deg, self.along = 0.0, self.block.size_m / 2
        self.store()

    def store(self) -> None:
        """Write the measures back to the block."""
        hand, block = self.hand, self.block
        ux, uy = hand.opening_x, hand.opening_y
        block.x = hand.x + self.along * ux - self.off * uy
        block.y = hand.y + self.along * uy + self.off * ux
        quarter = round((block.yaw_deg - hand.yaw_deg - self.turn_deg) / 90.0)
        block.yaw_deg = wrapped(hand.yaw_deg + self.turn_deg + 90.0 * quarter, 360.0)


def _outward(value: float, step: float, limit: float) -> float:
    """A coordinate moved away from zero by a step, at most to the limit."""
    return math.copysign(min(abs(value) + step, max(limit, abs(value))), value)
