"""The physical stop line as the core sees it. Only "released" lets the arm move."""

from __future__ import annotations

from typing import Protocol


class LineSource(Protocol):
    """Reads the stop button. The reader for real lines comes with its own dependency."""

    def pressed(self) -> bool | None:
        """True while pressed, False while released, None when the wire is broken or unread."""


class ScriptedLine:
    """A line for tests and the virtual arm: it reads what it was last set to."""

    def __init__(self, level: bool | None = False) -> None:
        self.level = level

    def pressed(self) -> bool | None:
        """The scripted level."""
        return self.level


class Button:
    """What the line means: `state` is released, pressed, broken, missing or none.

    missing: required, but no reader is configured. none: there is no physical stop.
    """

    def __init__(self, line: LineSource | None, required: bool) -> None:
        self._line = line
        self.state = "missing" if required else "none"
        self.look()

    def look(self) -> str:
        """Read the line once."""
        if self._line is not None:
            level = self._line.pressed()
            self.state = "broken" if level is None else "pressed" if level else "released"
        return self.state

    @property
    def stops(self) -> bool:
        """True while the arm must be stopped because of the button."""
        return self.state in ("pressed", "broken", "missing")

    @property
    def why(self) -> str:
        """What to do so that a stop can be cleared."""
        return {
            "pressed": "The stop button is pressed: release it first.",
            "broken": "The stop button's line cannot be read: check its wire.",
            "missing": "A stop button is required but none is connected: wire it, or set "
            "[stop.button] required = false.",
        }.get(self.state, "")
