"""The table as the plan so far would leave it, and the steps that get there.

A sentence with two wishes needs the second one planned on what the first one leaves behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from armlabd.plan import skills
from armlabd.plan.context import PlanContext
from armlabd.plan.plan import CLOSE, Step
from armlabd.plan.question import Question
from armlabd.plan.skills import Grip, Spot
from armlabd.table import Point


class AskError(Exception):
    """Carries the question out of the depth of planning. Never leaves plan/."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.text)
        self.question = question


@dataclass(slots=True, eq=False)
class Item:
    """One object, where it will be: metres in the base frame."""

    label: str
    x: float
    y: float
    yaw_deg: float
    size_m: float

    @property
    def at(self) -> Point:
        """Its middle."""
        return self.x, self.y

    @property
    def text(self) -> str:
        """Its label and its place, for options."""
        return f"{self.label} at x {self.x:.3f}, y {self.y:.3f}"


@dataclass(slots=True)
class Desk:
    """Objects, hand and steps while a plan is made. `low` is where the open hand stands low."""

    context: PlanContext
    items: list[Item] = field(default_factory=list)
    holding: bool = False
    held: Item | None = None
    low: Spot | None = None
    came_from: Point | None = None  # where what is held lay
    mentioned: tuple[Item, ...] = ()
    speed_dps: float = 30.0
    steps: list[Step] = field(default_factory=lambda: [skills.status()])

    @classmethod
    def of(cls, context: PlanContext) -> Desk:
        """The table as it is seen now."""
        items = [Item(o.label, o.x, o.y, o.yaw_deg, o.size_m) for o in context.scene.objects]
        return cls(context, items, context.holding, speed_dps=context.speed_dps)

    @property
    def blocks(self) -> tuple[Point, ...]:
        """Where objects lie, without the one in the hand."""
        return tuple(item.at for item in self.items if item is not self.held)

    def height_m(self, item: Item) -> float:
        """How high an object is; in flat pictures as high as wide."""
        return self.context.block_height_m or item.size_m

    def rise(self) -> None:
        """Straight up, where the open hand still stands at what it let go."""
        if self.low is not None:
            self.steps.append(skills.retreat(self.low, self.speed_dps))
            self.low = None

    def pick(self, item: Item, grip: Grip) -> None:
        """Grip an object and lift it."""
        self.rise()
        self.steps += skills.pick_up(grip, self.speed_dps)
        self.holding, self.held, self.came_from = True, item, item.at
        self.mentioned = (item,)

    def put(self, spot: Spot) -> None:
        """Put what is held down on a spot."""
        self.steps += skills.put_down(spot, self.speed_dps)
        if self.held is not None:
            self.held.x, self.held.y, self.held.yaw_deg = spot.x, spot.y, spot.yaw_deg
            self.mentioned = (self.held,)
        self.holding, self.held, self.low, self.came_from = False, None, spot, None

    def hover(self, spot: Spot) -> None:
        """Bring the hand itself to a spot; open first where it goes down empty."""
        self.rise()
        if spot.z < skills.TRAVEL_Z_M and not self.holding:
            self.steps.append(skills.open_to(skills.OPEN_PERCENT, "open before going down"))
        if spot.above_z > spot.z:
            self.steps.append(skills.move(spot, spot.above_z, self.speed_dps, f"above {spot.name}"))
        self.steps.append(skills.move(spot, spot.z, self.speed_dps, f"to {spot.name}"))
        self.low = spot if spot.z < skills.LIFTED_Z_M else None

    def home(self) -> None:
        """Go home, unless the step before did."""
        if self.steps[-1].tool != "go_home":
            self.steps.append(skills.home())
        self.low = None

    def open(self, percent: float) -> None:
        """Open the empty hand."""
        self.steps.append(skills.open_to(percent, "open the hand"))

    def close(self) -> None:
        """Close the hand where it is."""
        self.steps.append(Step(CLOSE, {}, "close the hand"))

    def look(self) -> None:
        """Look at the table."""
        self.rise()
        self.steps.append(Step("look", {}, "see what lies on the table"))

    def finished(self) -> tuple[Step, ...]:
        """The steps, with the hand clear of what it let go."""
        if self.low is not None:
            self.home()
        return tuple(self.steps)
