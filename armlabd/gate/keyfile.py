"""`keys.json`: hashed keys at rest. A file that cannot be understood is refused, never replaced."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from armlabd.durable import write_atomic

ROLE_NAMES = ("reader", "agent", "operator")
DIGEST_LENGTH = 64  # hexadecimal characters of a SHA-256


class KeyFileError(Exception):
    """The keys cannot be used; the sentence says why and what to do. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One key as it is kept: never its text."""

    name: str
    role: str
    digest: str
    created: str = ""  # wall clock, only to show
    revoked: bool = False

    def as_revoked(self) -> StoredKey:
        """The same key, no longer good for anything."""
        return replace(self, revoked=True)


def digest(text: str) -> str:
    """The form in which a key is kept and compared."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def load_keys(path: Path) -> tuple[StoredKey, ...]:
    """The keys in `path`; none for a missing file. Raises KeyFileError."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(raw, dict) or not isinstance(raw.get("keys"), list):
            raise ValueError('it holds no {"keys": [...]}')
        return tuple(_parse(item) for item in raw["keys"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise KeyFileError(
            f"{path} cannot be used as the file of keys: {_why(error)}. No key was accepted and "
            "the file was left as it is. Mend it, or move it away and make new keys."
        ) from error


def save_keys(path: Path, keys: tuple[StoredKey, ...]) -> None:
    """Replace the file, readable by its owner only. Raises OSError."""
    text = json.dumps({"keys": [asdict(key) for key in keys]}, indent=1)
    write_atomic(path, text.encode() + b"\n")


def file_mark(path: Path) -> tuple[int, int, int] | None:
    """What changes when another process replaces the file; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return "it is no JSON"
    return str(error)


def _parse(item: Any) -> StoredKey:
    try:
        key = StoredKey(**item)
    except TypeError:
        raise ValueError("a key has not the fields it needs") from None
    texts = (key.name, key.role, key.digest, key.created)
    if not all(isinstance(text, str) for text in texts) or not isinstance(key.revoked, bool):
        raise ValueError("a field has the wrong type")
    if key.role not in ROLE_NAMES:
        raise ValueError(f"{key.role!r} is no role")
    if len(key.digest) != DIGEST_LENGTH or not key.name:
        raise ValueError("a key without a name or a whole hash")
    return key
