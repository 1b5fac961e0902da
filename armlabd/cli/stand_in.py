"""A person for the virtual arm: moves its limp joints over the control socket and presses Enter.

It puts the true fingertip on the points, as a person with good eyes would; what the servos then
show is not its business.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from armlabd.arm.joints import ARM_JOINTS
from armlabd.cli.show import say
from armlabd.motion.calibrate import Task
from armlabd.motion.calibrate_bus import CalibrateError

TIMEOUT_S: Final = 5.0
STRIDE_DEG: Final = 8.0  # between two readings of the servos
ENDS_DEG: Final = ((-125.0, 125.0), (-110.0, 110.0), (-105.0, 105.0), (-105.0, 105.0), (-170, 170))
JAWS_PERCENT: Final = (100.0, 0.0)
FOLDED_DEG: Final = (0.0, -90.0, 86.0, 66.0, 0.0)
LOOKS: Final = 5  # readings before Enter, so that the arm lies still
ROLL_DEG: Final = 80.0


class StandIn:
    """`Person` for the virtual arm behind a control socket."""

    def __init__(self, control: Path) -> None:
        self._control = control
        self._act: Iterator[str | None] = iter(())
        self._pose = [0.0] * len(ARM_JOINTS)
        self._jaws = 0.0

    def ask(self, text: str, task: Task) -> None:
        """Do what was asked, step by step, while `entered` is called."""
        say(f"> {text}")
        self._act = self._do(task)

    def say(self, text: str) -> None:
        """A line for whoever watches."""
        say(text)

    def show(self, text: str) -> None:
        """Nobody needs the live line."""

    def entered(self) -> str | None:
        """None while a hand still moves, then Enter."""
        try:
            return next(self._act)
        except StopIteration:
            raise CalibrateError("The stand-in does not know what to do.") from None

    def _do(self, task: Task) -> Iterator[str | None]:
        if task.kind == "touch":
            yield from self._touch(task)
        elif task.kind == "pose":
            self._put()
        elif task.kind == "sweep":
            yield from self._sweep(task.name)
        for _ in range(LOOKS):
            yield None
        yield ""

    def _touch(self, task: Task) -> Iterator[str | None]:
        assert task.point is not None
        x, y, z = task.point
        slope, roll_deg = ("flat", ROLL_DEG) if task.back else ("steep", 0.0)
        where = {"x": x, "y": y, "z": z, "slope": slope, "roll_deg": roll_deg}
        answer = self._ask({"cmd": "touch", **where})
        if not answer.get("ok"):
            say(f"  (skipped: {answer.get('error')})")
            yield "skip"

    def _sweep(self, name: str) -> Iterator[str | None]:
        """From where the joint is to both ends and back, in strides."""
        joint = ARM_JOINTS.index(name) if name in ARM_JOINTS else None
        ends = JAWS_PERCENT if joint is None else (*ENDS_DEG[joint], 0.0)
        for end in ends:
            now = self._jaws if joint is None else self._pose[joint]
            while now != end:
                now += max(-STRIDE_DEG, min(STRIDE_DEG, end - now))
                if joint is None:
                    self._jaws = now
                else:
                    self._pose[joint] = now
                self._put()
                yield None

    def _put(self) -> None:
        pose = {"joints_deg": self._pose, "gripper_percent": self._jaws, "held": True}
        self._ask({"cmd": "limp", **pose})

    def let_go(self) -> None:
        """Fold the arm away from the table, and take the hand off: it sinks a little."""
        self._ask({"cmd": "limp", "joints_deg": list(FOLDED_DEG), "gripper_percent": 10.0})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One command on the control socket. Raises CalibrateError."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
                control.settimeout(TIMEOUT_S)
                control.connect(os.fspath(self._control))
                control.sendall(json.dumps(request).encode() + b"\n")
                with control.makefile("rb") as lines:
                    answer: dict[str, Any] = json.loads(lines.readline())
        except (OSError, ValueError) as error:
            raise CalibrateError(f"The virtual arm's control does not answer: {error}.") from error
        return answer
