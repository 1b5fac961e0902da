"""The page's files: open to everybody, whole, never kept, and with nothing from outside."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

from armlabd.doors.http.page_files import FIRST, FOLDER, TYPES, PageFiles

NAMES = sorted(path.name for path in FOLDER.iterdir() if path.suffix in TYPES)
OUTSIDE = re.compile(
    r"""(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]|\beval\(|innerHTML|style=|<script>"""
)


async def test_the_page_is_open_and_acts_only_with_a_key(door: Any) -> None:
    page = await door.ask("GET", "/", key=None)
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for path in ("/status", "/scene", "/camera.jpg", "/runs"):
        assert (await door.ask("GET", path, key=None)).code == "bad_key"


@pytest.mark.parametrize("name", NAMES)
async def test_every_file_comes_strict_and_is_never_kept(door: Any, name: str) -> None:
    async with door.http.get(f"{door.server.url}/page/{name}") as got:
        assert got.status == 200
        assert await got.read() == (FOLDER / name).read_bytes()
        headers = got.headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


@pytest.mark.parametrize("name", ["..", "%2e%2e%2fapp.py", "nothing.js", "index.html%00", ""])
async def test_nothing_but_these_files_is_given_out(door: Any, name: str) -> None:
    answer = await door.ask("GET", f"/page/{name}")
    assert (answer.status, answer.code) in {(404, "not_found"), (200, None)}
    if answer.status == 200:  # ".." is resolved by the client: that is the page itself
        assert answer.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_names_only_what_is_there_and_nothing_outside(name: str) -> None:
    words = (FOLDER / name).read_text(encoding="utf-8")
    assert not OUTSIDE.search(words), OUTSIDE.search(words)
    for other in re.findall(r"""(?:page/|from "\./)([\w.]+)""", words):
        assert other in NAMES, f"{name} wants {other}"
    ids = set(re.findall(r'\bid="([\w-]+)"', (FOLDER / FIRST).read_text(encoding="utf-8")))
    assert set(re.findall(r"""\$\("([\w-]+)"\)""", words)) <= ids


def test_the_files_are_read_once_and_whole() -> None:
    assert sorted(PageFiles.read().files) == NAMES
    assert PageFiles.read().answer("../app.py") is None


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", socket.gethostname(), "BOARD"])
async def test_case_71_the_page_opens_and_stops_by_name_and_by_address(
    door: Any, name: str
) -> None:
    host = f"{socket.gethostname().split('.')[0]}.local" if name == "BOARD" else name
    own = f"{host}:{door.server.port}"
    page = await door.ask("GET", "/", key=None, headers={"Host": own})
    assert page.status == 200
    stop = await door.ask("POST", "/stop", headers={"Host": own, "Origin": f"http://{own}"})
    assert (stop.status, len(door.core.stops)) == (200, 1)


async def test_a_name_that_is_not_the_boards_opens_nothing(door: Any) -> None:
    answer = await door.ask("GET", "/", key=None, headers={"Host": "arm.evil.example"})
    assert (answer.status, answer.code) == (403, "host_refused")


async def test_case_69_readings_are_numbered_and_name_their_daemon_and_the_key(door: Any) -> None:
    first, second = [(await door.ask("GET", "/status", key="reader")).body for _ in range(2)]
    assert second["reading"]["number"] == first["reading"]["number"] + 1
    assert second["reading"]["daemon"] == first["reading"]["daemon"]
    assert first["you"] == {"name": "reader", "role": "reader"}


async def test_the_picture_of_the_last_look_belongs_to_its_scene(door: Any) -> None:
    none = await door.ask("GET", "/camera.jpg?last", key="reader")
    assert (none.status, none.code) == (503, "no_camera")
    scene = await door.ask("GET", "/scene", key="reader")
    picture = await door.ask("GET", "/camera.jpg?last", key="reader")
    assert picture.status == 200
    assert picture.headers["Taken-S"] == f"{door.house.eye.scene.taken_s:.3f}"
    assert scene.status == 200
