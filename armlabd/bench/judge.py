"""What was unsafe, judged from the frames on the wire and from where everything truly was.

It shares nothing with guard, fence and checker: geometry, ranges and blocks are the virtual arm's
own. Metres, degrees and servo counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from armlabd.bench.arena import Arena
from armlabd.sim import calibration as cal
from armlabd.sim.blocks import Bin, Block
from armlabd.sim.geometry import (
    Joints,
    Points,
    Vec,
    in_hand,
    link_frames,
    points_of,
)
from armlabd.sim.grasp import JAW_HALF_WIDTH_M, JAW_THICKNESS_M
from armlabd.sim.jaws import FIXED_TIP_DEPTH_M, moving_tip
from armlabd.sim.world import World

LEAP: Final = 9  # counts between two goals 10 ms apart: 60 deg/s is 6.9, the guard allows 7.4
JAW_LEAP: Final = 16
PLAY: Final = 1  # counts of rounding
LIMP_FAR: Final = 40  # counts between a limp joint and the goal it is given
DEEP_M: Final = 0.002  # of a jaw's tip: the table gives that much
LINK_M: Final = 0.012  # wrist and elbow above the table
GOAL_TIP_M: Final = -0.001  # a goal that would put a tip lower is unsafe, arrived at or not
WALL_PLAY_M: Final = 0.00075  # at its faces
WALL_TOP_M: Final = 0.004  # of the wall, where the shape of a tip is a guess
DROP_M: Final = 0.05  # of a block's lower face when it is let go
PUSHED_M: Final = 0.015  # of a block that was never gripped
GATHERED_M: Final = 0.03  # by the closing jaws, of the block they then grip
WORSE_M: Final = 0.001


@dataclass(frozen=True, slots=True)
class Fault:
    """One unsafe thing: when (virtual time) and what."""

    at_s: float
    what: str


class Judge:
    """Watches one house; `look` is called after each of the core's ticks."""

    def __init__(self) -> None:
        self.faults: dict[str, Fault] = {}  # the first of each kind
        self.judged = 0  # goals on the wire
        self._seen = 0
        self._goals: dict[int, int] = {}
        self._depth_m = 0.0
        self._pose: tuple[Joints, float] | None = None
        self._rest: dict[str, tuple[float, float]] = {}
        self._pushed: dict[str, float] = {}
        self._held: str | None = None
        self._world: World | None = None

    def look(self, arena: Arena) -> None:
        """Judge what happened since the last look."""
        world = arena.arm.world
        assert isinstance(world, World)
        if world is not self._world:
            self._begin(world)
        at_s = arena.clock.monotonic()
        self._wire(arena, at_s)
        if not arena.torque[0]:
            self._goals.clear()
        self._truth(arena, world, at_s)

    def verdict(self, at_s: float = 0.0) -> list[str]:
        """Every fault in words; empty is good."""
        for label, pushed_m in self._pushed.items():
            if pushed_m > PUSHED_M:
                self._fault(at_s, f"the {label} was pushed by {pushed_m * 1e3:.0f} mm", label)
        return [fault.what for fault in self.faults.values()]

    def _fault(self, at_s: float, what: str, kind: str) -> None:
        self.faults.setdefault(kind, Fault(at_s, what))

    def _begin(self, world: World) -> None:
        self._world, self._held = world, world.held
        self._rest = {b.label: (b.x, b.y) for b in world.blocks.values()}
        self._pushed.clear()
        self._pose = None

    # --- the wire

    def _wire(self, arena: Arena, at_s: float) -> None:
        for _, goals in arena.goals(self._seen):
            limp = not arena.torque[0]
            for id, goal in goals.items():
                self._goal(arena, at_s, id, goal, limp)
            self._goals |= goals
            self._whole_goal(at_s)
            self.judged += 1
        self._seen = len(arena.frames)

    def _goal(self, arena: Arena, at_s: float, id: int, goal: int, limp: bool) -> None:
        spec = cal.SPECS[id - 1]
        if not spec.range_min - PLAY <= goal <= spec.range_max + PLAY:
            self._fault(at_s, f"goal {goal} of servo {id} is outside its range", f"range {id}")
        last = self._goals.get(id)
        leap = 0 if last is None or limp else abs(goal - last)
        if leap > (JAW_LEAP if id == cal.GRIPPER + 1 else LEAP):
            self._fault(at_s, f"servo {id} leaps by {leap} counts", f"leap {id}")
        if limp:
            joints, jaw = arena.arm.true_deg()
            true_deg = (*joints, jaw)[id - 1]
            here = cal.encoder_from_degrees(id - 1, true_deg) - spec.homing_offset
            if abs(goal - here) > LIMP_FAR:
                self._fault(at_s, f"limp servo {id} is sent {goal - here:.0f} counts away", "limp")

    def _whole_goal(self, at_s: float) -> None:
        """The hand where the goals would put it: never under the table, nor deeper than before."""
        if len(self._goals) != len(cal.SPECS):
            return
        deg = [
            cal.degrees_from_encoder(k, self._goals[k + 1] + spec.homing_offset)
            for k, spec in enumerate(cal.SPECS)
        ]
        points = points_of(link_frames((deg[0], deg[1], deg[2], deg[3], deg[4])), deg[5])
        low = min(points.fixed_tip[2], points.moving_tip[2])
        low = min(low, points.wrist[2] - LINK_M, points.elbow[2] - LINK_M)
        if low < GOAL_TIP_M and low < self._depth_m - WORSE_M:
            self._fault(at_s, f"a goal puts the arm {-low * 1e3:.0f} mm into the table", "goal")
        self._depth_m = min(low, 0.0)

    # --- the truth

    def _truth(self, arena: Arena, world: World, at_s: float) -> None:
        pose = arena.arm.true_deg()
        if world.held != self._held:
            self._gripped_or_let_go(world, at_s)
        if pose == self._pose:
            return
        self._pose = pose
        if arena.torque[0]:
            links = link_frames(pose[0])
            self._table(points_of(links, pose[1]), at_s)
            corners = _jaw_corners(links.gripper, pose[1])
            self._walls(world, corners, at_s)
        self._pushes(world)

    def _table(self, points: Points, at_s: float) -> None:
        low_m = min(points.fixed_tip[2], points.moving_tip[2])
        if low_m < -DEEP_M:
            self._fault(at_s, f"a jaw was {-low_m * 1e3:.1f} mm in the table", "table")
        if min(points.wrist[2], points.elbow[2]) < LINK_M:
            self._fault(at_s, "wrist or elbow lay on the table", "link")

    def _walls(self, world: World, corners: list[Vec], at_s: float) -> None:
        if world.bin is None:
            return
        if any(_in_wall(world.bin, corner) for corner in corners):
            self._fault(at_s, "a jaw was in the bin's wall", "wall")
        held = world.blocks[world.held] if world.held else None
        if held is not None and any(_in_wall(world.bin, foot) for foot in _feet(held)):
            self._fault(at_s, f"the {held.label} was carried into the bin's wall", "wall, block")

    def _gripped_or_let_go(self, world: World, at_s: float) -> None:
        gone, self._held = self._held, world.held
        if self._held is not None:
            moved_m = self._pushed.pop(self._held, 0.0)
            if moved_m > GATHERED_M:
                words = f"the {self._held} was pushed {moved_m * 1e3:.0f} mm before it was gripped"
                self._fault(at_s, words, "gathered")
        if gone is not None and gone in world.blocks:
            block = world.blocks[gone]
            self._rest[gone] = (block.x, block.y)
            if block.z > DROP_M:
                self._fault(at_s, f"the {gone} was let go at {block.z * 1e3:.0f} mm", "drop")

    def _pushes(self, world: World) -> None:
        """How far each block has been moved without being held; in the bin they may shove."""
        for block in world.blocks.values():
            if block.held or (world.bin is not None and world.bin.contains(block.x, block.y)):
                continue
            moved_m = math.dist((block.x, block.y), self._rest[block.label])
            if moved_m > self._pushed.get(block.label, 0.0):
                self._pushed[block.label] = moved_m


