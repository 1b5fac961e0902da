"""Hosts, origins, keys, addresses, bodies: what a door meets from strangers and clumsy clients."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from armlabd.config import Config
from armlabd.doors.http.guards import HostGuard, host_name, parse_object
from armlabd.doors.http.handlers import Handlers
from armlabd.doors.http.routes import ROUTES, STOP_LANE, Bucket
from armlabd.doors.http.statuses import STATUS
from armlabd.gate.roles import Role
from armlabd.verdict import Code, Verdict

JSON = {"Content-Type": "application/json"}


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_a_status(code: Code) -> None:
    assert 200 <= STATUS[code] < 600
    assert (STATUS[code] == 200) == (code is Code.OK)


@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")
def test_every_route_has_a_handler_and_no_get_changes_state(route: Any) -> None:
    assert callable(getattr(Handlers, route.handler))
    if route.method == "GET" and route.role is not None:
        assert route.bucket is Bucket.READ


def test_addresses_stand_once_and_the_lane_is_a_part_of_them() -> None:
    addresses = [(route.method, route.path) for route in ROUTES]
    assert len(set(addresses)) == len(addresses)
    assert {"/stop", "/call/stop"} == STOP_LANE
    assert ("POST", "/stop") in addresses


# --- case 65: hosts, origins and types -------------------------------------------------------


@pytest.mark.parametrize("kind", ["application/json", "text/plain", None])
@pytest.mark.parametrize(
    ("origin", "origin_good"),
    [
        (None, True),
        ("own", True),
        ("http://evil.example", False),
        ("null", False),
        ("http://[", False),
    ],
)
@pytest.mark.parametrize(
    ("host", "host_good"),
    [(None, True), ("localhost", True), ("evil.example", False), ("127.0.0.1.evil.example", False)],
)
async def test_case_65_any_page_may_not_drive_the_robot(
    door: Any,
    host: str | None,
    host_good: bool,
    origin: str | None,
    origin_good: bool,
    kind: str | None,
) -> None:
    port = door.server.port
    own = f"{host or '127.0.0.1'}:{port}"
    headers = {"Host": own}
    if origin is not None:
        headers["Origin"] = f"http://{own}" if origin == "own" else origin
    skip = () if kind else ("Content-Type",)
    if kind:
        headers["Content-Type"] = kind
    answer = await door.ask(
        "POST",
        "/call/open_gripper",
        data=b'{"percent": 50}',
        headers=headers,
        skip_auto_headers=skip,
    )
    if not host_good:
        wanted = (403, "host_refused")
    elif not origin_good:
        wanted = (403, "origin_refused")
    else:
        wanted = (200, None) if kind == "application/json" else (415, "bad_media_type")
    assert (answer.status, answer.code) == wanted
    assert door.core.moves == (1 if wanted[0] == 200 else 0)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:8765", "127.0.0.1"),
        ("[::1]:8765", "::1"),
        ("ARM.local", "arm.local"),
        ("a, b", None),
        ("user@localhost", None),
        ("localhost/x", None),
        ("[::1", None),
        ("", None),
        (None, None),
    ],
)
def test_a_host_header_names_one_host_or_none(host: str | None, name: str | None) -> None:
    assert host_name(host) == name


def test_the_boards_own_address_is_accepted_and_no_other() -> None:
    guard = HostGuard.of(Config())
    assert guard.check("192.168.1.7:8765", None, "192.168.1.7") is None
    refused = guard.check("192.168.1.8:8765", None, "192.168.1.7")
    assert refused is not None
    assert refused.code is Code.HOST


def test_case_81_names_that_the_settings_add_pass_and_others_do_not() -> None:
    config = Config.model_validate(
        {"http": {"allowed_hosts": ("Arm.Lan",), "allowed_origins": ("http://page.lan/",)}}
    )
    guard = HostGuard.of(config)
    assert guard.check("arm.lan:8765", "http://page.lan", None) is None
    assert guard.check("other.lan", None, None) is not None
    assert guard.check("arm.lan", "http://other.lan", None) is not None


async def test_two_hosts_or_two_origins_are_no_host(door: Any) -> None:
    for more in (
        "Host: 127.0.0.1\r\nHost: evil.example",
        "Host: 127.0.0.1\r\nOrigin: a\r\nOrigin: b",
    ):
        answer = await raw(door, f"GET /healthz HTTP/1.1\r\n{more}\r\n\r\n")
        assert answer.split()[1] in (b"403", b"400"), answer


# --- keys and rates ---------------------------------------------------------------------------


async def test_case_67_forwarded_headers_change_nothing(door: Any) -> None:
    answers = [
        await door.ask("GET", "/status", key="wrong", headers={"X-Forwarded-For": f"10.0.0.{n}"})
        for n in range(12)
    ]
    assert [a.status for a in answers] == [401] * 10 + [429] * 2
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert (await door.ask("GET", "/status")).status == 200  # a right key is never locked out
    forwarded = {"X-Forwarded-Host": "127.0.0.1", "Host": "evil.example"}
    assert (await door.ask("GET", "/status", headers=forwarded)).status == 403


async def test_rates_are_counted_by_the_name_of_the_key(open_door: Any) -> None:
    async with open_door(rate={"reads_per_s": 2}) as door:
        codes = [(await door.ask("GET", "/tools")).status for _ in range(3)]
        assert codes == [200, 200, 429]
        assert (await door.ask("GET", "/tools", key="reader")).status == 200
        assert (await door.call("get_status")).status == 200  # another bucket


async def test_an_absent_key_is_told_apart_from_a_wrong_one_and_never_slowed(door: Any) -> None:
    for _ in range(15):
        answer = await door.ask("GET", "/status", key=None)
        assert answer.status == 401
    assert "is missing" in answer.body["error"]
    assert "is wrong" in (await door.ask("GET", "/status", key="nonsense")).body["error"]


async def test_a_revoked_key_opens_nothing(door: Any) -> None:
    door.house.keys.revoke("agent")
    assert (await door.call("get_status")).status == 401
    assert (await door.ask("POST", "/stop")).status == 401


async def test_healthz_is_open_and_says_nothing_else(door: Any) -> None:
    answer = await door.ask("GET", "/healthz", key=None)
    assert (answer.status, answer.body) == (200, {"ok": True})


# --- addresses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/call/go_home", 405),
        ("POST", "/tools", 405),
        ("OPTIONS", "/call/go_home", 405),
        ("HEAD", "/tools", 200),
        ("HEAD", "/call/go_home", 405),
        ("POST", "/call/", 404),
        ("POST", "/call/..%2fstop%2fclear", 404),
        ("POST", "/call/go_home/", 404),
        ("POST", "//call/go_home", 404),
        ("GET", "/runs/../status", 200),
        ("GET", "/runs/%2e%2e%2fgoal", 404),
        ("GET", "/runs/run-000001%00", 404),
        ("DELETE", "/runs/run-999999", 404),
    ],
)
async def test_addresses_and_methods(door: Any, method: str, path: str, status: int) -> None:
    answer = await door.ask(method, path)
    assert answer.status == status
    if status == 405:
        assert "Allow" in answer.headers
    assert door.core.moves == 0
    assert door.core.stops == []


async def test_an_unknown_address_names_the_known_ones_after_the_key(door: Any) -> None:
    known = (await door.ask("GET", "/nowhere")).body["error"]
    assert "/goals" in known
    assert "/goals" not in (await door.ask("GET", "/nowhere", key=None)).body["error"]


async def test_a_body_on_get_or_delete_changes_nothing(door: Any) -> None:
    assert (await door.ask("GET", "/tools", json={"x": 1})).status == 200
    assert (
        await door.ask("GET", "/tools", data="x", headers={"Content-Type": "a/b"})
    ).status == 415
    assert (await door.ask("DELETE", "/runs/run-000001", json={"goal": "stop"})).status == 404
    assert door.core.stops == []


# --- bodies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 200, None),
        (b"  \r\n", 200, None),
        (b"\xef\xbb\xbf{}", 200, None),
        (b"null", 400, "not_an_object"),
        (b"[1]", 400, "not_an_object"),
        (b"true", 400, "not_an_object"),
        (b'"x"', 400, "not_an_object"),
        (b"7", 400, "not_an_object"),
        (b"{x: 1}", 400, "bad_json"),
        (b"\xff\xfe{}", 400, "bad_json"),
        (b'{"a": "\xc3\x28"}', 400, "bad_json"),
        (b'{"percent": 1, "percent": 2}', 400, "bad_json"),
        (b"[" * 60_000, 400, "bad_json"),
        (b'{"a":' * 10_000, 400, "bad_json"),
        (b'{"percent": ' + b"9" * 5000 + b"}", 400, "bad_json"),
        (b'{"percent": 1e999}', 400, "unknown_parameter"),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_bodies_of_every_kind(door: Any, body: bytes, status: int, code: str | None) -> None:
    answer = await door.ask("POST", "/call/get_status", data=body, headers=JSON)
    assert (answer.status, answer.code) == (status, code)


async def test_the_body_limit_is_where_it_is_said(open_door: Any) -> None:
    async with open_door(http={"max_body_bytes": 2000}) as door:

        def sized(size: int) -> bytes:
            return b'{"percent": 50' + b" " * (size - 15) + b"}"

        for size, status in ((1999, 200), (2000, 200), (2001, 413)):
            answer = await door.ask("POST", "/call/open_gripper", data=sized(size), headers=JSON)
            assert answer.status == status

        async def chunks(size: int) -> Any:
            for start in range(0, size, 500):
                yield sized(size)[start : start + 500]

        for size, status in ((2000, 200), (2001, 413)):
            answer = await door.ask("POST", "/call/open_gripper", data=chunks(size), headers=JSON)
            assert answer.status == status


async def test_a_body_that_unpacks_to_too_much_is_too_large(door: Any) -> None:
    packed = gzip.compress(b" " * 10_000_000)
    headers = {**JSON, "Content-Encoding": "gzip"}
    answer = await door.ask("POST", "/call/get_status", data=packed, headers=headers)
    assert answer.status == 413


async def raw(door: Any, request: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    try:
        writer.write(request.encode("latin-1"))
        return await reader.readuntil(b"}")
    finally:
        writer.close()


async def test_broken_framing_is_a_refusal_and_no_crash(door: Any, caplog: Any) -> None:
    key = door.keys["agent"]
    head = f"POST /call/get_status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\n"
    for framing in (
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 7\r\n\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nnogzi",
        f"X-Long: {'x' * 20_000}\r\n\r\n",
        "no colon here\r\n\r\n",
    ):
        answer = await raw(door, head + framing)
        assert answer.split()[1] == b"400", (framing[:40], answer)
        assert b'"ok": false' in answer
    assert (await raw(door, "\x16\x03\x01 not http\r\n\r\n")).startswith(b"HTTP/1.")
    assert caplog.records == []  # strangers do not fill the log


async def test_a_very_long_or_strange_key_is_a_wrong_key(door: Any) -> None:
    for key in ("k" * 8000, "\x80\xff", "ключ"):
        request = f"GET /tools HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\n\r\n"
        sent = request.encode().decode("latin-1")
        assert (await raw(door, sent)).startswith(b"HTTP/1.1 401"), key[:10]


async def test_a_body_that_trickles_is_given_up(door: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("armlabd.doors.http.guards.BODY_TIMEOUT_S", 0.0)
    key = door.keys["agent"]
    reader, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
    head = f"POST /call/get_status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\n"
    writer.write((head + "Content-Length: 10\r\n\r\n{").encode())
    answer = await reader.readuntil(b"}")
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"did not arrive in time" in answer


def test_a_key_given_twice_is_named() -> None:
    refused = parse_object(b'{"goal": "go home", "a": {"x": 1, "x": 2}}')
    assert isinstance(refused, Verdict)
    assert "'x' stands in it twice" in refused.sentence


# --- answers ----------------------------------------------------------------------------------


async def test_a_fault_of_ours_is_a_500_with_a_sentence(door: Any, monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(door.house.session, "call", broken)
    answer = await door.call("go_home")
    assert (answer.status, answer.code) == (500, "internal")
    assert "a bug" not in json.dumps(answer.body)
    assert (await door.call("stop")).status == 200


async def test_a_plan_with_nan_is_refused_and_its_run_can_be_read(door: Any) -> None:
    steps = [{"tool": "get_status", "args": {}}, {"tool": "open_gripper", "args": {"percent": 1.0}}]
    body = json.dumps({"steps": steps}).replace("1.0", "NaN")
    checked = await door.ask("POST", "/plans/check", data=body, headers=JSON)
    assert (checked.status, checked.body["outcome"]) == (200, "Value out of range")
    started = await door.ask("POST", "/plans/run", data=body, headers=JSON)
    assert started.status == 202
    await door.house.runs.wait_ended(started.body["id"])
    run = await door.ask("GET", started.body["url"])
    assert (run.status, run.body["result"]) == (200, "refused")
    assert run.body["plan"]["steps"][1]["args"] == {"percent": "nan"}


@pytest.mark.parametrize(
    "route", [r for r in ROUTES if r.role is not None], ids=lambda r: r.handler
)
async def test_every_route_refuses_a_role_below_its_own(door: Any, route: Any) -> None:
    path = route.path.replace("{tool}", "get_status").replace("{id}", "run-000001")
    for role in Role:
        answer = await door.ask(route.method, path, key=role.label)
        assert (answer.code == "role") == (role < route.role), (role, answer.body)


async def test_the_camera_shows_a_picture_and_the_scene_its_objects(door: Any) -> None:
    async with door.http.get(
        door.server.url + "/camera.jpg", headers={"X-API-Key": door.keys["reader"]}
    ) as got:
        assert got.content_type == "image/jpeg"
        assert (await got.read()).startswith(b"\xff\xd8")
    scene = await door.ask("GET", "/scene", key="reader")
    assert scene.body["objects"] == []
