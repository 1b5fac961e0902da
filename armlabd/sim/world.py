"""The virtual table around the arm: blocks, bin, grasping, carrying, falling, weight and contact.

It knows the arm only by its joint angles and tells the servos only what they would feel. Metres
and degrees, base frame. Nothing here is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from armlabd.sim import jaws
from armlabd.sim.blocks import Bin, Block, Solid, WorldError, default_blocks, settle, wrapped
from armlabd.sim.geometry import Joints, Links, Points, Vec, link_frames, points_of
from armlabd.sim.grasp import NEAR_M, Hand, Side, Touch, hand_of
from armlabd.sim.gravity import GRAVITY_MPS2, Torques, gravity_torques

__all__ = ["Bin", "Block", "World", "WorldError", "WorldForces", "default_blocks"]

LINK_RADIUS_M = 0.012  # a limp arm lies on its links, not on their axes
TIP_SKIN_M = 0.0015
HELD_KG = 0.025
RELEASE_DEG = math.degrees(0.001 / jaws.JAW_LENGTH_M)  # the jaw 1 mm wider than the block
CONTACT_DEG = 0.4  # a jaw this near the block's width has closed on it
_GRAVITY_STEP_DEG = 0.1  # the weight's torques are worked out anew after this much travel

Torque = tuple[bool, ...]  # six, the gripper last


class WorldForces(NamedTuple):
    """What the servos feel of the world."""

    grip_block_deg: float | None  # the jaw cannot close below this angle
    gravity: Torques  # fraction of full torque, positive = towards more degrees
    blocked: bool  # a point of the arm touches the table


class _Grip(NamedTuple):
    """A held block in the hand's own axes."""

    block: Block
    offset: Vec  # centre from the tool, along opening, across, axis
    axes: tuple[Vec, Vec, Vec]  # the block's axes in the same terms
    stop_deg: float


def _dot(a: Vec, b: Vec) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _sum(base: Vec, parts: Vec, axes: tuple[Vec, Vec, Vec]) -> Vec:
    (a, b, c), (u, v, w) = parts, axes
    return (
        base[0] + a * u[0] + b * v[0] + c * w[0],
        base[1] + a * u[1] + b * v[1] + c * w[1],
        base[2] + a * u[2] + b * v[2] + c * w[2],
    )


_ORIGIN: Vec = (0.0, 0.0, 0.0)


