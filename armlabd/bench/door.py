"""The daemon's door as a local client sees it: one kept connection, time stamps, no proxies."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from armlabd.bench.processes import BenchError

TIMEOUT_S = 60.0  # a slow move across the table


class Reply(NamedTuple):
    """An HTTP answer, when the request was sent and when the answer had come (monotonic ns)."""

    status: int
    body: dict[str, Any]
    sent_ns: int
    answered_ns: int


class Door:
    """One keep-alive connection with one key."""

    def __init__(self, url: str, key: str = "", timeout_s: float = TIMEOUT_S) -> None:
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            address.hostname or "", address.port, timeout=timeout_s
        )
        self._headers = {"X-API-Key": key} if key else {}

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Reply:
        """One request and its answer, whatever the status. Raises BenchError without one."""
        headers = dict(self._headers)
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        sent_ns = time.monotonic_ns()
        try:
            self._connection.request(method, path, data, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise BenchError(f"{method} {path} got no answer: {error!r}.") from error
        return Reply(answer.status, _parsed(text), sent_ns, time.monotonic_ns())

    def must(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Reply:
        """Like `ask`; a refusal raises BenchError with its sentence."""
        reply = self.ask(method, path, body)
        if not 200 <= reply.status < 300:
            why = reply.body.get("error", reply.status)
            raise BenchError(f"{method} {path} was refused: {why}")
        return reply

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"error": text.decode(errors="replace")[:200]}
    return value if isinstance(value, dict) else {"value": value}
