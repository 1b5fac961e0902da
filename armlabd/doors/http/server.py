"""Listen: bounded connections, TLS when both files are given, a clear error for a taken port."""

from __future__ import annotations

import asyncio
import errno
import ssl

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
        """The protocol of a new connection; the oldest ones make room for it."""
        server = self._runner.server
        assert server is not None  # set up in start
        too_many = len(server.connections) + 1 - self._config.http.max_connections
        for oldest in server.connections[: max(0, too_many)]:
            oldest.force_close()
        return server()

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