class World:
    """Blocks and a bin on the table. `blocks` None = the default three; `bin` None = no bin."""

    def __init__(
        self,
        blocks: Sequence[Block] | None = None,
        bin: Bin | None = Bin(),  # noqa: B008 (frozen)
    ) -> None:
        self.bin = bin
        self.blocks: dict[str, Block] = {}
        for block in default_blocks() if blocks is None else blocks:
            if block.label in self.blocks:
                raise WorldError(f"Two blocks are called {block.label!r}; each needs its own name.")
            self.blocks[block.label] = block
        self._grip: _Grip | None = None
        self._sides: dict[str, Side] = {}
        self._pose: tuple[Joints, float] | None = None
        self._links: Links
        self._points: Points
        self._hand: Hand | None = None
        self._gravity_at: tuple[float, ...] | None = None
        self._gravity: Torques = (0.0, 0.0, 0.0, 0.0, 0.0)
        self._blocked = False
        settle(list(self.blocks.values()), self.bin)

    # --- what the control socket asks

    def state(self) -> dict[str, Any]:
        """The truth as plain data: blocks (z = lower face), bin, what is in it, what is held."""
        bin_ = self.bin
        return {
            "blocks": [
                {
                    "label": b.label, "x": b.x, "y": b.y, "z": b.z, "yaw_deg": b.yaw_deg,
                    "size_m": b.size_m, "height_m": b.height_m, "held": b.held,
                }
                for b in self.blocks.values()
            ],
            "bin": None if bin_ is None else {
                "x": bin_.x, "y": bin_.y, "inner_m": bin_.inner_m, "height_m": bin_.height_m,
            },
            "in_bin": self.in_bin(),
            "held": self.held,
        }  # fmt: skip

    @property
    def held(self) -> str | None:
        """The label of the block in the jaws."""
        return self._grip.block.label if self._grip is not None else None

    def in_bin(self) -> list[str]:
        """Labels of the blocks that lie in the bin: centre inside, neither held nor falling."""
        bin_ = self.bin
        if bin_ is None:
            return []
        return [
            b.label
            for b in self.blocks.values()
            if not b.held and b.z < bin_.height_m and bin_.contains(b.x, b.y)
        ]

    def place(self, label: str, x: float, y: float, yaw_deg: float = 0.0) -> None:
        """Put a block on the table, new or moved; neighbours give way. Raises WorldError."""
        block = Block(label, x, y, yaw_deg=yaw_deg)
        if self.held == label:
            self._grip = None
        self.blocks[label] = block
        self._sides.pop(label, None)
        settle(list(self.blocks.values()), self.bin)

    def remove(self, label: str) -> None:
        """Take a block away. Raises WorldError when there is none of that name."""
        if label not in self.blocks:
            known = ", ".join(self.blocks) or "none"
            raise WorldError(f"There is no block called {label!r}; the blocks are: {known}.")
        if self.held == label:
            self._grip = None
        del self.blocks[label]
        self._sides.pop(label, None)

    def drop_all(self) -> None:
        """Lay down at once whatever is held or falling, straight below where it is."""
        self._release()
        for block in self.blocks.values():
            block.z = block.fall_mps = 0.0
        settle(list(self.blocks.values()), self.bin)

    def solids(self) -> list[Solid]:
        """Every block as it stands in space; a held one leans with the hand."""
        return [self._solid(block) for block in self.blocks.values()]

    # --- time

    def step(
        self, dt_s: float, q_deg: Joints, jaw_deg: float, jaw_closing: bool, torque_on: Torque
    ) -> WorldForces:
        """One time step with the arm as it stands now.

        `jaw_closing` is true while the gripper's servo drives towards shut (at rest against a
        block too); `torque_on` is per servo, the gripper last.
        """
        moved = self._follow(q_deg, jaw_deg)
        if self._grip is not None:
            self._carry(moved, jaw_deg, torque_on[5])
        self._fall(dt_s)
        stop_deg = self._grip.stop_deg if self._grip is not None else None
        hand = self._hand
        if self._grip is None and hand is not None and self._within_reach(hand):
            stop_deg = self._touch(hand, dt_s, jaw_closing and torque_on[5])
        return WorldForces(stop_deg, self._gravity, self._blocked)

    def _follow(self, q_deg: Joints, jaw_deg: float) -> bool:
        """Work out the arm's points unless it stands as in the step before."""
        pose = (q_deg, jaw_deg)
        if pose == self._pose:
            return False
        self._pose = pose
        self._links = link_frames(q_deg)
        self._points = points = points_of(self._links, jaw_deg)
        self._hand = hand_of(points, jaw_deg)
        self._blocked = (
            points.fixed_tip[2] <= TIP_SKIN_M
            or points.moving_tip[2] <= 0.0
            or points.wrist[2] <= LINK_RADIUS_M
            or points.elbow[2] <= LINK_RADIUS_M
            or points.roll_origin[2] <= LINK_RADIUS_M
        )
        self._weigh(q_deg)
        return True

    def _weigh(self, q_deg: Joints) -> None:
        last = self._gravity_at
        if last is not None and all(
            abs(now - then) < _GRAVITY_STEP_DEG for now, then in zip(q_deg, last, strict=True)
        ):
            return
        self._gravity_at = tuple(q_deg)
        held_kg = HELD_KG if self._grip is not None else 0.0
        self._gravity = gravity_torques(self._links, self._points, held_kg)

    def _within_reach(self, hand: Hand) -> bool:
        """True when a jaw is low enough to touch some block; else the jaws' memory is wiped."""
        lowest = min(hand.fixed_tip_z, hand.moving_tip_z)
        if any(lowest < block.z + block.height_m for block in self.blocks.values()):
            return True
        if self._sides:
            self._sides.clear()
        return False

    def _touch(self, hand: Hand, dt_s: float, closing: bool) -> float | None:
        """Let the jaws act on every block near them; returns where the closing jaw stops."""
        stop_deg: float | None = None
        pushed = False
        for block in self.blocks.values():
            touch = self._touch_of(hand, block)
            if touch is None:
                continue
            pushed = self._press(touch, dt_s) or pushed
            if self._sides[block.label] is not Side.BETWEEN or not touch.pickable:
                continue
            stop_deg = max(touch.stop_deg, stop_deg if stop_deg is not None else -math.inf)
            if closing and hand.jaw_deg <= touch.stop_deg + CONTACT_DEG:
                touch.align()
                self._take(block, touch.stop_deg)
                break
        if pushed:
            settle(list(self.blocks.values()), self.bin)
        return stop_deg

    def _touch_of(self, hand: Hand, block: Block) -> Touch | None:
        """The block beside the jaws, or None (and no memory of it) when it is out of their way."""
        near = (block.x - hand.x) ** 2 + (block.y - hand.y) ** 2 < NEAR_M * NEAR_M
        if near and block.fall_mps > 0.0:
            return None
        touch = Touch(hand, block) if near else None
        if touch is None or not touch.low:
            self._sides.pop(block.label, None)
            return None
        return touch

    def _press(self, touch: Touch, dt_s: float) -> bool:
        """Keep track of the block's side and push it there; true when it moved."""
        label = touch.block.label
        side = self._sides.get(label)
        jammed = touch.jammed and side is not Side.BETWEEN
        if not (touch.on_fixed or touch.on_moving or jammed):
            self._sides[label] = touch.side_when_free()
            return False
        if side is None:
            side = touch.side_when_landing()
        self._sides[label] = touch.push(side, dt_s)
        touch.store()
        return True

    # --- holding

    def _hand_axes(self) -> tuple[Vec, Vec, Vec]:
        points = self._points
        return (points.opening, points.across, points.axis)

    def _take(self, block: Block, stop_deg: float) -> None:
        """The jaws have closed on the block: from now on it moves with the hand."""
        hand, tool = self._hand_axes(), self._points.tool
        solid = self._solid(block)
        centre = solid.centre
        reach = (centre[0] - tool[0], centre[1] - tool[1], centre[2] - tool[2])
        axes = tuple(tuple(_dot(axis, h) for h in hand) for axis in solid.axes)
        offset = tuple(_dot(reach, h) for h in hand)
        block.held = True
        self._grip = _Grip(block, offset, axes, stop_deg)  # type: ignore[arg-type]
        self._gravity_at = None

    def _carry(self, moved: bool, jaw_deg: float, gripping: bool) -> None:
        """Move the held block with the hand, or let it go."""
        grip = self._grip
        assert grip is not None
        if moved:
            self._place_held(grip)
        if not gripping or jaw_deg > grip.stop_deg + RELEASE_DEG:
            self._release()

    def _place_held(self, grip: _Grip) -> None:
        hand, block = self._hand_axes(), grip.block
        x, y, z = _sum(self._points.tool, grip.offset, hand)
        side = _sum(_ORIGIN, grip.axes[0], hand)
        block.x, block.y = x, y
        block.z = max(0.0, z - block.height_m / 2)
        block.yaw_deg = math.degrees(math.atan2(side[1], side[0]))
        if block.z < block.height_m:  # low enough to push its neighbours
            settle(list(self.blocks.values()), self.bin)

    def _release(self) -> None:
        grip = self._grip
        if grip is None:
            return
        self._grip = None
        self._gravity_at = None
        grip.block.held = False
        grip.block.yaw_deg = wrapped(grip.block.yaw_deg, 360.0)
        self._sides[grip.block.label] = Side.BETWEEN

    def _fall(self, dt_s: float) -> None:
        """Blocks without support drop straight down, land flat and stay."""
        landed = False
        for block in self.blocks.values():
            if block.held or block.z <= 0.0:
                continue
            block.fall_mps += GRAVITY_MPS2 * dt_s
            block.z = max(0.0, block.z - block.fall_mps * dt_s)
            if block.z == 0.0:
                block.fall_mps, landed = 0.0, True
        if landed:
            settle(list(self.blocks.values()), self.bin)

    def _solid(self, block: Block) -> Solid:
        half = (block.size_m / 2, block.size_m / 2, block.height_m / 2)
        centre = (block.x, block.y, block.z + block.height_m / 2)
        if self._grip is not None and self._grip.block is block:
            hand = self._hand_axes()
            axes = tuple(_sum(_ORIGIN, axis, hand) for axis in self._grip.axes)
            return Solid(block.label, block.colour, centre, axes, half)
        turn = math.radians(block.yaw_deg)
        c, s = math.cos(turn), math.sin(turn)
        upright = ((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0))
        return Solid(block.label, block.colour, centre, upright, half)
