"""Stop without a daemon: straight to the motion core's socket on this board."""

from __future__ import annotations

import asyncio
from pathlib import Path

from armlabd.cli.client import find_folders
from armlabd.clock import SystemClock
from armlabd.motion.client import CoreClient
from armlabd.motion.messages import StopResult
from armlabd.motion.sockets import SOCKET, socket_folder

WAIT_S = 1.0  # longer than the daemon waits: here nobody else is there to release the arm


def stop_core(state: Path | None) -> StopResult | None:
    """Stop every core that answers on this board; the worst result, or None when there is none."""
    found = [Path(socket_folder(folder)) / SOCKET for folder in find_folders(state)]
    results = [asyncio.run(_stop(path)) for path in found if path.exists()]
    told = [result for result in results if result is not None]
    return min(told, key=lambda result: result.confirmed, default=None)


async def _stop(path: Path) -> StopResult | None:
    client = CoreClient(path, SystemClock(), heartbeat_s=WAIT_S)
    try:
        await client.connect(lease=False)
    except OSError:
        return None
    try:
        return await client.stop("stop from the command line", "cli")
    finally:
        await client.close()
