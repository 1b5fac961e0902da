from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from armlabd.gate.roles import Caller, KeyFileError, KeyRing, Role

LONG = "k" * 32


def ring(path: Path, **environment: str) -> KeyRing:
    return KeyRing(path / "keys.json", environment)


def test_roles_are_ordered_and_named() -> None:
    assert Role.READER < Role.AGENT < Role.OPERATOR
    assert [Role.named(role.label) for role in Role] == list(Role)
    with pytest.raises(ValueError, match="reader, agent, operator"):
        Role.named("root")


def test_a_made_key_is_known_by_name_and_role_and_kept_only_as_a_hash(tmp_path: Path) -> None:
    made = ring(tmp_path).add("laptop", Role.AGENT, "2026-01-01")
    assert ring(tmp_path).check(made.text, "cli") == Caller("laptop", Role.AGENT, "cli")
    assert made.text not in (tmp_path / "keys.json").read_text()
    assert len(made.text) >= 43
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", [None, "", "wrong", "\ud800", "k" * 100_000])
def test_an_absent_or_wrong_key_is_nobody(tmp_path: Path, text: str | None) -> None:
    keys = ring(tmp_path)
    keys.add("laptop", Role.AGENT)
    assert keys.check(text) is None


def test_a_revoked_key_is_nobody_for_good_and_its_name_stays_used(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    made = keys.add("laptop", Role.AGENT)
    assert keys.revoke("laptop") is True
    assert keys.revoke("laptop") is False
    assert keys.check(made.text) is None
    assert ring(tmp_path).check(made.text) is None
    with pytest.raises(ValueError, match="already"):
        keys.add("laptop", Role.AGENT)


def test_a_key_revoked_by_another_process_stops_working_at_once(tmp_path: Path) -> None:
    daemon = ring(tmp_path)
    made = daemon.add("laptop", Role.OPERATOR)
    ring(tmp_path).revoke("laptop")
    assert daemon.check(made.text) is None
    other = ring(tmp_path).add("page", Role.READER)
    assert daemon.check(other.text) == Caller("page", Role.READER)


def test_a_file_spoilt_while_running_lets_nobody_in_and_is_left_alone(tmp_path: Path) -> None:
    keys = ring(tmp_path, ARM_API_KEY=LONG)
    made = keys.add("laptop", Role.OPERATOR)
    (tmp_path / "keys.json").write_text("{")
    assert keys.check(made.text) is None
    assert keys.check(LONG) is not None
    with pytest.raises(KeyFileError):
        keys.add("page", Role.READER)
    assert (tmp_path / "keys.json").read_text() == "{"


def test_keys_of_the_environment_have_their_roles(tmp_path: Path) -> None:
    keys = ring(tmp_path, ARM_API_KEY=LONG, ARM_OPERATOR_KEY="o" * 32)
    assert keys.check(LONG) == Caller("ARM_API_KEY", Role.AGENT)
    assert keys.check("o" * 32) == Caller("ARM_OPERATOR_KEY", Role.OPERATOR)
    assert not (tmp_path / "keys.json").exists()


def test_keys_of_systemd_credentials_have_their_roles(tmp_path: Path) -> None:
    (tmp_path / "arm_operator_key").write_text("o" * 32 + "\n")
    keys = ring(tmp_path, CREDENTIALS_DIRECTORY=str(tmp_path))
    assert keys.check("o" * 32) == Caller("ARM_OPERATOR_KEY", Role.OPERATOR)
    assert keys.check("") is None


def test_a_short_given_key_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError) as caught:
        ring(tmp_path, ARM_API_KEY="secret")
    assert "secret" not in str(caught.value)
    assert "16" in str(caught.value)
    assert ring(tmp_path, ARM_API_KEY="s" * 16).check("s" * 16) is not None


def test_one_key_for_two_roles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="every agent would be an operator"):
        ring(tmp_path, ARM_API_KEY="s" * 16, ARM_OPERATOR_KEY="s" * 16)


def test_first_keys_are_made_once_and_only_where_none_is_given(tmp_path: Path) -> None:
    made = ring(tmp_path).first_keys()
    assert [(key.name, key.role) for key in made] == [
        ("operator", Role.OPERATOR),
        ("agent", Role.AGENT),
    ]
    assert ring(tmp_path).first_keys() == ()
    other = tmp_path / "other"
    other.mkdir()
    assert [k.name for k in ring(other, ARM_API_KEY=LONG).first_keys()] == ["operator"]


def test_a_revoked_first_key_is_not_made_again(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    keys.first_keys()
    keys.revoke("agent")
    assert ring(tmp_path).first_keys() == ()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"keys": 3}',
        '{"keys": [{"name": "a"}]}',
        '{"keys": [{"name": "a", "role": "root", "digest": "' + "0" * 64 + '"}]}',
        '{"keys": [{"name": "a", "role": "agent", "digest": "00"}]}',
        '{"keys": [{"name": "a", "role": "agent", "digest": 3}]}',
        '{"keys": [{"name": "a", "role": "agent", "digest": "' + "0" * 64 + '", "revoked": "no"}]}',
    ],
)
def test_a_file_that_cannot_be_understood_is_refused_and_never_deleted(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(KeyFileError, match="left as it is") as caught:
        KeyRing(path, {})
    for jargon in ("NoneType", "object is not", "indices", "__init__", "Expecting"):
        assert jargon not in str(caught.value)
    assert path.read_text() == content


def test_case_55_a_clock_that_jumps_back_never_costs_a_key(tmp_path: Path) -> None:
    made = ring(tmp_path).add("laptop", Role.AGENT, created="2099-01-01")  # clock was wrong then
    assert ring(tmp_path).check(made.text) is not None


@pytest.mark.parametrize("name", ["", "x" * 41, "a\nb"])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        ring(tmp_path).add(name, Role.AGENT)


def test_the_list_shows_names_and_roles(tmp_path: Path) -> None:
    keys = ring(tmp_path, ARM_API_KEY=LONG)
    keys.add("laptop", Role.READER, "today")
    assert [(k.name, k.role, k.created, k.revoked) for k in keys.list()] == [
        ("ARM_API_KEY", "agent", "", False),
        ("laptop", "reader", "today", False),
    ]
    assert json.loads((tmp_path / "keys.json").read_text())["keys"][0]["name"] == "laptop"
