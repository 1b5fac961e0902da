"""One HTTP request to the daemon, with a time-out, and where the daemon and the key are."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armlabd.motion.sockets import places

DEFAULT_URL = "http://127.0.0.1:8765"
TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 2.0  # then the core is stopped without the daemon
MOST_BYTES = 20_000_000  # a picture is far below
MOTION_TIMEOUT_S = 120.0  # a slow move across the table, and waiting for it to settle


class Unreachable(Exception):
    """No daemon answers; the sentence says where it was looked for and what to do."""


class WrongUse(Exception):
    """The command line is not right; the sentence says what is allowed."""


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
        """Send one request. Raises Unreachable, WrongUse."""
        request = self._prepared(method, path, body)
        try:
            with self._opener().open(request, timeout=timeout_s) as response:
                return Answer(response.status, _parsed(response.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _parsed(error.read()))
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(self._why(error)) from error

    def fetch(self, path: str, timeout_s: float = TIMEOUT_S) -> bytes | None:
        """A file such as a picture; None when it is refused. Raises Unreachable, WrongUse."""
        request = self._prepared("GET", path, None)
        try:
            with self._opener().open(request, timeout=timeout_s) as response:
                content: bytes = response.read(MOST_BYTES)
                return content
        except urllib.error.HTTPError as error:
            error.close()
            return None
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(self._why(error)) from error

    def _prepared(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> urllib.request.Request:
        data = None if body is None else json.dumps(body).encode()
        address = self.url.rstrip("/") + urllib.parse.quote(path)
        try:
            request = urllib.request.Request(address, data, method=method)
            good = request.type in ("http", "https") and bool(request.host)
        except ValueError:
            good = False
        if not good:
            raise WrongUse(f"{self.url!r} is no address. Write it as http://HOST:PORT.")
        if not (self.key.isascii() and self.key.isprintable()):
            raise WrongUse("The key holds characters that no key has. Copy it again.")
        request.add_header("X-API-Key", self.key)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        return request

    def _why(self, error: Exception) -> str:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            return (
                f"The certificate of {self.url} is not trusted. Name the PEM file that signs it "
                "with --certificate."
            )
        if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
            return f"armlabd at {self.url} did not answer in time. See its log, or try again."
        words = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        return (
            f"No armlabd answers at {self.url} ({words}). Start it with 'armlabd run', or name "
            "another with --url."
        )

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
        note = note_of(folder)
        if note is not None:
            return str(note["url"])
    return DEFAULT_URL


def find_key(chosen: str | None, state: Path | None) -> str:
    """--key, else ARM_OPERATOR_KEY, ARM_API_KEY, else the board's own operator key file."""
    for text in (chosen, os.environ.get("ARM_OPERATOR_KEY"), os.environ.get("ARM_API_KEY")):
        if text:
            return text
    folders = find_folders(state)
    running = [folder for folder in folders if note_of(folder) is not None]
    for folder in running or folders:
        try:
            return (folder / "operator.key").read_text().strip()
        except OSError:
            continue
    return ""


def note_of(folder: Path) -> dict[str, Any] | None:
    """What a daemon that still runs wrote down about itself."""
    for place in places(folder):
        note = _note_in(Path(place))
        if note is not None:
            return note
    return None


def _note_in(folder: Path) -> dict[str, Any] | None:
    try:
        note: dict[str, Any] = json.loads((folder / "daemon.json").read_text())
        url, pid = note["url"], note["pid"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    good = isinstance(url, str) and isinstance(pid, int) and _runs(pid)
    return note if good else None


def _runs(pid: int) -> bool:
    """True while there is such a process; 0 and below would mean whole groups of them."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # somebody else's
    except (OSError, OverflowError):
        return False
    return True
