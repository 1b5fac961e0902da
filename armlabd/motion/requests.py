"""Requests from the socket: each word with what it may do, refused by value, never by exception."""

from __future__ import annotations

import base64
import binascii
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from armlabd.arm.joints import Pose
from armlabd.motion.guard import START_TOLERANCE_DEG
from armlabd.motion.health import STATES, code_of
from armlabd.motion.job import Job, Planning, Reply, cancelled, check_given, plan_inside, plan_route
from armlabd.motion.messages import MAX_POINTS, MotionResult
from armlabd.motion.settings import is_number
from armlabd.verdict import Code

if TYPE_CHECKING:
    from armlabd.motion.core import Core

STALE_S = 0.05  # five cycles: an older pose is no ground to move on
ROW_BYTES = 48  # six little-endian float64
TORQUE_RANGE = (5.0, 50.0)  # percent; 100 trips the servo's overload latch after 2 s
LEAVING = "armlabd is ending: the arm follows its exit policy and takes no other motion."
STOPPED = "The arm is stopped. A person with the operator role clears it; nothing resumes."


class PackedPoints(Sequence[Pose]):
    """The set-points of a packed program, unpacked one at a time: a long one costs no pause."""

    def __init__(self, text: object) -> None:
        """Raises ValueError with a sentence for anything but base64 of rows of six float64."""
        if not isinstance(text, str) or len(text) > MAX_POINTS * ROW_BYTES * 4 // 3 + 4:
            raise ValueError(f"The program must be base64 text of at most {MAX_POINTS} set-points.")
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("The program is no base64 text.") from None
        if not raw or len(raw) % ROW_BYTES:
            raise ValueError("The program must hold rows of six float64 numbers.")
        self._numbers = array("d", raw)
        self._count = len(self._numbers) // 6

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Pose: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Pose]: ...

    def __getitem__(self, index: int | slice) -> Pose | Sequence[Pose]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        if not -self._count <= index < self._count:
            raise IndexError(index)
        start = index % self._count * 6
        return Pose._make(self._numbers[start : start + 6])


