"""Why a camera cannot be opened or used, in sentences with a remedy."""

from __future__ import annotations

import os
import re

from armlabd.bus.holder import holders

NO_PICTURE = (
    "{name} is open but sends no picture. It may have been unplugged; or two cameras on one USB "
    "controller exceed its bandwidth (the kernel then says: no space left on device). Plug it in, "
    'set [camera] format = "MJPG" or a smaller size, or use another USB port. Then look again.'
)
UNSETTLED = (
    "The brightness of {name} does not settle within {seconds:g} s. Use a steady light, or keep "
    "shadows off the table, then look again."
)
DARK = (
    "The picture of {name} stays black for {seconds:g} s. Take the cap off the lens, switch on a "
    "light, then look again."
)
_NODE = re.compile(r"video\d+")


def not_opened(name: str, path: str | None, dev: str = "/dev", proc: str = "/proc") -> str:
    """The sentence for a device that does not open; `path` None is an address."""
    if path is None:
        return (
            f"{name} cannot be opened: nothing streams at this address. Check that it can be "
            "reached from this board, then look again."
        )
    if not os.path.exists(path):
        return f"{name} is not plugged in: there is no {path}.{_others(dev)} Then look again."
    if not os.access(path, os.R_OK | os.W_OK):
        return (
            f"{name} may not be used by this user. Put the user into the group of {path}: sudo "
            "usermod -aG video USER, log in anew, then look again."
        )
    found = holders(path, proc)
    if found:
        who = ", ".join(f"{one.name} (process {one.pid})" for one in found)
        return f"{name} is in use by another program: {who}. End that program, then look again."
    return (
        f"{name} is there but cannot be opened. A camera has several nodes and only one gives "
        f"pictures;{_others(dev, path)} or another user's program has it (sudo armlabd doctor). "
        "Then look again."
    )


def nodes(dev: str = "/dev") -> list[str]:
    """Every video node, by number."""
    try:
        found = [entry for entry in os.listdir(dev) if _NODE.fullmatch(entry)]
    except OSError:
        return []
    return [os.path.join(dev, node) for node in sorted(found, key=lambda n: int(n[5:]))]


def _others(dev: str, path: str = "") -> str:
    others = [node for node in nodes(dev) if node != path]
    if not others:
        return " Plug it in." if not path else " plug it in anew,"
    listed = ", ".join(others)
    return f" Plug it in, or set another: {listed}." if not path else f" try {listed},"
