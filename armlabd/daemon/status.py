"""GET /status: every part with its state and what to do next. Read-back values, never wishes."""

from __future__ import annotations

from typing import Any

from armlabd.arm.joints import JOINT_NAMES
from armlabd.arm.placement import Alignment
from armlabd.config import Config
from armlabd.daemon.core_process import CoreProcess
from armlabd.daemon.planners import ModelHouse
from armlabd.execute.eye import Eye
from armlabd.execute.run import Run
from armlabd.execute.runs import RunManager
from armlabd.gate.answers import NO_BUTTON
from armlabd.motion.client import CoreClient

NOT_ALIGNED = "not aligned: armlabd calibrate --align"
LETS_CLEAR = ("none", "released")  # of the stop line's states
HAND = "Keep a hand on the power switch of the servo supply."
UNREAD = f"[stop.button] names a line that is not read: set required = true. {HAND}"
PRESS_IT = "No press of it was ever seen: armlabd doctor --press"
NO_CORE: dict[str, Any] = {
    "cause": "core_lost",
    "sentence": "The motion core is not there: nothing moves until it is back.",
    "since": None,
    "written": False,
    "confirmed": 0,
}


class StatusBoard:
    """Puts the answer of GET /status together from what the rooms say of themselves."""

    def __init__(
        self,
        config: Config,
        client: CoreClient,
        core: CoreProcess,
        eye: Eye,
        runs: RunManager,
        models: ModelHouse,
        *,
        simulated: bool,
        alignment: Alignment | None = None,
    ) -> None:
        self._alignment = alignment
        self._config, self._client, self._core = config, client, core
        self._eye, self._runs, self._simulated = eye, runs, simulated
        self._models = models

    def read(self) -> dict[str, Any]:
        """The whole status."""
        state = self._client.snapshot
        active = self._runs.active
        return {
            "stopped": True if state is None else state.stopped,
            "stop": NO_CORE if state is None else (state.stop if state.stopped else None),
            "clear": self._clear(),
            "simulated": self._simulated,
            "arm": self._arm(),
            "camera": self._eye.status(),
            "planner": self._models.status(),
            "button": self._button(),
            "run": None if active is None else _run(active),
            "core": {"pid": self._core.pid, "losses": self._core.losses},
        }

    def _clear(self) -> dict[str, Any]:
        """Whether a stop can be cleared now, and what comes first if not."""
        state = self._client.snapshot
        if state is None:
            return {"possible": False, "next": NO_CORE["sentence"]}
        if not state.stopped:
            return {"possible": False, "next": ""}
        free = state.button in LETS_CLEAR
        return {"possible": free, "next": "" if free else state.button_why}

    def _arm(self) -> dict[str, Any]:
        state = self._client.snapshot
        if state is None:
            sentence = "Wait: the motion core is being restarted. If this stays, see the log."
            return {"connected": False, "state": "core_lost", "next": sentence}
        return {
            "connected": state.connected,
            "state": state.state,
            "next": state.next or self._told()["next"],
            "joints_deg": _joints(state.pose),
            "gripper_percent": None if state.pose is None else round(state.pose[5], 1),
            "age_s": state.pose_age_s,
            "torque": state.torque,
            "moving": state.moving,
            "holding_something": state.holding,
            "calibrated": state.calibrated,
            "aligned": self._alignment is not None,
            "alignment": self._told(),
            "servos": state.servos,
            "counters": state.counters,
            "cycle": state.cycle,
        }

    def _told(self) -> dict[str, Any]:
        """How far the alignment can be trusted, or what to do for one."""
        found = self._alignment
        if found is None:
            return {"state": "not aligned", "next": NOT_ALIGNED}
        return {"state": "aligned", "next": "", **found.as_dict()}

    def _button(self) -> dict[str, Any]:
        state, wanted = self._client.snapshot, self._config.stop.button
        told: dict[str, Any] = {"required": wanted.required}
        if not wanted.required:
            return {**told, "state": NO_BUTTON, "next": UNREAD if wanted.named else HAND}
        if state is None:
            return {**told, "state": "unknown", "next": NO_CORE["sentence"]}
        line = state.button_line
        proven = bool(line.get("proven_at"))
        unproven = state.button == "released" and not proven
        return {
            **told,
            "state": "unproven" if unproven else state.button,
            "next": PRESS_IT if unproven else state.button_why,
            "line": line.get("where", ""),
            "proven_at": line.get("proven_at", ""),
        }


def _run(active: Run) -> dict[str, Any]:
    """The run that has the arm, and what it waits to hear from a person."""
    return {"id": active.id, "state": str(active.state), "question": active.question}


def _joints(pose: tuple[float, ...] | None) -> dict[str, float] | None:
    if pose is None:
        return None
    return {name: round(pose[i], 1) for i, name in enumerate(JOINT_NAMES[:5])}
