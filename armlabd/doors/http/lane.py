"""The stop lane: what counts as a stop at this door. It errs on the side of stopping."""

from __future__ import annotations

import json

from aiohttp import web

from armlabd.doors.http.routes import STOP_LANE
from armlabd.gate.roles import Caller, Role
from armlabd.plan.stops import means_stop
from armlabd.verdict import Verdict

NOBODY = Caller("nobody", Role.READER)  # who asks on an open address without a key


def is_stop(request: web.Request) -> bool:
    """True for a POST to an address of the lane, however it is written.

    Percent signs, doubled slashes and a slash at the end do not keep a stop out.
    """
    parts = [part for part in request.path.split("/") if part]
    return request.method == "POST" and "/" + "/".join(parts) in STOP_LANE


def body_means_stop(body: bytes | Verdict | None) -> bool:
    """True for a goal or an answer that means stop: in its form, or as the bare words."""
    if not isinstance(body, bytes):
        return False
    text = body.decode("utf-8", "replace")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    if isinstance(said, dict):
        said = said.get("goal", said.get("answer"))
    return isinstance(said, str) and means_stop(said)
