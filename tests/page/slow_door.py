"""A door in front of the daemon's: it hands on what it is asked, or lets chosen requests hang."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

LONGEST_S = 60.0  # for an answer of the daemon
LOOK_S = 0.02
DROPPED = {"host", "origin", "connection"}  # they name this door


class SlowDoor(ThreadingHTTPServer):
    """`hangs(method, path)` chooses; `url` is the daemon's address and may change."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = url
        self.hangs: Callable[[str, str], bool] = lambda method, path: False
        self.released = threading.Event()
        self.asked: list[tuple[str, str]] = []
        self.hanging = self.most_hanging = 0
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def hold(self, line: socket.socket) -> None:
        """Keep one request waiting until it is released or given up."""
        with self._lock:
            self.hanging += 1
            self.most_hanging = max(self.most_hanging, self.hanging)
        while not self.released.is_set():
            if select.select([line], [], [], LOOK_S)[0] and not _more(line):
                break
        with self._lock:
            self.hanging -= 1

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away is nothing to tell of."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep-alive, so that the browser's limit of connections counts
    server: SlowDoor

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def _any(self) -> None:
        self.server.asked.append((self.command, self.path))
        if self.server.hangs(self.command, self.path):
            self.server.hold(self.connection)
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in DROPPED}
        line = http.client.HTTPConnection(urlsplit(self.server.target).netloc, timeout=LONGEST_S)
        with contextlib.closing(line):
            line.request(self.command, self.path, body, headers)
            answer = line.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "date", "server"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _any


def _more(line: socket.socket) -> bool:
    """False once the browser has closed this connection."""
    try:
        return bool(line.recv(65536))
    except OSError:
        return False


@contextlib.contextmanager
def slow_door(url: str) -> Iterator[SlowDoor]:
    """A door in front of that address."""
    door = SlowDoor(url)
    thread = threading.Thread(target=door.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield door
    finally:
        door.released.set()
        door.shutdown()
        thread.join()
        door.server_close()
