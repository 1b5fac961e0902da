"""The asyncio side of the core's socket: what gate and doors hold instead of the arm.

The client renews the lease, watches the heartbeat, and never blocks the loop. Losing the core is
told once through `on_lost`; the daemon then kills the process and runs the release helper.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armlabd.arm.path import Program, pack
from armlabd.clock import Clock
from armlabd.motion.messages import CoreState, LineReader, MotionResult, StopResult, encode
from armlabd.verdict import Code, Verdict

LEASE_EVERY_S = 0.1  # five renewals fit into the shortest lapse the core forgives
WATCH_EVERY_S = 0.02
LONGEST_WAIT = 10  # heartbeats for an acknowledgement, however late this loop itself is
UNREACHABLE = (
    "The motion core does not answer, so nobody can say whether the arm stopped. The daemon ends "
    "the core and releases the arm; if the arm still moves, cut its power."
)
LOST = "The motion core fell silent; the arm is being released."

OnLost = Callable[[str], None]


class CoreGone(ConnectionError):
    """The core's socket is closed or was never open."""


class CoreClient:
    """One connection to the motion core.

    `snapshot` is the last pushed state. `on_lost("core_lost")` is called at most once per
    connection: the socket closed unasked, no push came for `heartbeat_s` although this loop was on
    time, or a stop was not acknowledged within `heartbeat_s`.
    """

    def __init__(
        self,
        path: Path | str,
        clock: Clock,
        *,
        heartbeat_s: float = 0.1,
        on_lost: OnLost | None = None,
    ) -> None:
        self.path = str(path)
        self.clock = clock
        self.heartbeat_s = heartbeat_s
        self.on_lost = on_lost
        self.snapshot: CoreState | None = None
        self._details: dict[str, Any] = {}
        self._state: dict[str, Any] = {}  # pushes tell what has changed
        self._heard_s = 0.0
        self._ids = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._closed: asyncio.StreamWriter | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False

    @property
    def connected(self) -> bool:
        """True while the socket to the core is open (says nothing about the arm)."""
        return self._writer is not None

    @property
    def core_pid(self) -> int | None:
        """The process at the other end of the socket, as the kernel knows it, or None."""
        peer = None if self._writer is None else self._writer.get_extra_info("socket")
        if peer is None:
            return None
        found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[0])

    @property
    def state_age_s(self) -> float:
        """Seconds since the last push."""
        return self.clock.monotonic() - self._heard_s

    async def connect(self, *, lease: bool = True) -> None:
        """Open the socket and take the lease. Raises OSError while there is no core."""
        reader, writer = await asyncio.open_unix_connection(self.path, limit=2**20)
        self._writer, self._closing = writer, False
        self._heard_s = self.clock.monotonic()
        self._send({"do": "hello", "role": "daemon" if lease else "visitor"})
        jobs = [self._listen(reader), self._watch()]
        if lease:
            jobs.append(self._renew())
        self._tasks = [asyncio.get_running_loop().create_task(job) for job in jobs]

    async def goodbye(self) -> None:
        """Let the core follow its exit policy. The connection stays: a stop still gets through."""
        self._closing = True
        if self.connected:
            with contextlib.suppress(CoreGone, TimeoutError):
                await asyncio.wait_for(self._ask({"do": "goodbye"}), 1.0)

    async def close(self, goodbye: bool = False) -> None:
        """Leave; with `goodbye` the core follows its exit policy, without it waits for a daemon."""
        self._closing = True
        if goodbye:
            await self.goodbye()
        await self._drop()

    async def move(
        self,
        program: Program,
        *,
        contact: bool = False,
        torque_percent: float | None = None,
        run: str | None = None,
    ) -> MotionResult:
        """Run a joint program; answers when the arm has arrived, or why it has not.

        With `contact` a closing gripper may meet something: the motion then ends with
        `contact=True`. Cancelling the awaiting task does not stop the arm: use `cancel`.
        """
        body = {"contact": contact, "torque_percent": torque_percent, "run": run}
        return await self._motion({"do": "move", "program": pack(program), **body})

    async def park(self, run: str | None = None) -> MotionResult:
        """Move to the resting pose and switch the torque off."""
        return await self._motion({"do": "park", "run": run})

    async def come_inside(self, run: str | None = None) -> MotionResult:
        """Bring a limp or folded arm gently inside the limits."""
        return await self._motion({"do": "come_inside", "run": run})

    async def stop(self, cause: str, by: str) -> StopResult:
        """Stop now; tells what was written and confirmed. Never raises for a lost core."""
        asked = asyncio.ensure_future(self._ask({"do": "stop", "cause": cause, "by": by}))
        try:
            if await self._acknowledged(asked):
                return StopResult.from_dict(asked.result())
        except CoreGone:
            pass
        finally:
            asked.cancel()
        self._lost()
        return StopResult(False, 0, 6, UNREACHABLE)

    async def _acknowledged(self, asked: asyncio.Future[dict[str, Any]]) -> bool:
        """Whether the answer comes within a heartbeat; time that this loop lost does not count.

        A loop that was kept from the processor finds the answer and the end of its patience at
        once, and the core is not to be ended for that.
        """
        began_s = before_s = self.clock.monotonic()
        waited_s = 0.0
        while waited_s < self.heartbeat_s and before_s - began_s < LONGEST_WAIT * self.heartbeat_s:
            done, _ = await asyncio.wait({asked}, timeout=WATCH_EVERY_S)
            if done:
                return True
            now_s = self.clock.monotonic()
            waited_s += 0.0 if self._was_late(now_s - before_s) else now_s - before_s
            before_s = now_s
        return False

    def _was_late(self, took_s: float) -> bool:
        """Whether a wait of `WATCH_EVERY_S` took so long that this loop itself was kept waiting."""
        return took_s - WATCH_EVERY_S > self.heartbeat_s / 4

    async def clear(self, by: str) -> Verdict:
        """Clear the stop for a person with the operator role; the door has checked the role."""
        try:
            answer = await self._ask({"do": "clear", "by": by, "role": "operator"})
        except CoreGone:
            return Verdict.refused(Code.NO_ARM, LOST)
        return Verdict(Code(answer["code"]), answer["sentence"])

    async def cancel(self) -> None:
        """Come to rest on the path and hold; no latch. Nothing to do without a core."""
        with contextlib.suppress(CoreGone):
            await self._ask({"do": "cancel"})

    async def _motion(self, request: dict[str, Any]) -> MotionResult:
        try:
            return MotionResult.from_dict(await self._ask(request))
        except CoreGone:
            return MotionResult(Code.CORE_LOST, LOST)

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._ids += 1
        number = self._ids
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send({"id": number, **request})
            return await future
        finally:
            self._waiting.pop(number, None)

    def _send(self, message: dict[str, Any]) -> None:
        if self._writer is None or self._writer.is_closing():
            raise CoreGone("no connection to the motion core")
        self._writer.write(encode(message))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        lines = LineReader()
        with contextlib.suppress(OSError, ValueError):
            while data := await reader.read(2**16):
                for message in lines.feed(data):
                    self._take(message)
        self._lost()

    def _take(self, message: dict[str, Any]) -> None:
        if "details" in message:
            self._details = message["details"]
        elif "state" in message:
            self._heard_s = self.clock.monotonic()
            self._state |= message["state"]
            self.snapshot = CoreState.from_dict({**self._details, **self._state})
        elif (future := self._waiting.get(message.get("id", -1))) and not future.done():
            future.set_result(message.get("answer", {}))

    async def _renew(self) -> None:
        while True:
            with contextlib.suppress(CoreGone):
                self._send({"do": "lease"})
            await asyncio.sleep(LEASE_EVERY_S)

    async def _watch(self) -> None:
        """Miss the heartbeat only where this loop itself was on time."""
        before_s = self.clock.monotonic()
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            now_s = self.clock.monotonic()
            late, before_s = self._was_late(now_s - before_s), now_s
            if late:  # our own fault: judge from here on
                self._heard_s = max(self._heard_s, now_s)
            elif now_s - self._heard_s > self.heartbeat_s:
                self._lost()
                return

    def _lost(self) -> None:
        """Tell it once, and end everything that waits."""
        if self._writer is None:
            return
        self._closed, self._writer = self._writer, None
        self._closed.transport.abort()  # a core that does not read would keep a close waiting
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CoreGone("the motion core is gone"))
        self.snapshot = None
        if not self._closing and self.on_lost is not None:
            self.on_lost("core_lost")

    async def _drop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._lost()
        closed, self._closed = self._closed, None
        if closed is not None:
            with contextlib.suppress(OSError):
                await closed.wait_closed()