class Requests:
    """The words of the table in `messages`, for one core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.bad = 0

    def handle(
        self,
        request: Mapping[str, Any],
        reply: Reply,
        owner: object,
        received_s: float | None,
    ) -> None:
        """Carry out one request; an unknown word is counted and refused."""
        word = request.get("do")
        if word == "stop":
            code, by = _text(request, "cause") or "asked", _text(request, "by")
            reply(self._core.stop(code, by, received_s).as_dict())
        elif word == "lease":
            self._core.lease.renew(owner, self._core.clock.monotonic())
        elif word == "clear":
            self._core.clear(_text(request, "by"), _text(request, "role"), reply)
        elif word in ("move", "park", "come_inside"):
            self._motion(word, request, reply)
        elif word == "cancel":
            self._cancel(reply)
        elif word == "hello":
            self._hello(request, reply, owner)
        elif word == "goodbye":
            self._core.leaving.begin(self._core.settings.exit, self._core.clock.monotonic())
            reply({"code": str(Code.OK), "policy": self._core.settings.exit})
        else:
            self.bad += 1
            reply({"code": str(Code.BAD_JSON), "sentence": f"Unknown request {word!r:.40}."})

    def _hello(self, request: Mapping[str, Any], reply: Reply, owner: object) -> None:
        if request.get("role") == "daemon":
            self._core.lease.renew(owner, self._core.clock.monotonic())
        reply({"digest": self._core.digest, "pid": self._core.pid})

    def _cancel(self, reply: Reply) -> None:
        sentence = "The motion was cancelled; the arm came to rest and holds."
        self._core.conductor.brake(cancelled(Code.CANCELLED, sentence))
        reply({"code": str(Code.OK), "sentence": sentence})

    # --- motion

    def _motion(self, word: str, request: Mapping[str, Any], reply: Reply) -> None:
        core = self._core
        refused = self.refusal(core.clock.monotonic())
        job = None
        if refused is None:
            job = self._job(word, request, reply)
            refused = job if isinstance(job, MotionResult) else None
        if isinstance(job, Job):
            core.conductor.start(job)
        elif refused is not None:
            pose = core.measured.pose
            held = core.conductor.grip.holding
            percent = None if pose is None else round(pose.grip, 2)
            reply({**refused.as_dict(), "holding": held, "grip_percent": percent})

    def refusal(self, now_s: float, own: bool = False) -> MotionResult | None:
        """Why no motion may start now, or None. The order is fixed."""
        core = self._core
        if core.latch.stopped:
            return cancelled(Code.STOPPED, STOPPED)
        if not core.link.ready:
            sentence = f"{core.link.detail} {STATES[core.link.state]}".strip()
            return cancelled(code_of(core.link.state), sentence)
        if not own and core.leaving.policy:
            return cancelled(Code.LEASE_LOST, LEAVING)
        if not own and not core.lease.alive(now_s):
            return cancelled(Code.LEASE_LOST, "No daemon holds the lease: the arm rests.")
        if core.conductor.job is not None:
            return cancelled(Code.BUSY, "The arm is moving already. Wait for it, or cancel it.")
        if core.measured.pose is None or core.measured.age_s(now_s) > STALE_S:
            return cancelled(Code.OLD_STATE, "The last reading is older than 50 ms. Try again.")
        trouble = core.watch.look()
        return None if trouble is None else cancelled(code_of(trouble.state), trouble.sentence)

    def _job(self, word: str, request: Mapping[str, Any], reply: Reply) -> Job | MotionResult:
        core = self._core
        start = core.measured.pose
        assert start is not None
        run = _text(request, "run") or None
        if word == "park":
            return self.park(reply, run)
        settings, limits = core.settings, core.link.limits
        if word == "come_inside":
            start = self._start()
            home = Pose(*settings.home_pose, start.grip)

            def inside(pose: Pose) -> Planning:
                return plan_inside(pose, limits, home, settings.period_s)

            return Job(word, inside(start), reply, run=run, again=inside)
        contact, torque = request.get("contact", False), request.get("torque_percent")
        if not isinstance(contact, bool) or (torque is not None and not _fits(torque)):
            low, high = TORQUE_RANGE
            sentence = f"contact is true or false; torque_percent a number {low:g} to {high:g}."
            return cancelled(Code.BAD_PROGRAM, sentence)
        try:
            points = PackedPoints(request.get("program"))
        except ValueError as error:
            return cancelled(Code.BAD_PROGRAM, str(error))
        planning = check_given(points, settings.period_s, limits, start)
        return Job(word, planning, reply, contact=contact, torque_percent=torque, run=run)

    def _start(self) -> Pose:
        """Where a move of the core's own begins: at the last goal, so that no sag is walked down.

        An arm that is not there (limp, pushed aside, blocked) begins where it is.
        """
        pose, goal = self._core.measured.pose, self._core.conductor.goal
        assert pose is not None
        if goal is None:
            return pose
        apart = max(abs(a - b) for a, b in zip(pose[:5], goal[:5], strict=True))
        return goal if apart <= START_TOLERANCE_DEG else pose

    def park(self, reply: Reply, run: str | None = None, own: bool = False) -> Job:
        """The move to the resting pose; the torque goes off at its end."""
        core = self._core
        settings, limits, start = core.settings, core.link.limits, self._start()
        park, home = (Pose(*p, start.grip) for p in (settings.park_pose, settings.home_pose))

        def route(pose: Pose) -> Planning:
            speed_dps, period_s = settings.speed_dps, settings.period_s
            return plan_route(pose, park, home, speed_dps, limits, period_s)

        release = core.leaving.then_release(reply)
        return Job("park", route(start), release, run=run, own=own, again=route)


def _text(request: Mapping[str, Any], key: str) -> str:
    value = request.get(key)
    return value[:80] if isinstance(value, str) else ""


def _fits(torque: object) -> bool:
    low, high = TORQUE_RANGE
    return is_number(torque) and low <= torque <= high  # type: ignore[operator]
