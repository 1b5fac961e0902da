"""`python -m armlabd.bench.flood URL CLIENTS SECONDS`: keep-alive clients asking GET /status.

The key comes in the environment as ARMLABD_BENCH_KEY. Says "flooding", then at SIGTERM or when the
time is over how often each status came, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter

import aiohttp


async def main(url: str, clients: int, seconds: float) -> Counter[str]:
    """Flood until told to end; how often each status came."""
    counts: Counter[str] = Counter()
    headers = {"X-API-Key": os.environ.get("ARMLABD_BENCH_KEY", "")}
    async with aiohttp.ClientSession(url, headers=headers) as session:
        tasks = [asyncio.create_task(_ask(session, counts)) for _ in range(clients)]
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        sys.stdout.write("flooding\n")
        sys.stdout.flush()
        try:
            await asyncio.wait_for(ended.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return counts


async def _ask(session: aiohttp.ClientSession, counts: Counter[str]) -> None:
    while True:
        try:
            async with session.get("/status") as answer:
                await answer.read()
                counts[str(answer.status)] += 1
        except aiohttp.ClientError:
            counts["no answer"] += 1
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    found = asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
    sys.stdout.write(json.dumps(found) + "\n")
