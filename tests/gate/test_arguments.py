"""Properties of the argument check, inherited by every tool and every parameter in the table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armlabd.config import Config
from armlabd.config.model import LimitsConfig, WorkspaceConfig
from armlabd.gate.tools import Parameter, Tool, filled, function_schemas, schemas, tool_table
from armlabd.gate.validate import unknown_tool, validate
from armlabd.verdict import Code, Verdict

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "http_status.json").read_text())
TABLE = tool_table(Config())
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    # The same property runs for every subclass on purpose.
    suppress_health_check=[HealthCheck.differing_executors],
)


def good_args(tool: Tool) -> dict[str, Any]:
    return {p.name: (p.minimum + p.maximum) / 2 for p in tool.parameters if p.required}


class ParameterProperties:
    """What must hold for any numeric parameter; subclasses name the tool and the parameter."""

    tool: str
    name: str

    @property
    def parameter(self) -> Parameter:
        return next(p for p in TABLE[self.tool].parameters if p.name == self.name)

    def codes(self, value: object) -> list[Code]:
        args = {**good_args(TABLE[self.tool]), self.name: value}
        return [problem.code for problem in validate(TABLE, self.tool, args)]

    def test_both_ends_are_inside(self) -> None:
        assert self.codes(self.parameter.minimum) == []
        assert self.codes(self.parameter.maximum) == []

    def test_just_inside_passes_and_just_outside_is_refused(self) -> None:
        low, high = self.parameter.minimum, self.parameter.maximum
        for inside in (math.nextafter(low, math.inf), math.nextafter(high, -math.inf)):
            assert self.codes(inside) == []
        for outside in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf)):
            assert self.codes(outside) == [Code.OUT_OF_RANGE]

    @SETTINGS
    @given(share=st.floats(0, 1))
    def test_everything_inside_passes(self, share: float) -> None:
        low, high = self.parameter.minimum, self.parameter.maximum
        assert self.codes(min(high, low + share * (high - low))) == []

    @SETTINGS
    @given(value=st.floats() | st.integers())
    def test_everything_outside_is_refused_as_out_of_range(self, value: float) -> None:
        inside = self.parameter.minimum <= value <= self.parameter.maximum
        assert self.codes(value) == ([] if inside else [Code.OUT_OF_RANGE])

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, -(10**400)])
    def test_nan_infinities_and_giants_are_out_of_range(self, value: float) -> None:
        assert self.codes(value) == [Code.OUT_OF_RANGE]

    @pytest.mark.parametrize("value", [True, False, "0.2", "", None, [0.2], {"v": 1}, b"1", 1j])
    def test_what_is_no_number_is_of_the_wrong_type(self, value: object) -> None:
        assert self.codes(value) == [Code.WRONG_TYPE]

    def test_the_refusal_names_parameter_value_range_meaning_and_remedy(self) -> None:
        p = self.parameter
        args = {**good_args(TABLE[self.tool]), p.name: p.maximum + 7.5}
        (problem,) = validate(TABLE, self.tool, args)
        for part in (p.name, f"{p.maximum + 7.5}", f"{p.minimum:g}", f"{p.maximum:g}", p.meaning):
            assert part in problem.sentence
        assert (problem.minimum, problem.maximum) == (p.minimum, p.maximum)

    def test_it_is_in_both_schemas_with_its_range(self) -> None:
        for form, key in (
            (schemas(TABLE), "input_schema"),
            (function_schemas(TABLE), "parameters"),
        ):
            schema = next(s for s in form if s["name"] == self.tool)[key]
            found = schema["properties"][self.name]
            assert (found["minimum"], found["maximum"]) == (
                self.parameter.minimum,
                self.parameter.maximum,
            )
            assert (self.name in schema["required"]) == self.parameter.required

    def test_left_out_it_is_missing_or_takes_its_default(self) -> None:
        args = {k: v for k, v in good_args(TABLE[self.tool]).items() if k != self.name}
        codes = [p.code for p in validate(TABLE, self.tool, args)]
        if self.parameter.required:
            assert codes == [Code.MISSING]
        else:
            assert codes == []
            got = filled(TABLE[self.tool], args).get(self.name)
            assert got == self.parameter.default


class TestX(ParameterProperties):
    tool, name = "move_to_pose", "x"


class TestY(ParameterProperties):
    tool, name = "move_to_pose", "y"


class TestZ(ParameterProperties):
    tool, name = "move_to_pose", "z"


class TestSpeed(ParameterProperties):
    tool, name = "move_to_pose", "speed_dps"


class TestYaw(ParameterProperties):
    tool, name = "move_to_pose", "yaw_deg"


class TestPercent(ParameterProperties):
    tool, name = "open_gripper", "percent"


def test_every_parameter_of_the_table_has_its_properties_tested() -> None:
    tested = {(c.tool, c.name) for c in ParameterProperties.__subclasses__()}
    assert tested == {(t.name, p.name) for t in TABLE.values() for p in t.parameters}


@pytest.mark.parametrize("name", list(TABLE))
def test_an_extra_parameter_is_refused_for_every_tool(name: str) -> None:
    args = {**good_args(TABLE[name]), "colour": "red"}
    (problem,) = validate(TABLE, name, args)
    assert problem.code is Code.UNKNOWN_PARAMETER
    expected = ", ".join(p.name for p in TABLE[name].parameters) or "none"
    assert expected in problem.sentence


@pytest.mark.parametrize("name", list(TABLE))
def test_good_arguments_pass_for_every_tool(name: str) -> None:
    assert validate(TABLE, name, good_args(TABLE[name])) == ()


def test_all_problems_are_reported_at_once_missing_first() -> None:
    problems = validate(TABLE, "move_to_pose", {"x": 0.5, "y": "left", "colour": 1})
    assert [p.code for p in problems] == [
        Code.MISSING,
        Code.OUT_OF_RANGE,
        Code.WRONG_TYPE,
        Code.UNKNOWN_PARAMETER,
    ]
    answer = Verdict.of_problems(problems)
    assert all(problem.sentence in answer.sentence for problem in problems)


@SETTINGS
@given(
    name=st.sampled_from([*TABLE, "wave_hello"]),
    args=st.dictionaries(
        st.sampled_from(["x", "y", "z", "percent", "speed_dps", "yaw_deg"]) | st.text(max_size=5),
        st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.lists(st.integers()),
        max_size=5,
    ),
)
def test_no_arguments_ever_raise_and_what_passes_is_inside(name: str, args: dict[str, Any]) -> None:
    if not validate(TABLE, name, args):
        for parameter in TABLE[name].parameters:
            value = filled(TABLE[name], args).get(parameter.name)
            assert value is None or parameter.minimum <= value <= parameter.maximum


def test_ranges_are_live() -> None:
    narrow = Config(workspace=WorkspaceConfig(x_max=0.26), limits=LimitsConfig(speed_dps=20.0))
    table = tool_table(narrow)
    args = {"x": 0.27, "y": 0.0, "z": 0.05}
    assert [p.code for p in validate(table, "move_to_pose", args)] == [Code.OUT_OF_RANGE]
    assert filled(table["move_to_pose"], {**args, "x": 0.26})["speed_dps"] == 20.0
    assert validate(table, "move_to_pose", {**args, "x": 0.26, "speed_dps": 20.5})


def test_the_tools_of_the_chapter_are_listed() -> None:
    listed = {schema["name"] for schema in schemas(TABLE)}
    assert set(VECTORS["server_run"]["calls"][2]["tools"]) <= listed


def test_an_unknown_tool_is_named_with_the_tools_there_are() -> None:
    answer = unknown_tool(TABLE, "wave_hello")
    assert answer.code is Code.UNKNOWN_TOOL
    assert "'wave_hello'" in answer.sentence
    assert ", ".join(TABLE) in answer.sentence
    (problem,) = validate(TABLE, "wave_hello", {})
    assert problem.code is Code.UNKNOWN_TOOL


CODE_OF_ROW = {
    "d1": Code.WRONG_TYPE,
    "d2": Code.WRONG_TYPE,
    "d7": Code.OUT_OF_RANGE,
    "d9": Code.OUT_OF_RANGE,
    "d10": Code.WRONG_TYPE,
}


@pytest.mark.parametrize("row", [r for r in VECTORS["derived"] if r["id"] in CODE_OF_ROW], ids=str)
def test_rows_of_the_status_table_that_must_be_400_have_a_typed_cause(row: dict[str, Any]) -> None:
    request = row["request"]
    args = json.loads(request.get("raw_body", json.dumps(request.get("body"))))
    tool = request["path"].removeprefix("/call/")
    code = Verdict.of_problems(validate(TABLE, tool, args)).code
    assert code is CODE_OF_ROW[row["id"]]


def test_a_long_value_is_cut_short_in_the_sentence() -> None:
    (problem,) = validate(TABLE, "open_gripper", {"percent": "9" * 10_000 + "\n"})
    assert len(problem.sentence) < 250
    assert "\n" not in problem.sentence
