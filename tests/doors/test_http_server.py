"""Listening: connections are bounded, TLS, and sentences of what keeps the door shut."""

from __future__ import annotations

import asyncio
import errno
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from armlabd.config import Config
from armlabd.doors.http.connections import Connections
from armlabd.doors.http.holder import who_listens
from armlabd.doors.http.server import DoorError, HttpServer, _why


class Line:
    """A connection of the books."""

    def __init__(self) -> None:
        self.transport: Any = self
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_the_one_idle_longest_is_closed_and_never_one_at_work() -> None:
    books = Connections(3)
    a, b, c, d, e = (Line() for _ in range(5))
    for line in (a, b, c):
        books.opened(line)  # type: ignore[arg-type]
    with books.busy(a):  # type: ignore[arg-type]
        books.opened(d)  # type: ignore[arg-type]
        assert [line.aborted for line in (a, b, c, d)] == [False, True, False, False]
    books.opened(e)  # type: ignore[arg-type]
    assert [line.aborted for line in (a, c, d, e)] == [False, True, False, False]
    assert len(books) == 3


def test_where_all_are_at_work_the_oldest_gives_way_to_a_stop() -> None:
    books = Connections(1)
    a, b = Line(), Line()
    books.opened(a)  # type: ignore[arg-type]
    with books.busy(a):  # type: ignore[arg-type]
        books.opened(b)  # type: ignore[arg-type]
        assert a.aborted
    books.closed(a)  # type: ignore[arg-type]
    assert len(books) == 1


async def test_a_flood_of_silent_connections_keeps_no_stop_out(open_door: Any) -> None:
    async with open_door(http={"max_connections": 4}) as door:
        silent = [await asyncio.open_connection("127.0.0.1", door.server.port) for _ in range(12)]
        half = "POST /stop HTTP/1.1\r\nHost:"
        for _, writer in silent:
            writer.write(half.encode())
        assert (await door.call("stop", key="reader")).status == 200
        assert len(door.server.connections) <= 4
        assert await silent[0][0].read() == b""  # the oldest was closed
        for _, writer in silent:
            writer.close()


async def test_a_taken_port_is_named_with_the_remedy(open_door: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(DoorError, match=f"Port {port} on 127.0.0.1 is taken.*--port"):
            async with open_door(http={"port": port}):
                pass


HOLDER = (
    "import socket, sys; one = socket.socket(); one.bind(('127.0.0.1', 0)); one.listen(); "
    "print(one.getsockname()[1], flush=True); sys.stdin.read()"
)


async def test_case_37_a_taken_port_names_who_has_it(open_door: Any) -> None:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        port = int(other.stdout.readline())
        with pytest.raises(DoorError, match=rf"python.* \(process {other.pid}\)\. End it"):
            async with open_door(http={"port": port}):
                pass
        other.stdin.close()


def test_case_37_a_port_below_1024_says_what_to_choose() -> None:
    assert "1024" in _why(PermissionError(errno.EACCES, "no"), "127.0.0.1", 80)
    assert Config().http.port >= 1024, "the usual one needs no root"


def test_case_37_a_holder_that_cannot_be_seen_is_not_made_up(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
    row = "   0: 0100007F:{port:04X} 00000000:0000 {state} 0:0 00:0 0 0 0 77 1"
    rows = [row.format(port=8765, state="0A"), row.format(port=8766, state="01")]
    (tmp_path / "net/tcp").write_text("\n".join([head + "timeout inode", *rows]))
    process = tmp_path / "12"
    (process / "fd").mkdir(parents=True)
    (process / "comm").write_text("other\n")
    (process / "fd/3").symlink_to("socket:[77]")
    assert who_listens(8765, str(tmp_path)) == "other (process 12)"
    assert who_listens(8766, str(tmp_path)) == "", "it does not listen"
    (process / "fd/3").unlink()
    assert who_listens(8765, str(tmp_path)) == ""


async def test_an_address_that_is_not_ours_is_named(open_door: Any) -> None:
    with pytest.raises(DoorError, match=r"Cannot listen on 192\.0\.2\.1"):
        async with open_door(http={"host": "192.0.2.1"}):
            pass


async def test_a_bad_certificate_ends_the_start(open_door: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    with pytest.raises(DoorError, match="certificate and key cannot be used"):
        async with open_door(http={"certificate": str(bad), "key": str(bad)}):
            pass


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
async def test_with_a_certificate_the_door_speaks_tls(open_door: Any, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    files = ["-nodes", "-days", "1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *files, *subject], check=True, capture_output=True)
    async with open_door(http={"certificate": str(certificate), "key": str(key)}) as door:
        assert door.server.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(certificate))
        assert (await door.ask("POST", "/stop", ssl=trusted)).status == 200
        plain = f"http://127.0.0.1:{door.server.port}/healthz"
        with pytest.raises(aiohttp.ClientError, match="disconnected"):
            await door.http.get(plain)


def test_the_url_is_one_that_this_board_can_call(open_door: Any) -> None:
    class House:
        def __init__(self, host: str) -> None:
            from armlabd.config import Config

            self.config = Config.model_validate({"http": {"host": host, "port": 0}})

    for host, shown in (("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("arm.lan", "arm.lan")):
        server = HttpServer.__new__(HttpServer)
        server._config, server.port = House(host).config, 8765
        assert server.url == f"http://{shown}:8765"


async def test_closing_twice_or_before_opening_is_fine(open_door: Any) -> None:
    async with open_door() as door:
        never = HttpServer(door.house)
        await never.close()
        await door.server.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
async def test_the_certificate_of_the_readme_is_one_that_clients_accept(
    open_door: Any, tmp_path: Path
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    command = readme[readme.index("openssl req") : readme.index("sudo chown root:armlabd")]
    command = command.replace("/etc/armlabd", str(tmp_path))
    subprocess.run(command, shell=True, check=True, capture_output=True)
    certificate, key = str(tmp_path / "tls.pem"), str(tmp_path / "tls.key")
    async with open_door(http={"certificate": certificate, "key": key}) as door:
        trusted = ssl.create_default_context(cafile=certificate)
        assert (await door.ask("GET", "/healthz", ssl=trusted)).status == 200
