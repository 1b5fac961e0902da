"""Where this board answers: its addresses, told at the start and whenever they change, and mDNS.

Only a door that is open to the local network is announced (service `_armlabd._tcp`, name
`HOST-arm.local`). No network is waited for: addresses that come, go or change later are picked up.
`HOST.local` itself is left to the system's own responder (avahi), which would take our answers for
those of a stranger with the same name. Sources: RFC 6762, RFC 6763, zeroconf's documentation.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address
from typing import TYPE_CHECKING, Any, Protocol

from armlabd.config.model import HttpConfig
from armlabd.doors.http.guards import announced_name

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncZeroconf

log = logging.getLogger(__name__)

SERVICE = "_armlabd._tcp.local."
ANYWHERE = ("", "0.0.0.0", "::")
CLOSE_S = 3.0  # a goodbye takes half a second
LOOK_S = 5.0  # between two looks at the addresses
IN_CLEAR = "Keys travel in clear without TLS: see README, 'A laptop'."


def is_for_lan(host: str) -> bool:
    """True when the door listens where other machines reach it."""
    if host in ANYWHERE:
        return True
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"


def own_addresses() -> tuple[str, ...]:
    """IPv4 addresses of this board that others may reach; none without a network."""
    import ifaddr

    try:
        found = [ip.ip for card in ifaddr.get_adapters() for ip in card.ips if ip.is_IPv4]
    except OSError as error:
        log.warning("the addresses of this board cannot be read: %s", error.strerror or error)
        return ()
    return tuple(sorted(str(ip) for ip in found if not IPv4Address(str(ip)).is_loopback))


class Announcer(Protocol):
    """Says on the network where this board is."""

    async def announce(self, addresses: tuple[str, ...]) -> None:
        """Announce exactly these. Raises OSError."""

    async def close(self) -> None:
        """Take it back."""


class Mdns:
    """The announcement through zeroconf, on the interfaces with those addresses."""

    def __init__(self, port: int, tls: bool) -> None:
        self._port, self._tls = port, tls
        self._zeroconf: AsyncZeroconf | None = None

    async def announce(self, addresses: tuple[str, ...]) -> None:
        """Announce exactly these; an older announcement is taken back first. Raises OSError."""
        await self.close()
        if not addresses:
            return
        await asyncio.to_thread(_read_zeroconf)
        from zeroconf import Error, ServiceInfo
        from zeroconf.asyncio import AsyncZeroconf

        _must_be_here(addresses)
        name = announced_name()
        told = ServiceInfo(
            SERVICE,
            f"{name.removesuffix('.local')}.{SERVICE}",
            port=self._port,
            server=f"{name}.",
            addresses=[socket.inet_aton(address) for address in addresses],
            properties={"path": "/", "tls": "1" if self._tls else "0"},
        )
        self._zeroconf = AsyncZeroconf(interfaces=list(addresses))
        try:
            await self._zeroconf.async_register_service(told, allow_name_change=True)
        except Error as error:
            raise OSError(str(error) or type(error).__name__) from error

    async def close(self) -> None:
        """Take the announcement back."""
        zeroconf, self._zeroconf = self._zeroconf, None
        if zeroconf is None:
            return
        from zeroconf import Error

        try:
            async with asyncio.timeout(CLOSE_S):
                await zeroconf.async_unregister_all_services()
                await zeroconf.async_close()
        except (Error, OSError) as error:  # the network is gone, and with it whoever listened
            log.info("mDNS was not taken back: %s", error or type(error).__name__)


def _read_zeroconf() -> None:
    """The library takes half a second to be read on a small board: a stop must not wait for it."""
    import zeroconf.asyncio  # noqa: F401


def _must_be_here(addresses: tuple[str, ...]) -> None:
    """Raises OSError for an address that went away: zeroconf would leave a socket open."""
    for address in addresses:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))


class Network:
    """Keeps looking where this board can be reached, tells it, and has it announced."""

    def __init__(
        self,
        http: HttpConfig,
        port: int,
        *,
        look: Callable[[], tuple[str, ...]] = own_addresses,
        announcer: Announcer | None = None,
    ) -> None:
        self._http, self._port, self._look = http, port, look
        self.for_lan = is_for_lan(http.host)
        self._announcer = announcer or Mdns(port, bool(http.certificate))
        self._addresses: tuple[str, ...] = ()
        self._announced: tuple[str, ...] = ()
        self._trouble = ""
        self._watching: asyncio.Task[None] | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Where others reach the door, the announced name last; none without a network."""
        names = (*self._addresses, announced_name()) if self._addresses else ()
        scheme = "https" if self._http.certificate else "http"
        return tuple(f"{scheme}://{name}:{self._port}" for name in names)

    def told(self) -> str:
        """One line for the start; empty when the door is for this board only."""
        if not self.for_lan:
            return ""
        where = " or ".join(self.urls) or "no network yet; it is picked up later"
        return where if self._http.certificate else f"{where}. {IN_CLEAR}"

    def start(self) -> None:
        """Look once, then announce and keep looking."""
        if self.for_lan:
            self._addresses = self._wanted()
            self._watching = asyncio.create_task(self._watch(), name="network")

    async def close(self) -> None:
        """Take the announcement back."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            await self._announcer.close()

    def status(self) -> dict[str, Any]:
        """For GET /status."""
        if not self.for_lan:
            return {"state": "this board only", "urls": [], "announced": False, "next": ""}
        urls = list(self.urls)
        if not urls:
            next_step = "Connect the board to a network; it is picked up within seconds."
            return {"state": "no network", "urls": [], "announced": False, "next": next_step}
        state = "local network" if self._http.certificate else "local network, in clear"
        next_step = self._trouble or ("" if self._http.certificate else IN_CLEAR)
        announced = bool(self._announced)
        return {"state": state, "urls": urls, "announced": announced, "next": next_step}

    async def look_once(self) -> None:
        """One look; what has changed is told and announced anew."""
        addresses = self._wanted()
        if addresses != self._addresses:
            self._addresses = addresses
            where = ", ".join(self.urls) or "nowhere: there is no network"
            log.warning("other machines now reach this board at %s", where)
        if addresses != self._announced:
            await self._announce(addresses)

    async def _watch(self) -> None:
        while True:
            await self.look_once()
            await asyncio.sleep(LOOK_S)

    async def _announce(self, addresses: tuple[str, ...]) -> None:
        try:
            await self._announcer.announce(addresses)
            self._announced, self._trouble = addresses, ""
        except OSError as error:
            why = f"No mDNS ({error.strerror or error}): use the address instead of the name."
            if why != self._trouble:
                log.warning(why)
            self._announced, self._trouble = (), why

    def _wanted(self) -> tuple[str, ...]:
        """All of this board's addresses, or the one that the door listens on."""
        if self._http.host in ANYWHERE:
            return self._look()
        return tuple(address for address in self._look() if address == self._http.host)
