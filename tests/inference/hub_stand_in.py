"""A file server on loopback that speaks the few routes of the hub which a fetch uses."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NEXT = "fedcba9876543210fedcba9876543210fedcba98"
REPOSITORY = "Somebody/Small-Model"


@dataclass
class Hub:
    """What the server has, and what it was asked. `break_after` bytes of a file, once."""

    files: dict[str, bytes] = field(default_factory=dict)
    commit: str = COMMIT
    url: str = ""
    gets: list[tuple[str, str]] = field(default_factory=list)  # path, Range
    heads: int = 0
    break_after: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, bytes] = field(default_factory=dict)  # sent instead, of the same length
    status: int = 200


class Handler(BaseHTTPRequestHandler):
    """Answers from the hub of its server."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        return None

    def do_HEAD(self) -> None:
        self.hub.heads += 1
        self._file(body=False)

    def do_GET(self) -> None:
        if self.hub.status != 200:
            self._send(self.hub.status, b"{}", {})
        elif self.path.startswith("/api/models/"):
            self._info()
        else:
            self._file(body=True)

    def _info(self) -> None:
        name = self.path.removeprefix("/api/models/").split("?")[0].split("/revision/")[0]
        if name != REPOSITORY:
            headers = {"X-Error-Code": "RepoNotFound"}
            self._send(404, b'{"error": "Repository not found"}', headers)
            return
        siblings = [
            {
                "rfilename": path,
                "size": len(data),
                "blobId": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(),
                **({"lfs": self._lfs(data)} if path.endswith((".onnx", "_data")) else {}),
            }
            for path, data in self.hub.files.items()
        ]
        told = {"id": name, "modelId": name, "sha": self.hub.commit, "siblings": siblings}
        self._send(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def _lfs(self, data: bytes) -> dict[str, object]:
        return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}

    def _file(self, body: bool) -> None:
        found = re.fullmatch(rf"/{REPOSITORY}/resolve/([^/]+)/(.+)", self.path.split("?")[0])
        path = found[2] if found else ""
        if path not in self.hub.files:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        data = self.hub.files[path]
        etag = hashlib.sha256(data).hexdigest()
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": self.hub.commit, "Accept-Ranges": "bytes"}
        if not body:
            self._send(200, b"", {**headers, "Content-Length": str(len(data))})
            return
        asked = self.headers.get("Range", "")
        self.hub.gets.append((path, asked))
        start = int(asked.removeprefix("bytes=").split("-")[0]) if asked else 0
        sent = self.hub.wrong.get(path, data)[start:]
        if asked:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self._send(206 if asked else 200, sent, headers, self.hub.break_after.pop(path, None))

    def _send(
        self, status: int, data: bytes, headers: dict[str, str], only: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")  # or a thread would wait for the next request
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(data if only is None else data[:only])
        self.close_connection = True


@contextlib.contextmanager
def hub() -> Iterator[Hub]:
    """A running server; its thread has ended when this ends."""
    one = Hub()
    handler = type("OneHandler", (Handler,), {"hub": one})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    one.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield one
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