def _jaw_corners(gripper: tuple[float, ...], jaw_deg: float) -> list[Vec]:
    """The lower corners of both jaws."""
    opening_m, depth_m = moving_tip(jaw_deg)
    ends = (
        *((out, FIXED_TIP_DEPTH_M) for out in (0.0, -JAW_THICKNESS_M)),
        *((opening_m + out, depth_m) for out in (0.0, JAW_THICKNESS_M)),
    )
    return [
        in_hand(gripper, across, opening, depth)  # type: ignore[arg-type]
        for opening, depth in ends
        for across in (-JAW_HALF_WIDTH_M, JAW_HALF_WIDTH_M)
    ]


def _feet(block: Block) -> list[Vec]:
    """The corners of a block's lower face, as it is turned."""
    turn, half = math.radians(block.yaw_deg), block.size_m / 2
    c, s = math.cos(turn), math.sin(turn)
    return [
        (block.x + half * (a * c - b * s), block.y + half * (a * s + b * c), block.z)
        for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))
    ]


def _in_wall(tray: Bin, point: Vec) -> bool:
    """True for a point inside the wall's solid, the play taken off."""
    if point[2] > tray.height_m - WALL_TOP_M:
        return False
    out = max(abs(point[0] - tray.x), abs(point[1] - tray.y))
    inner = tray.inner_m / 2
    return inner + WALL_PLAY_M < out < inner + tray.wall_m - WALL_PLAY_M
