"""From touches to zeros: which joint zeros and which base pose explain where the fingertip stood.

A person puts the tip of the fixed jaw on points of the table whose place is known. Each touch gives
five joint angles (as the calibration has them) and one point. Gauss-Newton finds nine unknowns:
five zeros, and x, y, z and turn of the base. Some of them cannot be told apart (turning pan or
turning the base) and roll hardly shows; a mild belief that each is small settles those, and says
how far each answer can be trusted. Plain Python: nine unknowns need no library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import dist, sqrt

from armlabd.arm.geometry import forward
from armlabd.arm.joints import ARM_JOINTS, Pose
from armlabd.arm.placement import (
    MAX_HEIGHT_M,
    MAX_RESIDUAL_MM,
    MAX_SHIFT_M,
    MAX_TURN_DEG,
    MAX_ZERO_DEG,
    Placement,
    Vector,
)

TOUCH_M = 0.0015  # how well a hand finds the point, and play in the joints
ZERO_DEG = 4.0  # how far off a zero usually is
SHIFT_M = 0.005  # how far from its mark a base usually stands
HEIGHT_M = 0.002
TURN_DEG = 2.0
MIN_TOUCHES = 4
MIN_SPREAD_M = 0.10  # between the two touches farthest apart
ROUNDS = 12
NEAR_ENOUGH = 1e-9
STEP_DEG, STEP_M = 1e-3, 1e-6  # of the differences

BELIEF: tuple[float, ...] = (*(ZERO_DEG,) * 5, SHIFT_M, SHIFT_M, HEIGHT_M, TURN_DEG)
STEPS: tuple[float, ...] = (*(STEP_DEG,) * 5, STEP_M, STEP_M, STEP_M, STEP_DEG)
SIZE = len(BELIEF)

Row = list[float]
Matrix = list[Row]


class AlignError(ValueError):
    """The touches give no alignment; `sentence` says what is wrong and what to do.

    `worst`: the place of the touch that fits least, when touching it again may help.
    """

    def __init__(self, sentence: str, worst: int | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.worst = worst


@dataclass(frozen=True, slots=True)
class Touch:
    """The fixed jaw's tip stood on `point` (table frame, m) while the joints read `pose`.

    `pose` has degrees without any alignment: zero is the middle of the range.
    """

    name: str
    point: Vector
    pose: Pose


@dataclass(frozen=True, slots=True)
class Fit:
    """Zeros (degrees, joint order) and base that explain the touches best.

    `left_mm`: what stays unexplained at each touch; `sigma_deg`: how sure each zero is (one
    standard deviation; near 4 = the touches do not tell).
    """

    zero_deg: tuple[float, ...]
    base: Placement
    left_mm: tuple[float, ...]
    sigma_deg: tuple[float, ...]

    @property
    def residual_mm(self) -> float:
        """The worst touch, in mm."""
        return max(self.left_mm)

    @property
    def rms_mm(self) -> float:
        """All touches together, in mm."""
        return sqrt(sum(left * left for left in self.left_mm) / len(self.left_mm))


def align(touches: Sequence[Touch]) -> Fit:
    """The alignment of an arm from at least four touches; AlignError when it cannot be believed.

    Refused: a worst touch off by more than 5 mm (it is named), zeros or a base further off than an
    arm that was put together rightly can be.
    """
    _check_touches(touches)
    fit = solve(touches)
    worst = max(range(len(touches)), key=lambda k: fit.left_mm[k])
    if fit.residual_mm > MAX_RESIDUAL_MM:
        raise AlignError(
            f"The touches do not fit one arm: {touches[worst].name} is off by "
            f"{fit.residual_mm:.1f} mm, allowed are {MAX_RESIDUAL_MM:g}. Check that each point "
            "lies where it is said to, and touch them again with the tip of the fixed jaw.",
            worst,
        )
    _check_size(fit)
    return fit


def solve(touches: Sequence[Touch]) -> Fit:
    """Gauss-Newton on the touches; nothing is refused."""
    values = [0.0] * SIZE
    for _ in range(ROUNDS):
        normal, right = _normal_equations(touches, values)
        step = _solve(normal, right)
        values = [a + b for a, b in zip(values, step, strict=True)]
        if max(abs(part) for part in step) < NEAR_ENOUGH:
            break
    normal, _ = _normal_equations(touches, values)
    sigma = [sqrt(_solve(normal, _unit(k))[k]) for k in range(len(ARM_JOINTS))]
    left = tuple(dist(_tip(touch, values), touch.point) * 1e3 for touch in touches)
    return Fit(tuple(values[:5]), _placement(values), left, tuple(sigma))


def shifted(pose: Pose, zero_deg: Sequence[float]) -> Pose:
    """`pose` with the zeros added; the gripper stays."""
    pan, lift, elbow, wrist, roll = (
        angle + zero for angle, zero in zip(pose.arm, zero_deg[:5], strict=True)
    )
    return Pose(pan, lift, elbow, wrist, roll, pose.grip)


def _placement(values: Sequence[float]) -> Placement:
    return Placement(*values[5:])


def _tip(touch: Touch, values: Sequence[float]) -> Vector:
    """Where the tip would stand on the table if `values` were true."""
    return _placement(values).to_table(forward(shifted(touch.pose, values)).fixed_tip)


def _normal_equations(touches: Sequence[Touch], values: Row) -> tuple[Matrix, Row]:
    """J'WJ and J'Wr of all touches, with the belief that every value is near zero."""
    normal = [[0.0] * SIZE for _ in range(SIZE)]
    right = [0.0] * SIZE
    for touch in touches:
        here = _tip(touch, values)
        columns = [_difference(touch, values, here, k) for k in range(SIZE)]
        misses = [want - have for want, have in zip(touch.point, here, strict=True)]
        for axis in range(3):
            row = [column[axis] / TOUCH_M for column in columns]
            miss = misses[axis] / TOUCH_M
            for a in range(SIZE):
                right[a] += row[a] * miss
                for b in range(SIZE):
                    normal[a][b] += row[a] * row[b]
    for k, belief in enumerate(BELIEF):
        normal[k][k] += 1.0 / belief**2
        right[k] -= values[k] / belief**2
    return normal, right


def _difference(touch: Touch, values: Row, here: Vector, place: int) -> Row:
    """How the tip moves with one unknown."""
    moved = list(values)
    moved[place] += STEPS[place]
    there = _tip(touch, moved)
    return [(b - a) / STEPS[place] for a, b in zip(here, there, strict=True)]


def _unit(place: int) -> Row:
    return [1.0 if k == place else 0.0 for k in range(SIZE)]


def _solve(matrix: Matrix, right: Row) -> Row:
    """A small symmetric positive system, by Cholesky: the belief makes it positive."""
    size = len(right)
    low = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(low[i][k] * low[j][k] for k in range(j))
            low[i][j] = sqrt(rest) if i == j else rest / low[j][j]
    half: Row = []
    for i in range(size):
        half.append((right[i] - sum(low[i][k] * half[k] for k in range(i))) / low[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        rest = half[i] - sum(low[k][i] * found[k] for k in range(i + 1, size))
        found[i] = rest / low[i][i]
    return found


def _check_touches(touches: Sequence[Touch]) -> None:
    points = {touch.point for touch in touches}
    if len(points) < MIN_TOUCHES:
        raise AlignError(
            f"There are {len(points)} different points; alignment needs at least {MIN_TOUCHES}. "
            "Touch the others too."
        )
    spread = max(dist(a, b) for a in points for b in points)
    if spread < MIN_SPREAD_M:
        raise AlignError(
            f"The points lie within {spread * 1e3:.0f} mm; they must be at least "
            f"{MIN_SPREAD_M * 1e3:.0f} mm apart. Choose points spread over the table."
        )


def _check_size(fit: Fit) -> None:
    """Refuse figures that no rightly built arm has."""
    for name, zero in zip(ARM_JOINTS, fit.zero_deg, strict=True):
        if abs(zero) > MAX_ZERO_DEG:
            raise AlignError(
                f"The zero of {name} would be off by {zero:.1f} degrees, allowed are "
                f"{MAX_ZERO_DEG:g}. Run armlabd calibrate again and sweep every joint to both ends."
            )
    base = fit.base
    shift = max(abs(base.x), abs(base.y))
    if shift > MAX_SHIFT_M or abs(base.z) > MAX_HEIGHT_M or abs(base.yaw_deg) > MAX_TURN_DEG:
        raise AlignError(
            f"The base would stand {base.x * 1e3:.0f}, {base.y * 1e3:.0f}, {base.z * 1e3:.0f} mm "
            f"and {base.yaw_deg:.1f} degrees off its mark. Put it on its mark, or tell the points "
            "as they lie, and touch them again."
        )
