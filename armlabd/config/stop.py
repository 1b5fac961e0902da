"""[stop] and [stop.button] of `config.toml`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, field_validator, model_validator

from armlabd.config.part import Part

MOST_LINE = 1023  # no chip has as many lines


class ButtonConfig(Part):
    """[stop.button]: the physical stop line."""

    required: StrictBool = False
    board: Literal["", "pi4", "pi5", "orin", "sim"] = ""
    chip: str = ""
    line: str | int = ""
    release_s: Annotated[float, Field(ge=0.05, le=2)] = 0.2

    @field_validator("line", mode="before")
    @classmethod
    def _a_name_or_a_number(cls, line: object) -> object:
        number = isinstance(line, int) and not isinstance(line, bool) and 0 <= line <= MOST_LINE
        if not isinstance(line, str) and not number:
            raise ValueError(f'it must be a name as "GPIO5", or a number from 0 to {MOST_LINE}')
        return line

    @model_validator(mode="after")
    def _names_a_whole_line(self) -> Self:
        if self.board == "sim" and (self.chip or self.line != ""):
            raise ValueError('board = "sim" is the virtual arm\'s button: leave chip and line out')
        if not self.board and bool(self.chip) != (self.line != ""):
            raise ValueError("without a board, chip and line name the line together: set both")
        return self

    @property
    def named(self) -> bool:
        """True when it is said which line to read."""
        return bool(self.board or self.chip)


class StopConfig(Part):
    """[stop]: what a stop does."""

    action: Literal["torque_off", "keep_grip", "hold"] = "torque_off"
    button: ButtonConfig = ButtonConfig()
