"""How many connections stay open: beyond the limit the one idle longest is closed.

So neither a flood of connections nor one that never speaks keeps a stop out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp.web import RequestHandler


class Connections:
    """The open connections, in the order of their last use."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._requests: OrderedDict[RequestHandler, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._requests)

    def opened(self, connection: RequestHandler) -> None:
        """A new connection; another one is closed where there are too many."""
        while len(self._requests) >= self._most:
            self._close(self._least_needed())
        self._requests[connection] = 0

    def closed(self, connection: RequestHandler) -> None:
        """A connection is gone."""
        self._requests.pop(connection, None)

    @contextmanager
    def busy(self, connection: RequestHandler) -> Iterator[None]:
        """A request on this connection is being answered."""
        self._count(connection, 1)
        try:
            yield
        finally:
            self._count(connection, -1)

    def _count(self, connection: RequestHandler, change: int) -> None:
        if connection in self._requests:
            self._requests[connection] += change
            self._requests.move_to_end(connection)

    def _least_needed(self) -> RequestHandler:
        """The one idle longest; where all are busy, the oldest of them."""
        idle = (one for one, requests in self._requests.items() if requests == 0)
        return next(idle, next(iter(self._requests)))

    def _close(self, connection: RequestHandler) -> None:
        self._requests.pop(connection)
        if connection.transport is not None:
            connection.transport.abort()
