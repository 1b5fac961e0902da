"""Where the board says that it answers: addresses that come later, mDNS, and the keys' warning."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from armlabd.config.model import HttpConfig
from armlabd.daemon.network import SERVICE, Mdns, Network, is_for_lan, own_addresses
from armlabd.doors.http.guards import HostGuard, announced_name


class Board:
    """A board whose addresses change, and an announcer that remembers."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.announced: list[tuple[str, ...]] = []
        self.fails = ""
        self.closed = 0

    async def announce(self, addresses: tuple[str, ...]) -> None:
        if self.fails:
            raise OSError(98, self.fails)
        self.announced.append(addresses)

    async def close(self) -> None:
        self.closed += 1

    def network(self, **http: Any) -> Network:
        settings = HttpConfig.model_validate({"host": "0.0.0.0", **http})
        return Network(settings, 8765, look=lambda: self.addresses, announcer=self)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
async def test_a_door_for_this_board_is_not_announced(host: str) -> None:
    board = Board("192.168.1.20")
    network = board.network(host=host)
    network.start()
    await asyncio.sleep(0)
    await network.close()
    assert (network.told(), network.urls, board.announced) == ("", (), [])
    assert network.status()["state"] == "this board only"
    assert not is_for_lan(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.20", "robot"])
def test_a_door_that_others_reach_is_for_the_lan(host: str) -> None:
    assert is_for_lan(host)


async def test_case_71_address_and_name_are_told_at_the_start_and_both_pass_the_door() -> None:
    board = Board("192.168.1.20")
    network = board.network()
    network.start()
    await asyncio.sleep(0.01)
    name = f"http://{announced_name()}:8765"
    assert network.told().startswith(f"http://192.168.1.20:8765 or {name}. Keys travel in clear")
    assert network.status()["urls"] == ["http://192.168.1.20:8765", name]
    assert network.status()["state"] == "local network, in clear"
    assert network.status()["announced"] is True
    assert board.announced == [("192.168.1.20",)]
    await network.close()
    assert board.closed == 1
    from armlabd.config import Config

    guard = HostGuard.of(Config())
    assert guard.check(f"{announced_name()}:8765", None, "192.168.1.20") is None
    assert guard.check("192.168.1.20:8765", None, "192.168.1.20") is None
    assert guard.check("elsewhere-arm.local:8765", None, "192.168.1.20") is not None


async def test_with_tls_nothing_travels_in_clear() -> None:
    network = Board("10.0.0.2").network(certificate="c.pem", key="k.pem")
    await network.look_once()
    assert network.told() == f"https://10.0.0.2:8765 or https://{announced_name()}:8765"
    assert network.status()["state"] == "local network"
    assert network.status()["next"] == ""


async def test_a_network_that_comes_goes_and_changes_is_picked_up() -> None:
    board = Board()
    network = board.network()
    await network.look_once()
    assert "no network yet; it is picked up later" in network.told()
    assert network.status()["state"] == "no network"
    assert "Connect the board" in network.status()["next"]
    board.addresses = ("10.0.0.2",)
    await network.look_once()
    await network.look_once()
    board.addresses = ("10.0.0.3",)
    await network.look_once()
    board.addresses = ()
    await network.look_once()
    assert board.announced == [("10.0.0.2",), ("10.0.0.3",), ()]
    assert network.urls == ()


async def test_an_announcement_that_fails_is_a_sentence_and_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    board = Board("10.0.0.2")
    board.fails = "Address already in use"
    network = board.network()
    await network.look_once()
    await network.look_once()
    told = network.status()
    assert (told["announced"], told["urls"][0]) == (False, "http://10.0.0.2:8765")
    assert told["next"].startswith("No mDNS (Address already in use): use the address")
    assert caplog.text.count("No mDNS") == 1, "the log is not filled with it"
    board.fails = ""
    await network.look_once()
    assert network.status()["announced"] is True


async def test_only_the_address_that_is_listened_on_is_announced() -> None:
    board = Board("10.0.0.2", "192.168.1.20")
    await board.network(host="192.168.1.20").look_once()
    assert board.announced == [("192.168.1.20",)]


def test_own_addresses_are_plain_and_not_loopback() -> None:
    assert all(not IPv4Address(address).is_loopback for address in own_addresses())


def test_addresses_that_cannot_be_read_are_no_network(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("ifaddr.get_adapters", refused)
    assert own_addresses() == ()
    assert "cannot be read: Operation not permitted" in caplog.text


async def test_a_laptop_finds_the_board_by_its_service() -> None:
    from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

    announcer = Mdns(8765, tls=True)
    try:
        await announcer.announce(("127.0.0.1",))
    except OSError as error:
        pytest.skip(f"no multicast here: {error}")
    laptop = AsyncZeroconf(interfaces=["127.0.0.1"])
    try:
        name = f"{announced_name().removesuffix('.local')}.{SERVICE}"
        found = AsyncServiceInfo(SERVICE, name)
        assert await found.async_request(laptop.zeroconf, 3000)
        assert (found.port, found.server) == (8765, f"{announced_name()}.")
        assert found.addresses == [socket.inet_aton("127.0.0.1")]
        assert found.properties == {b"path": b"/", b"tls": b"1"}
    finally:
        await laptop.async_close()
        await announcer.close()
    assert announcer._zeroconf is None


async def test_addresses_that_went_away_meanwhile_are_a_sentence_and_no_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = HttpConfig.model_validate({"host": "0.0.0.0"})
    addresses = ("203.0.113.5",)  # of documentation: no machine has it
    network = Network(settings, 8765, look=lambda: addresses)
    await network.look_once()
    assert "No mDNS" in network.status()["next"]
    await network.look_once()
    assert network.status()["announced"] is False
    network.start()
    await network.close()
    await network.close()


def test_the_start_tells_where_other_machines_reach_the_board(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from armlabd.cli.processes import _tell
    from armlabd.daemon.main import Ready

    _tell(Ready("http://127.0.0.1:1", (), tmp_path, 0.5, False, "http://10.0.0.2:1"))
    assert "other machines: http://10.0.0.2:1\n" in capsys.readouterr().out
    _tell(Ready("http://127.0.0.1:1", (), tmp_path, 0.5, False))
    assert "other machines" not in capsys.readouterr().out
