"""Stops that no door asked for, by the button or the core itself: a row in audit and journal."""

from __future__ import annotations

import logging

from armlabd.gate.ledger import Ledger
from armlabd.gate.roles import Caller, Role
from armlabd.motion.messages import CoreState
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)

WHO = ("button", "core")  # how the core signs them; what doors ask for has its row already


class OwnStops:
    """Looks at the core's state again and again. A stop that was there at the start is no news."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._stopped = True

    async def look(self, state: CoreState | None) -> None:
        """Tell a stop that has come since the last look. Without a core nothing is known."""
        if state is None:
            return
        before, self._stopped = self._stopped, state.stopped
        who = str(state.stop.get("by", ""))
        if state.stopped and not before and who in WHO:
            await self._tell(state, who)

    async def _tell(self, state: CoreState, who: str) -> None:
        stop, cause = state.stop, str(state.stop.get("cause", ""))
        sentence = f"{stop.get('sentence', '')} {stop.get('told', '')}".strip()
        fields = {"CAUSE": cause, "STOP_LATENCY_US": stop.get("latency_us", 0)}
        log.warning("stop by the %s (%s): %s", who, cause, sentence, extra=fields)
        data = {name: stop.get(name) for name in ("written", "confirmed", "of")}
        caller = Caller(who, Role.READER, via="core")
        await self._ledger.act(caller, "stop", cause, Verdict(Code.OK, sentence, data))
