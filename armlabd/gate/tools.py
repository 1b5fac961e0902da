"""The tool table: every tool as data. Schemas, refusals and role checks are made from it.

Ranges are live: they come from the settings, which may only tighten the textbook's figures
(x 0.10..0.28, y +-0.15, z 0.02..0.07 m, 5..60 deg/s). Ends are inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from armlabd.config import Config
from armlabd.gate.roles import Role


class Needed(Enum):
    """The type of REQUIRED, so that it is told apart from any number and from None."""

    REQUIRED = "required"


REQUIRED: Final = Needed.REQUIRED
DEFAULT_SPEED_DPS = 30.0  # the textbook's default for a move
MIN_SPEED_DPS = 5.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that a tool takes. `default` None: may be left out and then is not set."""

    name: str
    unit: str
    meaning: str
    minimum: float
    maximum: float
    default: float | Needed | None = REQUIRED
    kind: str = "number"

    @property
    def required(self) -> bool:
        """True when a call without it is refused."""
        return self.default is REQUIRED

    def schema(self) -> dict[str, Any]:
        """The parameter as JSON Schema."""
        found: dict[str, Any] = {
            "type": self.kind,
            "description": f"{self.meaning} ({self.unit})",
            "minimum": self.minimum,
            "maximum": self.maximum,
        }
        if isinstance(self.default, float):
            found["default"] = self.default
        return found


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: who may use it, whether it moves the arm, and what it takes."""

    name: str
    description: str
    role: Role  # the least role that may use it
    moves: bool
    parameters: tuple[Parameter, ...] = ()

    def input_schema(self) -> dict[str, Any]:
        """The arguments as a JSON Schema object without extra keys."""
        return {
            "type": "object",
            "properties": {p.name: p.schema() for p in self.parameters},
            "required": [p.name for p in self.parameters if p.required],
            "additionalProperties": False,
        }


ToolTable = Mapping[str, Tool]


def tool_table(config: Config) -> dict[str, Tool]:
    """Every tool in the order that sentences and schemas list them, with today's ranges."""
    tools = (
        Tool(
            "get_status",
            "Read the joint angles, the gripper, whether something is held and whether the arm "
            "is stopped. Moves nothing. Call it first.",
            Role.READER,
            moves=False,
        ),
        Tool(
            "move_to_pose",
            "Move the grasp point, midway between the jaws, in a straight line to x, y, z in the "
            "base frame (metres; x forward, y left, z up from the table), with the hand pointing "
            "down. yaw_deg turns the jaws; left out, the hand keeps its own direction.",
            Role.AGENT,
            moves=True,
            parameters=_pose_parameters(config),
        ),
        Tool(
            "open_gripper",
            "Open the gripper to a percentage of its travel. What it holds is let go.",
            Role.AGENT,
            moves=True,
            parameters=(Parameter("percent", "%", "how far open", 0.0, 100.0, 100.0),),
        ),
        Tool(
            "close_gripper",
            "Close the gripper until it meets something or is shut. The answer says whether "
            "something is held.",
            Role.AGENT,
            moves=True,
        ),
        Tool(
            "go_home",
            "Lift the hand straight up and move to the home pose. The gripper stays as it is.",
            Role.AGENT,
            moves=True,
        ),
        Tool(
            "stop",
            "Stop the arm at once. Only a person can clear a stop afterwards.",
            Role.READER,
            moves=False,
        ),
        Tool(
            "look",
            "Take a picture and answer what lies on the table and where. If the arm hides the "
            "table it is swung aside first.",
            Role.READER,
            moves=False,
        ),
    )
    return {tool.name: tool for tool in tools}


def _pose_parameters(config: Config) -> tuple[Parameter, ...]:
    space = config.workspace
    fastest = config.limits.speed_dps
    return (
        Parameter("x", "m", "forward from the base", space.x_min, space.x_max),
        Parameter("y", "m", "to the left of the base", space.y_min, space.y_max),
        Parameter("z", "m", "height above the table", space.z_min, space.z_max),
        Parameter(
            "speed_dps",
            "deg/s",
            "speed of the fastest joint",
            MIN_SPEED_DPS,
            fastest,
            min(DEFAULT_SPEED_DPS, fastest),
        ),
        Parameter(
            "yaw_deg",
            "deg",
            "direction in which the jaws open, counted from x towards y",
            -90.0,
            90.0,
            None,
        ),
    )


def filled(tool: Tool, args: Mapping[str, Any]) -> dict[str, float]:
    """Validated arguments as floats, with the defaults filled in."""
    found: dict[str, float] = {}
    for parameter in tool.parameters:
        value = args.get(parameter.name, parameter.default)
        if value is not None and value is not REQUIRED:
            found[parameter.name] = float(value)
    return found


def schemas(table: ToolTable) -> list[dict[str, Any]]:
    """The table with name, description and `input_schema` for each tool."""
    return [
        {"name": t.name, "description": t.description, "input_schema": t.input_schema()}
        for t in table.values()
    ]


def function_schemas(table: ToolTable) -> list[dict[str, Any]]:
    """The same as a flat list of functions with `parameters`, as other model APIs want it."""
    return [
        {
            "type": "function",
            "name": t.name,
            "description": t.description,
            "parameters": t.input_schema(),
        }
        for t in table.values()
    ]
