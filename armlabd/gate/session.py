"""RobotSession: the only way from the daemon to the arm.

Every call passes the same checks in the same order, whichever door it came through: tool, role,
rate, arguments, allowance, stop, busy, arm. A refusal is a Verdict. What could move leaves an
audit row before it moves (intent) and one after (outcome).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from armlabd.arm.joints import Pose
from armlabd.arm.limits import Limits
from armlabd.arm.path import Program
from armlabd.arm.placement import Placement
from armlabd.clock import Clock
from armlabd.config import Config
from armlabd.gate import answers
from armlabd.gate.allow import Allowance
from armlabd.gate.hold import Hold, Holder
from armlabd.gate.ledger import Asked, Ledger
from armlabd.gate.moves import Leg, MoveSettings, hides_table, plan_motion, regripped
from armlabd.gate.rate import RateLimiter
from armlabd.gate.roles import Caller, Role
from armlabd.gate.tools import ToolTable, filled, tool_table
from armlabd.gate.validate import unknown_tool, validate
from armlabd.motion.messages import CoreState, MotionResult, StopResult
from armlabd.record.audit import Audit
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)

Look = Callable[[], Awaitable[Verdict]]  # takes a picture and answers with the scene
JAW_TOOLS = ("open_gripper", "close_gripper")
WAKE_TRIES = 8
WAKE_PAUSE_S = 0.25  # s; a limp arm comes to rest on the table within a second or two
SINKING = (Code.OLD_STATE, Code.PATH_BLOCKED, Code.TOO_FAST, Code.NO_ARM)  # it moved meanwhile
# Swinging aside to look is the same motion as going home, to another fixed pose.
ALLOWED_AS = {"look": "go_home"}


class CoreLike(Protocol):
    """What the session needs of `motion.client.CoreClient`."""

    @property
    def snapshot(self) -> CoreState | None:
        """The core's last state; None while there is no core."""

    async def move(
        self,
        program: Program,
        *,
        contact: bool = False,
        torque_percent: float | None = None,
        run: str | None = None,
    ) -> MotionResult:
        """Carry out a program; answers when it has ended."""

    async def come_inside(self, run: str | None = None) -> MotionResult:
        """Switch a limp arm on where it is, and bring it inside its limits if need be."""

    async def stop(self, cause: str, by: str) -> StopResult:
        """Stop and tell what was written and confirmed."""

    async def clear(self, by: str) -> Verdict:
        """Clear the stop."""

    async def cancel(self) -> None:
        """Come to rest and hold."""


