"""What planner and checker are told about the arm and the table right now."""

from __future__ import annotations

from collections.abc import Mapping

from armlabd.check.checker import CheckContext
from armlabd.config import Config
from armlabd.gate.session import RobotSession
from armlabd.perceive.scene import Scene
from armlabd.plan.context import Doubted, PlanContext
from armlabd.table import BLOCK_HEIGHT_M

NOTHING_SEEN = Scene((), (), 0.0)


def check_context(
    session: RobotSession, config: Config, scene: Scene | None = None
) -> CheckContext:
    """For a plan that would start now. Without a known pose, reach is not checked."""
    return CheckContext.of(
        config.check,
        session.table,
        session.move_settings,
        session.pose,
        holding=session.holding,
        scene=scene,
        block_height_m=config.perceive.block_height_m or BLOCK_HEIGHT_M,
    )


def plan_context(
    session: RobotSession,
    config: Config,
    scene: Scene | None,
    answers: Mapping[str, str],
    refusals: tuple[str, ...],
) -> PlanContext:
    """For a goal that is planned now; `refusals` are sentences of its earlier plans."""
    space, moves = config.workspace, session.move_settings
    return PlanContext(
        scene=scene or NOTHING_SEEN,
        places=config.places,
        area=space.area(),
        holding=session.holding,
        z_m=(space.z_min, space.z_max),
        speed_dps=moves.speed_dps,
        max_tilt_deg=moves.max_tilt_deg,
        limits=moves.limits,
        block_height_m=config.perceive.block_height_m or BLOCK_HEIGHT_M,
        answers=dict(answers),
        refusals=refusals,
        doubted=_doubted(scene, config),
    )


def _doubted(scene: Scene | None, config: Config) -> tuple[Doubted, ...]:
    """What perception turned down, with every reason; a name that no object has is not passed on,
    for a model may have read it in the picture.
    """
    names = {kind.label for kind in config.objects}
    rejected = scene.rejected if scene is not None else ()
    return tuple(
        Doubted(one.claim.label, " ".join(one.reasons))
        for one in rejected
        if one.claim.label in names
    )
