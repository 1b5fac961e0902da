"""Who asks: roles, callers, and the ring of keys.

A key is 256 random bits, so its plain SHA-256 is as good at rest as a slow hash, and checking one
costs microseconds on the path of a request. Every stored key is compared on every check, in
constant time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from hmac import compare_digest
from pathlib import Path

from armlabd.gate.keyfile import (
    KeyFileError,
    StoredKey,
    digest,
    file_mark,
    load_keys,
    save_keys,
)

__all__ = ["ENVIRONMENT_KEYS", "Caller", "KeyFileError", "KeyRing", "NewKey", "Role"]


class Role(IntEnum):
    """What a key may do; each role includes those before it."""

    READER = 0  # get_status, look, stop
    AGENT = 1  # also motion tools, plans, goals
    OPERATOR = 2  # also clears stops, answers questions, changes models and settings

    @property
    def label(self) -> str:
        """The role as people and files write it."""
        return self.name.lower()

    @classmethod
    def named(cls, text: str) -> Role:
        """The role of that name. Raises ValueError naming the roles."""
        for role in cls:
            if role.label == text:
                return role
        names = ", ".join(role.label for role in cls)
        raise ValueError(f"{text!r} is no role. The roles are: {names}.")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever asks for something: the key's name, its role, and the door (http, cli, run ...)."""

    name: str
    role: Role
    via: str = "http"


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made. `text` is shown once and kept nowhere."""

    name: str
    role: Role
    text: str


# The environment's name; a systemd credential has the same name in lower case.
ENVIRONMENT_KEYS: Mapping[str, Role] = {
    "ARM_API_KEY": Role.AGENT,
    "ARM_OPERATOR_KEY": Role.OPERATOR,
}
MIN_GIVEN_KEY_LENGTH = 16  # of a key that somebody else chose; ours are 43 characters


class KeyRing:
    """The keys of this board: `keys.json` (hashed) and those given by the environment.

    Raises KeyFileError when the file cannot be read or understood; the file is then left as it is.
    """

    def __init__(self, path: Path, environment: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._stored, self._seen = load_keys(path), file_mark(path)
        self._given = _given_keys(os.environ if environment is None else environment)

    def check(self, text: str | None, via: str = "http") -> Caller | None:
        """The caller of a key, or None for an absent, wrong or revoked one. Constant time.

        A file that another process changed is read again first, so a key revoked on the command
        line stops working at once.
        """
        self._follow_file()
        wanted = digest(text or "")
        found: StoredKey | None = None
        for key in (*self._given, *self._stored):
            if compare_digest(key.digest, wanted) and not key.revoked:
                found = key
        if not text or found is None:
            return None
        return Caller(found.name, Role.named(found.role), via)

    def add(self, name: str, role: Role, created: str = "") -> NewKey:
        """Make, store and return a key. Raises ValueError, KeyFileError, OSError.

        ValueError: a bad or used name.
        """
        self._stored, self._seen = load_keys(self._path), file_mark(self._path)
        if not name or len(name) > 40 or not name.isprintable():
            raise ValueError("A key's name has 1 to 40 printable characters. Choose another.")
        if any(key.name == name for key in self._stored + self._given):
            raise ValueError(f"There is already a key named {name!r}. Choose another name.")
        text = secrets.token_urlsafe(32)
        self._keep((*self._stored, StoredKey(name, role.label, digest(text), created)))
        return NewKey(name, role, text)

    def revoke(self, name: str) -> bool:
        """Mark the key of that name as revoked, for good. False when there is none.

        Raises KeyFileError, OSError. A key given by the environment is taken away there.
        """
        self._stored = load_keys(self._path)
        hit = any(key.name == name and not key.revoked for key in self._stored)
        if hit:
            self._keep(tuple(k.as_revoked() if k.name == name else k for k in self._stored))
        return hit

    def list(self) -> tuple[StoredKey, ...]:
        """Every key with name, role, day of making and whether it is revoked."""
        return self._given + self._stored

    def first_keys(self, created: str = "") -> tuple[NewKey, ...]:
        """At a first start, make an operator and an agent key where nothing gives one.

        Answers only what was made now, to be shown once. Raises OSError.
        """
        have = {key.role for key in self.list()}
        wanted = (("operator", Role.OPERATOR), ("agent", Role.AGENT))
        return tuple(self.add(n, role, created) for n, role in wanted if role.label not in have)

    def _follow_file(self) -> None:
        mark = file_mark(self._path)
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._stored = load_keys(self._path)
        except KeyFileError:  # unreadable now: nobody is let in on the word of an older copy
            self._stored = ()

    def _keep(self, keys: tuple[StoredKey, ...]) -> None:
        save_keys(self._path, keys)
        self._stored, self._seen = keys, file_mark(self._path)


def _given_keys(environment: Mapping[str, str]) -> tuple[StoredKey, ...]:
    keys = []
    for name, role in ENVIRONMENT_KEYS.items():
        text = environment.get(name, "").strip() or _credential(environment, name.lower())
        if not text:
            continue
        if len(text) < MIN_GIVEN_KEY_LENGTH:
            raise KeyFileError(
                f"{name} has {len(text)} characters; at least {MIN_GIVEN_KEY_LENGTH} are needed. "
                "Give a longer one, for example 32 random bytes in base64."
            )
        keys.append(StoredKey(name, role.label, digest(text), ""))
    if len({key.digest for key in keys}) < len(keys):
        raise KeyFileError(
            "ARM_API_KEY and ARM_OPERATOR_KEY are the same, so every agent would be an operator. "
            "Give two different keys."
        )
    return tuple(keys)


def _credential(environment: Mapping[str, str], name: str) -> str:
    """A systemd credential of that name, or nothing."""
    folder = environment.get("CREDENTIALS_DIRECTORY", "")
    if not folder:
        return ""
    try:
        return Path(folder, name).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"The credential {name} cannot be read: {error}.") from error
