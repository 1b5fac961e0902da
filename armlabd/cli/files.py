"""`armlabd keys` and `armlabd audit`: read and change files of the state folder on this board."""

from __future__ import annotations

import argparse
import datetime
import json

from armlabd.cli.exits import OK, REFUSED
from armlabd.cli.show import complain, say
from armlabd.clock import SystemClock
from armlabd.daemon.state import state_folder
from armlabd.gate.roles import KeyFileError, KeyRing, Role
from armlabd.record.audit import Audit


def keys(options: argparse.Namespace) -> int:
    """armlabd keys list|add|revoke."""
    folder = state_folder(options.state, options.sim)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _keys(KeyRing(folder / "keys.json"), options)
    except (KeyFileError, ValueError) as error:
        complain(str(error))
    except BrokenPipeError:
        raise  # it is the reader that left, not the keys
    except OSError as error:
        complain(f"The keys in {folder} cannot be reached: {error.strerror}. Use --state or root.")
    return REFUSED


def _keys(ring: KeyRing, options: argparse.Namespace) -> int:
    if options.what == "list":
        for key in ring.list():
            end = "revoked" if key.revoked else "valid"
            say(f"{key.name:<24} {key.role:<9} {end:<8} {key.created}")
        return OK
    if options.what == "add":
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        made = ring.add(options.name, Role.named(options.role), today)
        say(f"{made.role.label} key {made.name!r}, shown this once: {made.text}")
        return OK
    if ring.revoke(options.name):
        say(f"Key {options.name!r} is revoked.")
        return OK
    complain(f"There is no valid key named {options.name!r}. 'armlabd keys list' shows them.")
    return REFUSED


def audit(options: argparse.Namespace) -> int:
    """armlabd audit tail."""
    folder = state_folder(options.state, options.sim) / "audit"
    try:
        rows = Audit(folder, SystemClock()).tail(options.n)
    except OSError as error:
        complain(f"The audit in {folder} cannot be read: {error.strerror}. Use --state or root.")
        return REFUSED
    for row in rows:
        say(json.dumps(row))
    return OK
