"""Does the arm stand between the camera and the table?

Each link is projected from the lens onto the table, as its shadow would fall. It hides the table
where that shadow, widened by half the width of the arm, meets the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator

from armlabd.arm.geometry import Vector, forward
from armlabd.arm.joints import Pose
from armlabd.arm.placement import Placement
from armlabd.table import Area, CameraModel

HALF_WIDTH_M = 0.03  # half of the hand, the widest part, and a little
SAMPLES = 6  # points looked at along one link


def hides(pose: Pose, area: Area, camera: CameraModel, base: Placement | None = None) -> bool:
    """True when any part of `area` may be hidden from `camera` by the arm at `pose`.

    `base`: where the arm stands on the table; None = on its mark.
    """
    stand = base or Placement()
    wide = Area(
        area.x_min - HALF_WIDTH_M,
        area.x_max + HALF_WIDTH_M,
        area.y_min - HALF_WIDTH_M,
        area.y_max + HALF_WIDTH_M,
    )
    return any(wide.contains(*_shadow(stand.to_table(point), camera)) for point in _along(pose))


def _along(pose: Pose) -> Iterator[Vector]:
    reach = forward(pose)
    links = (
        (reach.elbow, reach.wrist),
        (reach.wrist, reach.roll_origin),
        (reach.roll_origin, reach.fixed_tip),
        (reach.hinge, reach.moving_tip),
    )
    for a, b in links:
        for k in range(SAMPLES + 1):
            s = k / SAMPLES
            yield (
                a[0] + (b[0] - a[0]) * s,
                a[1] + (b[1] - a[1]) * s,
                a[2] + (b[2] - a[2]) * s,
            )


def _shadow(point: Vector, camera: CameraModel) -> tuple[float, float]:
    """Where a ray from the lens through `point` meets the table, base frame, metres."""
    x, y, z = point
    if z >= camera.height_m - 0.01:  # at the lens or above: it may hide everything
        return camera.x, camera.y
    stretch = camera.height_m / (camera.height_m - z)
    return camera.x + (x - camera.x) * stretch, camera.y + (y - camera.y) * stretch
