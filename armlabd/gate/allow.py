"""May this caller move the arm without a further yes?

An operator's own request is that yes. An agent needs `[gate] allow` or `bypass`; a setting left out
means nothing on a real arm and everything on the virtual one.
"""

from __future__ import annotations

from dataclasses import dataclass

from armlabd.gate.roles import Caller, Role
from armlabd.verdict import Code, Verdict


@dataclass(frozen=True, slots=True)
class Allowance:
    """The [gate] settings. `simulated`: the arm behind the core is the virtual one."""

    allow: tuple[str, ...] | None
    bypass: bool
    simulated: bool

    def ask(self, tool: str, caller: Caller) -> str | Verdict:
        """What allows the motion ("operator", "bypass", "allow", "simulated"), or NOT_ALLOWED."""
        if caller.role >= Role.OPERATOR:
            return "operator"
        if self.bypass:
            return "bypass"
        if self.allow is None:
            return "simulated" if self.simulated else self._refusal(tool)
        if tool in self.allow or "*" in self.allow:
            return "allow"
        return self._refusal(tool)

    def _refusal(self, tool: str) -> Verdict:
        names = ", ".join(f'"{name}"' for name in (*(self.allow or ()), tool))
        return Verdict.refused(
            Code.NOT_ALLOWED,
            f"{tool} moves the arm, and an agent's key is not allowed to use it here. A person "
            f"can use an operator's key, or set [gate] allow = [{names}] in the settings and "
            "start armlabd again.",
            setting=f"[gate] allow = [{names}]",
        )
