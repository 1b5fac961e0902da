"""Tools name points of the table; the arm's geometry knows its base. One place converts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from armlabd.arm.geometry import forward
from armlabd.arm.joints import HOME, VIEW
from armlabd.arm.limits import CEILINGS
from armlabd.arm.placement import Placement
from armlabd.gate.moves import MoveSettings, hides_table, plan_motion
from armlabd.verdict import Verdict

MARK = MoveSettings(CEILINGS, HOME.arm, VIEW.arm, (0.0, -98.0, 86.0, 75.0, 0.0))
TURNED = replace(MARK, base=Placement(0.012, -0.008, 0.002, 3.0))
ARGS = {"x": 0.22, "y": 0.06, "z": 0.03, "speed_dps": 30.0, "yaw_deg": 10.0}


@pytest.mark.parametrize("settings", [MARK, TURNED])
def test_the_grasp_point_ends_on_the_named_point_of_the_table(settings: MoveSettings) -> None:
    legs = plan_motion("move_to_pose", ARGS, HOME.with_grip(50.0), False, settings)
    assert not isinstance(legs, Verdict), legs
    reach = forward(legs[-1].end)
    assert settings.base.to_table(reach.grasp) == pytest.approx((0.22, 0.06, 0.03), abs=1e-6)
    assert reach.yaw_deg + settings.base.yaw_deg == pytest.approx(10.0)


def test_a_move_to_the_same_point_keeps_its_roll_wherever_the_base_stands() -> None:
    over = {**ARGS, "z": 0.07}
    down = {name: value for name, value in ARGS.items() if name != "yaw_deg"}
    legs = plan_motion("move_to_pose", over, HOME.with_grip(50.0), False, TURNED)
    assert not isinstance(legs, Verdict)
    start = legs[-1].end
    legs = plan_motion("move_to_pose", down, start, False, TURNED)
    assert not isinstance(legs, Verdict)
    assert legs[-1].end.roll == pytest.approx(start.roll, abs=0.5)


def test_the_camera_sees_the_arm_where_the_base_really_stands() -> None:
    # Swung aside and just out of sight; a base far to the side brings it back into the picture.
    assert not hides_table(VIEW, MARK)
    assert hides_table(VIEW, replace(MARK, base=Placement(0.0, 0.0, 0.0, 100.0)))
