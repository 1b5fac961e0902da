"""What the session writes into the audit: an intent before a motion, an outcome for a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armlabd.gate.roles import Caller
from armlabd.record.audit import Audit
from armlabd.verdict import Code, Verdict

# Refusals that an impatient or broken client can cause without end: written, but the fsync is left
# to the next row that matters.
UNSYNCED = frozenset(
    {
        Code.RATE,
        Code.UNKNOWN_TOOL,
        Code.HOST,
        Code.ORIGIN,
        Code.BAD_KEY,
        Code.TOO_LARGE,
        Code.BAD_MEDIA_TYPE,
        Code.BAD_JSON,
        Code.NOT_AN_OBJECT,
    }
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: what, by whom, through which door, for which run."""

    tool: str
    args: Mapping[str, Any]
    caller: Caller
    run: str | None = None
    door: bool = True

    def row(self) -> dict[str, Any]:
        """The part of a row that tells who asked for what."""
        return {
            "key": self.caller.name,
            "role": self.caller.role.label,
            "via": self.caller.via,
            "asked": "call" if self.door else "step",
            "tool": self.tool,
            "args": self.args,
            "run": self.run,
        }


class Ledger:
    """Rows of one session. Writing happens in a thread: an fsync never holds up the loop."""

    def __init__(self, audit: Audit, simulated: bool) -> None:
        self._audit, self._simulated = audit, simulated

    async def intent(self, asked: Asked, allowed_by: str) -> int | Verdict:
        """The row before a motion; its number, or DISK when it cannot be written."""
        warning = {"warning": "[gate] bypass let this through"} if allowed_by == "bypass" else {}
        row = {**asked.row(), "allowed_by": allowed_by, "outcome": "started", **warning}
        try:
            return await asyncio.to_thread(self._write, row)
        except OSError as error:
            return Verdict.refused(
                Code.DISK,
                f"The audit cannot be written ({error.strerror or error}), and what is not "
                "recorded does not move. Free the disk or mend it, then try again.",
            )

    async def refusal(self, asked: Asked, refused_by: str, verdict: Verdict) -> None:
        """The row of a request that moved nothing. A full disk does not undo a refusal."""
        row = {**asked.row(), "refused_by": refused_by, **_result(verdict, "refused")}
        await self._try(row, sync=verdict.code not in UNSYNCED)

    async def at_door(self, caller: Caller, what: str, refused_by: str, verdict: Verdict) -> None:
        """The row of a request that a door refused before any room saw it."""
        row = {**Asked(what, {}, caller).row(), "refused_by": refused_by}
        await self._try({**row, **_result(verdict, "refused")}, sync=verdict.code not in UNSYNCED)

    async def outcome(self, asked: Asked, intent: int, verdict: Verdict) -> bool:
        """The row after a motion; False when it could not be written."""
        word = "done" if verdict.ok else "failed"
        return await self._try({**asked.row(), "intent": intent, **_result(verdict, word)})

    def cancelled(self, asked: Asked, intent: int) -> None:
        """The row of a motion whose caller went away; written at once, while being cancelled."""
        row = {**asked.row(), "intent": intent, "code": str(Code.CANCELLED), "outcome": "failed"}
        try:
            self._write(row)
        except OSError:
            return

    async def act(self, caller: Caller, what: str, cause: str, verdict: Verdict) -> bool:
        """The row of a stop or of the clearing of one; False when it could not be written."""
        row = Asked(what, {}, caller).row()
        word = "done" if verdict.ok else "refused"
        return await self._try({**row, "cause": cause, **_result(verdict, word), **verdict.data})

    async def _try(self, row: Mapping[str, Any], sync: bool = True) -> bool:
        try:
            await asyncio.to_thread(self._write, row, sync)
        except OSError:
            return False
        return True

    def _write(self, row: Mapping[str, Any], sync: bool = True) -> int:
        return self._audit.write({**row, "simulated": self._simulated}, sync=sync)


def _result(verdict: Verdict, outcome: str) -> dict[str, Any]:
    return {"code": str(verdict.code), "outcome": outcome, "sentence": verdict.sentence}
