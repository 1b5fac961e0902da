"""The board itself in the status: its addresses, its disk, its clock, and how it came up before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from armlabd.clock import Clock
from armlabd.config.model import HttpConfig
from armlabd.daemon.network import Network
from armlabd.doctor.board import kernel_synced
from armlabd.record.audit import SYNCED_MARK, boot_id
from armlabd.record.space import look
from armlabd.record.starts import StartCounter

COUNT_S = 600.0  # between two writes of the time that this board has run
UNSET = (
    "Nothing to do: only dates that are shown may be wrong. A network sets it, or a clock module."
)


class Board:
    """What is shown of one board; counts its starts and the time it has run."""

    def __init__(self, state: Path, http: HttpConfig, clock: Clock) -> None:
        self._state, self._http, self._clock = state, http, clock
        self._began_s = clock.monotonic()
        self.starts = StartCounter(state, boot_id())
        self._network: Network | None = None
        self._counting: asyncio.Task[None] | None = None

    def open(self, port: int) -> Network:
        """The door listens on `port`: say so where others may come in."""
        self._network = Network(self._http, port)
        self._network.start()
        self._counting = asyncio.create_task(self._count(), name="board")
        return self._network

    async def close(self) -> None:
        """An end in order."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.gather(self._counting, return_exceptions=True)
        if self._network is not None:
            await self._network.close()
        self.starts.ran(self._since_start_s())
        self.starts.ended()

    def age_s(self) -> int:
        """Seconds that this board has run in all: days that no jump of a clock can make."""
        return self.starts.before_s + int(self._since_start_s())

    def read(self) -> dict[str, Any]:
        """The board's parts of GET /status."""
        network = {} if self._network is None else self._network.status()
        disk = look(self._state).as_dict()
        synced = SYNCED_MARK.exists() or bool(kernel_synced())
        clock = {"state": "set" if synced else "not set", "next": "" if synced else UNSET}
        return {"network": network, "disk": disk, "clock": clock, "starts": self.starts.as_dict()}

    def _since_start_s(self) -> float:
        return self._clock.monotonic() - self._began_s

    async def _count(self) -> None:
        while True:
            await asyncio.sleep(COUNT_S)
            await asyncio.to_thread(self.starts.ran, self._since_start_s())
