from __future__ import annotations

import pytest

from armlabd.gate.allow import Allowance
from armlabd.gate.roles import Caller, Role
from armlabd.verdict import Code, Verdict

AGENT = Caller("laptop", Role.AGENT)
OPERATOR = Caller("me", Role.OPERATOR)


def code(answer: str | Verdict) -> str:
    return answer if isinstance(answer, str) else str(answer.code)


@pytest.mark.parametrize(
    ("allow", "bypass", "simulated", "expected"),
    [
        (None, False, False, Code.NOT_ALLOWED),
        (None, False, True, "simulated"),
        ((), False, True, Code.NOT_ALLOWED),
        ((), False, False, Code.NOT_ALLOWED),
        (("go_home",), False, False, Code.NOT_ALLOWED),
        (("go_home", "move_to_pose"), False, False, "allow"),
        (("*",), False, False, "allow"),
        ((), True, False, "bypass"),
        (None, True, True, "bypass"),
    ],
)
def test_an_agent_moves_only_with_an_allowance(
    allow: tuple[str, ...] | None, bypass: bool, simulated: bool, expected: str
) -> None:
    assert code(Allowance(allow, bypass, simulated).ask("move_to_pose", AGENT)) == expected


def test_an_operator_needs_no_further_yes() -> None:
    assert Allowance(None, False, False).ask("move_to_pose", OPERATOR) == "operator"


def test_the_refusal_names_the_exact_setting() -> None:
    answer = Allowance(None, False, False).ask("move_to_pose", AGENT)
    assert isinstance(answer, Verdict)
    assert '[gate] allow = ["move_to_pose"]' in answer.sentence


def test_the_setting_it_names_keeps_what_is_allowed_already() -> None:
    answer = Allowance(("go_home",), False, False).ask("move_to_pose", AGENT)
    assert isinstance(answer, Verdict)
    assert '[gate] allow = ["go_home", "move_to_pose"]' in answer.sentence
