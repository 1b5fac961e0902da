"""Verdicts and data as HTTP answers. Nothing is decided here."""

from __future__ import annotations

import json
import math
from typing import Any

from aiohttp import web

from armlabd.doors.http.statuses import STATUS
from armlabd.verdict import Code, Verdict

NO_STORE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def json_answer(
    data: Any, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    """Data as JSON with its length, never cached. NaN cannot be written and is a bug."""
    body = json.dumps(data, allow_nan=False, default=str).encode()
    return web.Response(
        body=body,
        status=status,
        content_type="application/json",
        headers={**NO_STORE, **(headers or {})},
    )


def verdict_answer(verdict: Verdict, ok_status: int = 200) -> web.Response:
    """A verdict with the status of its code; `Retry-After` in whole seconds where it has one."""
    status = ok_status if verdict.ok else STATUS[verdict.code]
    headers = {}
    if verdict.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(verdict.retry_after_s)))
    return json_answer(verdict.as_dict(), status, headers)


class Refusal(web.Response):
    """A refusal that this door made itself: by which check, for the audit."""

    def __init__(self, check: str, verdict: Verdict) -> None:
        same = verdict_answer(verdict)
        super().__init__(body=same.body, status=same.status, headers=same.headers)
        self.check, self.verdict = check, verdict


def refusal(code: Code, sentence: str, retry_after_s: float | None = None) -> web.Response:
    """A refusal made at the door."""
    return verdict_answer(Verdict(code, sentence, retry_after_s=retry_after_s))
