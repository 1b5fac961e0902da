"""Listen: bounded connections, TLS when both files are given, a clear error for a taken port."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections import OrderedDict

from aiohttp import web

from armlabd.config import Config
from armlabd.doors.http.app import HttpDoor
from armlabd.doors.http.house import House

BACKLOG = 64


class DoorError(Exception):
    """The server cannot listen; the sentence says why and what to do."""


class HttpServer:
    """The listening server. At most `max_connections` stay open: a new one closes the oldest.

    So a flood of idle connections never keeps a stop out.
    """

    def __init__(self, house: House) -> None:
        self._config: Config = house.config
        self._runner = web.AppRunner(
            HttpDoor(house).application(), access_log=None, handle_signals=False
        )
        self._open: OrderedDict[asyncio.BaseTransport, None] = OrderedDict()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises DoorError."""
        http = self._config.http
        context = self._tls()
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._protocol, http.host, http.port, ssl=context, backlog=BACKLOG
            )
        except OSError as error:
            await self._runner.cleanup()
            raise DoorError(_why(error, http.host, http.port)) from error
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and end the connections."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The address to call from this board."""
        http = self._config.http
        host = "127.0.0.1" if http.host in ("0.0.0.0", "::", "") else http.host
        scheme = "https" if http.certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def _protocol(self) -> asyncio.Protocol:
        make = self._runner.server
        assert make is not None  # set up in start
        protocol = make()
        connected, lost = protocol.connection_made, protocol.connection_lost

        def connection_made(transport: asyncio.BaseTransport) -> None:
            self._admit(transport)
            connected(transport)

        def connection_lost(error: BaseException | None) -> None:
            if protocol.transport is not None:
                self._open.pop(protocol.transport, None)
            lost(error)

        setattr(protocol, "connection_made", connection_made)  # noqa: B010 - a hook per connection
        setattr(protocol, "connection_lost", connection_lost)  # noqa: B010
        return protocol

    def _admit(self, transport: asyncio.BaseTransport) -> None:
        self._open[transport] = None
        while len(self._open) > self._config.http.max_connections:
            oldest, _ = self._open.popitem(last=False)
            if isinstance(oldest, asyncio.Transport):
                oldest.abort()

    def _tls(self) -> ssl.SSLContext | None:
        http = self._config.http
        if not http.certificate:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(http.certificate, http.key)
        except (OSError, ssl.SSLError) as error:
            raise DoorError(
                f"[http] certificate and key cannot be used: {error}. Give two PEM files that "
                "belong together and can be read by the daemon."
            ) from error
        return context


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken by another program (perhaps another armlabd). "
            "End it, or choose another with --port or [http] port."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs root. Choose one from 1024 up with [http] port."
    return f"Cannot listen on {host} port {port}: {error.strerror}. Check [http] host and port."
