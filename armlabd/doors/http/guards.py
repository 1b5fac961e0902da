"""What every request passes before a route sees it, in this order:

stop lane · Host and Origin · key · address · size · type · JSON. Tool, role, rate, arguments,
allowance, stop, busy and arm follow in the session. Forwarded-for headers are not read: whoever
asks is the socket's peer.
"""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from armlabd.config import Config
from armlabd.verdict import Code, Verdict

BODY_TIMEOUT_S = 5.0  # a body of 64 KiB takes milliseconds on a LAN; longer is a stuck client
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class HostGuard:
    """Which Host and Origin headers are the board's own."""

    names: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, config: Config) -> HostGuard:
        """The board's own names, loopback, and what the settings add."""
        name = socket.gethostname().lower()
        local = f"{name.split('.')[0]}.local"
        names = {*LOOPBACK, name, local, announced_name(), *config.http.allowed_hosts}
        if config.http.host not in ("", "0.0.0.0", "::"):
            names.add(config.http.host)
        origins = {origin.lower().rstrip("/") for origin in config.http.allowed_origins}
        return cls(frozenset(n.lower() for n in names), frozenset(origins))

    def check(
        self, host: str | None, origin: str | None, local_address: str | None
    ) -> Verdict | None:
        """The refusal of a Host or Origin that is not ours, else None.

        `local_address` is the address of this board that the connection came in on.
        """
        name = host_name(host)
        if name is None or not (name in self.names or name == local_address):
            return Verdict.refused(
                Code.HOST,
                f"The Host header {host!r:.80} names no address of this board. Use its name or "
                "address, or add the name to [http] allowed_hosts.",
            )
        if origin is None or self._same(origin, host):
            return None
        return Verdict.refused(
            Code.ORIGIN,
            f"Pages from {origin!r:.80} may not call this arm. If that page is yours, add it to "
            "[http] allowed_origins.",
        )

    def _same(self, origin: str, host: str | None) -> bool:
        if origin.lower() in self.origins:
            return True
        try:
            return urlsplit(origin).netloc.lower() == (host or "").lower()
        except ValueError:  # such as "http://[bad"
            return False


def announced_name() -> str:
    """The name by which this board announces itself over mDNS."""
    return f"{socket.gethostname().lower().split('.')[0]}-arm.local"


def single(request: web.Request, name: str) -> str | None:
    """A header that stands once; several make one that nothing matches, none is None."""
    return ", ".join(request.headers.getall(name, [])) or None


def host_name(host: str | None) -> str | None:
    """The name or address in a Host header, without port and brackets; None when malformed."""
    if not host or any(c in host for c in "/@ \\,?#"):
        return None
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def peer_of(request: web.Request) -> str:
    """The address of the socket's other end."""
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return str(peer[0]) if peer else "unknown"


def local_address_of(request: web.Request) -> str | None:
    """The address of this board that the connection came in on, when it is a plain address."""
    name = request.transport.get_extra_info("sockname") if request.transport else None
    if not name:
        return None
    try:
        return str(ip_address(str(name[0]).split("%")[0]))
    except ValueError:
        return None


async def read_body(request: web.Request, limit: int) -> bytes | Verdict:
    """The whole body, or TOO_LARGE; a body that does not come is a BAD_JSON."""
    too_large = Verdict.refused(
        Code.TOO_LARGE, f"The body is longer than {limit} bytes. Send less in one request."
    )
    if (request.content_length or 0) > limit:
        return too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > limit:
                    return too_large
    except TimeoutError:
        return Verdict.refused(Code.BAD_JSON, "The body did not arrive in time. Send it again.")
    except (HttpProcessingError, web.RequestPayloadError) as error:
        reason = " ".join(str(error).split())[:80]
        return Verdict.refused(Code.BAD_JSON, f"The body cannot be read: {reason}. Send it again.")
    return bytes(body)


def check_type(request: web.Request, body: bytes) -> Verdict | None:
    """The refusal of a body that is not declared as JSON; an empty body needs no type."""
    if not body or request.content_type == "application/json":
        return None
    return Verdict.refused(
        Code.BAD_MEDIA_TYPE,
        f"The content type is {request.content_type!r:.60}; send application/json.",
    )


def parse_object(body: bytes) -> dict[str, Any] | Verdict:
    """The body as a JSON object; blank means no arguments. BAD_JSON or NOT_AN_OBJECT."""
    if not body.strip():
        return {}
    try:
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_without_doubles)
    except RecursionError:
        sentence = "The body is nested too deeply. Send a plain object."
        return Verdict.refused(Code.BAD_JSON, sentence)
    except ValueError as error:
        return Verdict.refused(
            Code.BAD_JSON,
            f'The body is no JSON: {str(error)[:120]}. Send an object such as {{"x": 0.2}}.',
        )
    if not isinstance(value, dict):
        return Verdict.refused(
            Code.NOT_AN_OBJECT,
            f'The body must be a JSON object such as {{"x": 0.2}}, not {_kind(value)}.',
        )
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of one object; a key given twice says two things and is refused."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.40} stands in it twice")
    return found


def _kind(value: object) -> str:
    kinds = ((bool, "a boolean"), (list, "a list"), (str, "a text"))
    return next((word for kind, word in kinds if isinstance(value, kind)), "a number or null")
