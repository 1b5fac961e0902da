"""Where the daemon and the key are found, and one HTTP request."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from armlabd.cli.client import (
    DEFAULT_URL,
    Client,
    Unreachable,
    find_key,
    find_url,
)

# --- where the daemon is ------------------------------------------------------------------------


def test_the_daemon_is_found_by_its_note_and_its_key_beside_it(
    tmp_path: Path, monkeypatch: Any
) -> None:
    folder = tmp_path / "sim"
    folder.mkdir()
    assert find_url(None, tmp_path) == DEFAULT_URL
    (folder / "daemon.json").write_text(json.dumps({"url": "http://x:1", "pid": os.getpid()}))
    (folder / "operator.key").write_text("the-key\n")
    assert find_url(None, tmp_path) == "http://x:1"
    assert find_url("http://y:2", tmp_path) == "http://y:2"
    assert find_key(None, tmp_path) == "the-key"
    monkeypatch.setenv("ARM_API_KEY", "agent")
    assert find_key(None, tmp_path) == "agent"
    monkeypatch.setenv("ARM_OPERATOR_KEY", "operator")
    assert find_key(None, tmp_path) == "operator"
    assert find_key("mine", tmp_path) == "mine"


@pytest.mark.parametrize(
    "note", ["{", "[]", '{"url": "http://x"}', '{"url": "http://x", "pid": 0.5}']
)
def test_a_note_that_says_nothing_is_passed_over(tmp_path: Path, note: str) -> None:
    (tmp_path / "daemon.json").write_text(note)
    assert find_url(None, tmp_path) == DEFAULT_URL


def test_the_note_of_a_daemon_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    (tmp_path / "daemon.json").write_text(json.dumps({"url": "http://x:1", "pid": gone}))
    assert find_url(None, tmp_path) == DEFAULT_URL


# --- the client itself --------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    seen: list[tuple[str, str, str | None]]
    reply: tuple[int, bytes]

    def do_POST(self) -> None:
        type(self).seen.append((self.command, self.path, self.headers.get("X-API-Key")))
        status, body = type(self).reply
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def served() -> Iterator[tuple[str, type[Handler]]]:
    handler = type("One", (Handler,), {"seen": [], "reply": (200, b"{}")})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", handler
        server.shutdown()
        thread.join()


def test_a_request_carries_the_key_and_quotes_the_path(served: Any, monkeypatch: Any) -> None:
    url, handler = served
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # the arm is never behind a proxy
    handler.reply = (409, b'{"code": "stopped"}')
    answer = Client(url + "/", "k").request("POST", "/call/a b\u00e9?x", {})
    assert (answer.status, answer.ok, answer.body) == (409, False, {"code": "stopped"})
    assert handler.seen == [("POST", "/call/a%20b%C3%A9%3Fx", "k")]


@pytest.mark.parametrize(
    ("body", "parsed"),
    [(b"oops", {"error": "oops"}), (b"[1]", {"value": [1]}), (b"\xff", {"error": "\ufffd"})],
)
def test_answers_that_are_no_object(served: Any, body: bytes, parsed: dict[str, Any]) -> None:
    url, handler = served
    handler.reply = (200, body)
    assert Client(url).request("GET", "/x").body == parsed


def test_what_speaks_no_http_is_unreachable() -> None:
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        url = f"http://127.0.0.1:{port.getsockname()[1]}"

        def answer() -> None:
            line, _ = port.accept()
            with line:
                line.recv(1000)
                line.sendall(b"SSH-2.0 hello\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Unreachable, match="No armlabd answers"):
            Client(url).request("GET", "/status")
        thread.join()
