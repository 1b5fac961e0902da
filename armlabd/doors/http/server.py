"""Listen: bounded connections, TLS when both files are given, a clear error for a taken port."""

from __future__ import annotations

import asyncio
import errno
import logging
import ssl
from typing import Any

from aiohttp import web

from armlabd.config import Config
from armlabd.doors.http.answers import refusal
from armlabd.doors.http.app import HttpDoor
from armlabd.doors.http.connections import Connections
from armlabd.doors.http.holder import who_listens
from armlabd.doors.http.house import House
from armlabd.verdict import Code

BACKLOG = 64
HANDSHAKE_S = 5.0  # of TLS; longer is a stuck client
KEEP_ALIVE_S = 75.0  # an idle connection is closed after this
LINGER_S = 2.0  # how long the rest of an unread body is drained, so that the answer is read
SHUTDOWN_S = 2.0  # how long requests may go on when the door closes
SILENT = logging.Logger("no access log", logging.CRITICAL + 1)


class DoorError(Exception):
    """The server cannot listen; the sentence says why and what to do."""


class Connection(web.RequestHandler):
    """One connection: counted, and answering JSON also to what is no HTTP."""

    __slots__ = ("_counted",)

    def __init__(self, server: web.Server, counted: Connections) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=SILENT,
            keepalive_timeout=KEEP_ALIVE_S,
            lingering_time=LINGER_S,
        )
        self._counted = counted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it in."""
        self._counted.opened(self)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it out."""
        self._counted.closed(self)
        super().connection_lost(exc)

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Our own faults are logged by the door; what is left are broken bodies of strangers."""
        self.logger.debug(*args, **kwargs)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """A request that cannot be read, as a refusal; strangers cannot fill the log with it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        reason = " ".join((message or "no HTTP request").split())
        answer = refusal(Code.BAD_JSON, f"The request cannot be read: {reason[:120]}. Mend it.")
        answer.force_close()
        return answer


class HttpServer:
    """The listening server. At most `max_connections` stay open (see `connections`)."""

    def __init__(self, house: House) -> None:
        self._config: Config = house.config
        self.connections = Connections(self._config.http.max_connections)
        self._runner = web.AppRunner(
            HttpDoor(house, self.connections).application(),
            handle_signals=False,
            shutdown_timeout=SHUTDOWN_S,
        )
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises DoorError."""
        http = self._config.http
        context = self._tls()
        await self._runner.setup()
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connection,
                http.host,
                http.port,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_S if context else None,
                backlog=BACKLOG,
            )
        except OSError as error:
            await self._runner.cleanup()
            raise DoorError(_why(error, http.host, http.port)) from error
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and end the connections. Safe before `start` and twice."""
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

    def _connection(self) -> Connection:
        server = self._runner.server
        assert server is not None  # set up in start
        return Connection(server, self.connections)

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
        who = who_listens(port) or "perhaps another armlabd; sudo ss -ltnp names it"
        return (
            f"Port {port} on {host} is taken by another program: {who}. "
            "End it, or choose another with --port or [http] port."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs root. Choose one from 1024 up with [http] port."
    reason = error.strerror or str(error)
    return f"Cannot listen on {host} port {port}: {reason}. Check [http] host and port."
