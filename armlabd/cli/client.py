"""One HTTP request to the daemon, with a time-out, and where the daemon and the key are."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_URL = "http://127.0.0.1:8765"
TIMEOUT_S = 10.0
MOTION_TIMEOUT_S = 120.0  # a slow move across the table, and waiting for it to settle


class Unreachable(Exception):
    """No daemon answers; the sentence says where it was looked for and what to do."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of an answer."""

    status: int
    body: dict[str, Any]

    @property
    def ok(self) -> bool:
        """True for a 2xx answer."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Client:
    """A daemon's address and the key to show it."""

    url: str
    key: str = ""
    certificate: str = ""

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Answer:
        """Send one request. Raises Unreachable."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.rstrip("/") + path, data, method=method)
        request.add_header("X-API-Key", self.key)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener().open(request, timeout=timeout_s) as response:
                return Answer(response.status, _parsed(response.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _parsed(error.read()))
        except (OSError, urllib.error.URLError) as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(
                f"No armlabd answers at {self.url} ({reason}). Start it with 'armlabd run', or "
                "name another with --url."
            ) from error

    def _opener(self) -> urllib.request.OpenerDirector:
        """Without proxies: the arm is on this board or on the LAN."""
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if self.url.startswith("https"):
            context = ssl.create_default_context(cafile=self.certificate or None)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        return urllib.request.build_opener(*handlers)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {"error": body.decode(errors="replace")[:200]}
    return value if isinstance(value, dict) else {"value": value}


def find_folders(state: Path | None) -> list[Path]:
    """State folders a local daemon may use, the real arm's first."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    base = state or (Path(given) if given else Path.home() / ".local/state/armlabd")
    bases = [base] if state else [base, Path("/var/lib/armlabd")]
    return [folder for one in bases for folder in (one, one / "sim")]


def find_url(chosen: str | None, state: Path | None) -> str:
    """--url, else the running local daemon's own note, else the default address."""
    if chosen:
        return chosen
    for folder in find_folders(state):
        note = _note(folder)
        if note is not None:
            return str(note["url"])
    return DEFAULT_URL


def find_key(chosen: str | None, state: Path | None) -> str:
    """--key, else ARM_OPERATOR_KEY, ARM_API_KEY, else the board's own operator key file."""
    for text in (chosen, os.environ.get("ARM_OPERATOR_KEY"), os.environ.get("ARM_API_KEY")):
        if text:
            return text
    folders = find_folders(state)
    running = [folder for folder in folders if _note(folder) is not None]
    for folder in running or folders:
        try:
            return (folder / "operator.key").read_text().strip()
        except OSError:
            continue
    return ""


def _note(folder: Path) -> dict[str, Any] | None:
    """What a daemon that still runs wrote down about itself."""
    try:
        note = json.loads((folder / "daemon.json").read_text())
        os.kill(int(note["pid"]), 0)
    except PermissionError:
        return note if isinstance(note, dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return note if isinstance(note, dict) else None