class RobotSession:
    """One arm, one holder at a time. `look` takes a picture and answers with the scene."""

    def __init__(
        self,
        core: CoreLike,
        config: Config,
        limits: Limits,
        audit: Audit,
        clock: Clock,
        *,
        simulated: bool = False,
        rate: RateLimiter | None = None,
        look: Look | None = None,
        base: Placement | None = None,
    ) -> None:
        self._core = core
        self._table = tool_table(config)
        self._moves = MoveSettings.of(config, limits, base)
        self._grip_torque_percent = config.motion.grip_torque_percent
        self._allowance = Allowance(config.gate.allow, config.gate.bypass, simulated)
        self._rate = rate or RateLimiter.of(config, clock)
        self._ledger = Ledger(audit, simulated)
        self._look = look
        self._hold = Hold()

    # --- what is so right now ----------------------------------------------------------------

    @property
    def table(self) -> ToolTable:
        """The tool table with live ranges."""
        return self._table

    @property
    def move_settings(self) -> MoveSettings:
        """What motions are planned with; the checker uses the same."""
        return self._moves

    @property
    def rate(self) -> RateLimiter:
        """The limiter, for the doors' other buckets."""
        return self._rate

    @property
    def ledger(self) -> Ledger:
        """Where the doors record what they refuse themselves."""
        return self._ledger

    @property
    def state(self) -> CoreState | None:
        """What the core last told; None while there is none."""
        return self._core.snapshot

    @property
    def stopped(self) -> bool:
        """True while the latch is set, and while nobody can tell."""
        return self.state is None or self.state.stopped

    @property
    def pose(self) -> Pose | None:
        """Where the next motion would start; None while that is not known."""
        state = self.state
        return None if state is None or state.pose is None else answers.start_pose(state)[0]

    @property
    def holding(self) -> bool:
        """True while the gripper was measured to hold something."""
        return self.state is not None and self.state.holding

    @property
    def energised(self) -> bool:
        """True while torque is on."""
        return self.state is not None and self.state.torque

    @property
    def holder(self) -> str | None:
        """Who holds the arm now, in words; None when it is free."""
        return self._hold.words

    # --- calls -------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        caller: Caller,
        *,
        run: str | None = None,
        door: bool = True,
    ) -> Verdict:
        """Carry out one tool call or refuse it. `door` False: a step of a run, not rate limited."""
        if tool == "stop":
            return await self.stop(caller, "asked through the tool")
        asked = Asked(tool, args, caller, run, door)
        # Counted first, so that calls refused for their tool or role count too.
        wait_s = self._rate.call(caller.name) if door else None
        refusal = self._first_refusal(asked, wait_s)
        if refusal is not None:
            return await self._refuse(asked, *refusal)
        if tool == "get_status":
            return answers.status(self.state)
        if tool == "look":
            return await self._take_a_look(asked)
        return await self._motion(asked, filled(self._table[tool], args))

    async def stop(self, caller: Caller, cause: str) -> Verdict:
        """Stop at once. Never limited, never refused; recorded after the frame is out.

        Always OK: `written` and `confirmed` of `of` tell what really happened.
        """
        self._hold.note_stop()
        result = await self._core.stop(cause, caller.name)
        fields = {"CAUSE": cause, "STOP_LATENCY_US": result.latency_us}
        log.warning("stop by %s (%s): %s", caller.name, cause, result.sentence, extra=fields)
        data = {"written": result.written, "confirmed": result.confirmed, "of": result.of}
        verdict = Verdict(Code.OK, result.sentence, data)
        if await self._ledger.act(caller, "stop", cause, verdict):
            return verdict
        return Verdict(Code.OK, f"{result.sentence} It could not be recorded.", data)

    async def clear(self, caller: Caller) -> Verdict:
        """Clear the stop: operators only. Resumes nothing and switches nothing on."""
        if caller.role < Role.OPERATOR:
            sentence = "Only a person with an operator's key can clear a stop. Tell them, and wait."
            verdict = Verdict.refused(Code.ROLE, sentence)
        else:
            verdict = await self._core.clear(caller.name)
        await self._ledger.act(caller, "clear_stop", "", verdict)
        return verdict

    # --- who has the arm ---------------------------------------------------------------------

    def allowance(self, tools: tuple[str, ...], caller: Caller) -> Verdict | None:
        """The refusal if this caller may not move with all of these tools now, else None."""
        for name in tools:
            tool = self._table.get(name)
            if tool is None or not (tool.moves or name == "look"):
                continue
            if caller.role < max(tool.role, Role.AGENT):
                return self._role_refusal(name, caller)
            answer = self._allowance.ask(ALLOWED_AS.get(name, name), caller)
            if isinstance(answer, Verdict):
                return answer
        return None

    def may_start(self) -> Verdict | None:
        """Why no run can start now: stopped, busy or no arm; None when it can."""
        state = self.state
        holder = self._hold.words
        waiting = answers.busy(holder, "A new run") if holder else None
        return answers.stopped(state) or waiting or answers.no_arm(state)

    def take(self, run_id: str, caller: Caller) -> Verdict:
        """Give the arm to a run, or BUSY naming the holder."""
        if self._hold.words is not None:
            return answers.busy(self._hold.words, f"Run {run_id}")
        self._hold.take(Holder(caller.name, run=run_id))
        return Verdict(Code.OK)

    def release(self, run_id: str) -> None:
        """Free the arm if this run holds it."""
        self._hold.release(run_id)

    async def cancel_motion(self, run_id: str) -> None:
        """Bring a run's motion to rest; the arm stays the run's until it is released."""
        if self._hold.is_run(run_id):
            await self._core.cancel()

    def note_stop(self) -> None:
        """A stop happened elsewhere (the button): no run that holds the arm moves it again."""
        self._hold.note_stop()

    # --- the checks, in order ----------------------------------------------------------------

    def _first_refusal(self, asked: Asked, wait_s: float | None) -> tuple[str, Verdict] | None:
        tool = self._table.get(asked.tool)
        if tool is None:
            return "tool", unknown_tool(self._table, asked.tool)
        if asked.caller.role < tool.role:
            return "role", self._role_refusal(asked.tool, asked.caller)
        if wait_s is not None:
            return "rate", _too_often(wait_s)
        problems = validate(self._table, asked.tool, asked.args)
        if problems:
            return "arguments", Verdict.of_problems(problems)
        return None

    def _role_refusal(self, tool: str, caller: Caller) -> Verdict:
        least = max(self._table[tool].role, Role.AGENT).label
        return Verdict.refused(
            Code.ROLE,
            f"The key {caller.name!r} has the role {caller.role.label}; {tool} needs {least} or "
            "more. Use another key, or ask a person to make one.",
        )

    def _state_refusal(self, asked: Asked) -> tuple[str, Verdict] | None:
        state = self.state
        if (verdict := answers.stopped(state)) or (verdict := self._revived(asked)):
            return "stop", verdict
        if (holder := self._hold.in_the_way(asked.run)) is not None:
            return "busy", answers.busy(holder, asked.tool)
        if (verdict := answers.no_arm(state)) is not None:
            return "arm", verdict
        return None

    def _revived(self, asked: Asked) -> Verdict | None:
        if asked.run is None or not self._hold.was_stopped(asked.run):
            return None
        sentence = f"Run {asked.run} was stopped and is not revived. Start a new one."
        return Verdict.refused(Code.STOPPED, sentence)

    async def _refuse(self, asked: Asked, refused_by: str, verdict: Verdict) -> Verdict:
        tool = self._table.get(asked.tool)
        if tool is None or tool.moves or asked.tool == "look":
            await self._ledger.refusal(asked, refused_by, verdict)
        return verdict

    # --- motion ------------------------------------------------------------------------------

    async def _take_a_look(self, asked: Asked) -> Verdict:
        if self._look is None:
            sentence = "There is no camera. Set [camera] source in the settings and start again."
            return await self._refuse(asked, "camera", Verdict.refused(Code.NO_CAMERA, sentence))
        refusal = answers.no_arm(self.state)
        if refusal is not None:
            return await self._refuse(asked, "arm", refusal)
        state = self.state
        if state is not None and state.pose and hides_table(state.pose, self._moves):
            if asked.caller.role < Role.AGENT:
                verdict = self._role_refusal("look", asked.caller)
                return await self._refuse(asked, "role", verdict)
            moved = await self._motion(asked, {})
            if not moved.ok:
                return moved
        return await self._look()

    async def _motion(self, asked: Asked, args: Mapping[str, float]) -> Verdict:
        allowed = self._allowance.ask(ALLOWED_AS.get(asked.tool, asked.tool), asked.caller)
        if isinstance(allowed, Verdict):
            return await self._refuse(asked, "allowance", allowed)
        refusal = self._state_refusal(asked)
        if refusal is not None:
            return await self._refuse(asked, *refusal)
        with self._hold.motion(Holder(asked.caller.name, asked.run, asked.tool)) as stops:
            return await self._recorded(asked, args, allowed, stops)

    async def _recorded(
        self, asked: Asked, args: Mapping[str, float], allowed: str, stops: int
    ) -> Verdict:
        legs = await asyncio.to_thread(self._plan, asked.tool, args)
        if isinstance(legs, Verdict):
            return await self._refuse(asked, "reach", legs)
        intent = await self._ledger.intent(asked, allowed)
        if isinstance(intent, Verdict):
            return intent
        try:
            verdict = await self._carry_out(asked, args, legs, stops)
        except asyncio.CancelledError:  # the caller went away: nothing goes on without a reader
            await asyncio.shield(self._core.cancel())
            self._ledger.cancelled(asked, intent)
            raise
        await self._ledger.outcome(asked, intent, verdict)
        return verdict

    async def _carry_out(
        self, asked: Asked, args: Mapping[str, float], legs: tuple[Leg, ...], stops: int
    ) -> Verdict:
        """Run the legs; a limp arm is first switched on where it is, and planned for anew."""
        if self.energised:
            return await self._run(asked, args, legs, stops)
        woken = await self._wake(asked.run, stops)
        if not woken.ok:
            return answers.ended(woken)
        again = await asyncio.to_thread(self._plan, asked.tool, args)
        return again if isinstance(again, Verdict) else await self._run(asked, args, again, stops)

    async def _wake(self, run: str | None, stops: int) -> MotionResult:
        """Torque on, goal := present. A limp arm may still be sinking: then it is tried again."""
        result = await self._core.come_inside(run)
        for _ in range(WAKE_TRIES - 1):
            if result.code not in SINKING or self._hold.stops != stops:
                break
            await asyncio.sleep(WAKE_PAUSE_S)
            result = await self._core.come_inside(run)
        return result

    def _plan(self, tool: str, args: Mapping[str, float]) -> tuple[Leg, ...] | Verdict:
        state = self.state
        if state is None or state.pose is None:
            return answers.no_arm(state) or answers.status(state)
        start, kept_grip = answers.start_pose(state)
        if tool in JAW_TOOLS:
            start = start.with_grip(kept_grip)
            return plan_motion(tool, args, start, state.holding, self._moves)
        legs = plan_motion(tool, args, start, state.holding, self._moves)
        if isinstance(legs, Verdict) or start.grip == kept_grip:
            return legs
        return regripped(legs, kept_grip)

    async def _run(
        self, asked: Asked, args: Mapping[str, float], legs: tuple[Leg, ...], stops: int
    ) -> Verdict:
        state = self.state
        holding, grip = self.holding, state.pose.grip if state and state.pose else 0.0
        for leg in legs:
            if self._hold.stops != stops:
                return Verdict.refused(Code.STOPPED, "The arm was stopped before this motion ran.")
            torque = self._grip_torque_percent if leg.contact else None
            result = await self._core.move(
                leg.program, contact=leg.contact, torque_percent=torque, run=asked.run
            )
            if not result.ok:
                return answers.ended(result)
            holding = result.holding
            grip = grip if result.grip_percent is None else result.grip_percent
        return answers.done(asked.tool, args, holding, grip)


def _too_often(wait_s: float) -> Verdict:
    sentence = f"Too many calls in one second. Wait {wait_s:.2f} s, then try again."
    return Verdict(Code.RATE, sentence, retry_after_s=round(wait_s, 3))
