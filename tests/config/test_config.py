"""Settings: the shipped file is complete and true; every fault names key, value, rule and line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from armlabd.config import Config, ConfigError, load_config
from armlabd.config.load import find_line, parse_config

SHIPPED = Path(__file__).parents[2] / "config.toml"


def leaves(model: BaseModel, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            found |= leaves(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def nested(key: str, value: Any) -> dict[str, Any]:
    for name in reversed(key.split(".")):
        value = {name: value}
    found: dict[str, Any] = value
    return found


def test_the_shipped_file_gives_exactly_the_defaults() -> None:
    assert load_config(SHIPPED) == Config()


def test_the_shipped_file_explains_every_key() -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    for key in leaves(Config()):
        assert key.split(".")[-1] in text, f"{key} is not explained in config.toml"
    raw = tomllib.loads(text)
    for section, part in raw.items():
        if isinstance(part, dict) and section != "places":
            assert set(part) <= set(type(getattr(Config(), section)).model_fields)


FAULTS = [
    ("[http]\nport = 70000\n", "http.port = 70000 (line 2)"),
    ("[http]\nport = 70000\n", "is not allowed: it must be 65535 or less."),
    ('[http]\nport = "a"\n', "it must be a whole number"),
    ("[arm]\nport = 5\n", "arm.port = 5 (line 2) is not allowed: it must be a text in quotes."),
    ('[gate]\nallow = "*"\n', "it must be a list in square brackets"),
    ('[stop]\naction = "coast"\n', "it must be 'torque_off', 'keep_grip' or 'hold'."),
    ('[stop.button]\nboard = "pi3"\n', "it must be '', 'pi4', 'pi5', 'orin' or 'sim'."),
    ("[stop.button]\nrelease_s = 0.04\n", "it must be 0.05 or more."),
    ("[stop.button]\nrelease_s = 2.1\n", "it must be 2 or less."),
    ("[stop.button]\nline = true\n", 'stop.button.line = True (line 2) is not allowed: it must'),
    ("[stop.button]\nline = -1\n", 'a name as "GPIO5", or a number from 0 to 1023'),
    ("[stop.button]\nline = 1024\n", "a number from 0 to 1023"),
    ("[stop.button]\nline = 1.5\n", "a number from 0 to 1023"),
    ('[stop.button]\nchip = "pinctrl-rp1"\n', "set both"),
    ("[stop.button]\nline = 0\n", "set both"),
    ('[stop.button]\nboard = "sim"\nline = 0\n', "leave chip and line out"),
    ('[[objects]]\nlabel = "x"\n', "objects.0.hue (line 1) is missing. Add it; config.toml"),
    ("[motion]\nhome_pose = [0, 0, 0]\n", "motion.home_pose.3 (line 2) is missing"),
    ("http = 5\n", "http = 5 (line 1) is not allowed: it must be a table."),
    ("[places]\nbin = [5, 5]\n", "places.bin"),
    ("[http]\nnope = 1\n", "http.nope (line 2) is no setting"),
    ("[nope]\na = 1\n", "nope (line 1) is no setting"),
    ("[motion]\nspeed_dps = true\n", "motion.speed_dps = True (line 2)"),
    ('[motion]\nspeed_dps = "30"\n', "motion.speed_dps = '30' (line 2)"),
    ("[motion]\nspeed_dps = nan\n", "motion.speed_dps = nan (line 2)"),
    ("[motion]\nspeed_dps = inf\n", "motion.speed_dps = inf (line 2)"),
    ("[limits]\nfloor_m = 0.0119\n", "limits.floor_m = 0.0119 (line 2)"),
    ("[limits]\nspeed_dps = 60.1\n", "limits.speed_dps = 60.1 (line 2)"),
    ("[gate]\nbypass = 1\n", "gate.bypass = 1 (line 2)"),
    ('[stop]\naction = "coast"\n', "stop.action = 'coast' (line 2)"),
    ('[[objects]]\nlabel = "x"\nhue = [[0, 10]]\nsize_m = 3\n', "objects.0.size_m = 3 (line 4)"),
    ('[places]\nbin = [0.2, nan]\n', "places.bin.1 = nan (line 2)"),
    ('[http]\ncertificate = "a.pem"\n', "certificate and key switch TLS on together"),
    ('[planner]\nbackend = "ollama"\n', 'needs a model in [planner.ollama] model'),
    ('[planner.ollama]\nurl = "localhost"\n', "planner.ollama = "),
    ('[planner.ollama]\nurl = "http://a:1/x"\n', 'url is "http://HOST:PORT"'),
    ('[planner.smolvlm]\nvariant = "q5"\n', "planner.smolvlm.variant = 'q5' (line 2)"),
    ('[vision]\nbackend = "smolvlm"\n', "needs a model in [vision] model"),
    ('[vision]\nbox_format = "percent"\n', "vision.box_format = 'percent' (line 2)"),
    ("[workspace]\nx_min = 0.2\nx_max = 0.15\n", "x_min must be below x_max"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FAULTS)
def test_a_wrong_key_type_or_range_is_named(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(tomllib.loads(text), text)
    assert expected in str(caught.value)


def test_every_fault_is_reported_at_once() -> None:
    text = "[http]\nport = 70000\n[motion]\nspeed_dps = 4.9\n"
    with pytest.raises(ConfigError) as caught:
        parse_config(tomllib.loads(text), text)
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("key", "low", "high", "step"),
    [
        ("motion.speed_dps", 5.0, 60.0, 0.1),
        ("motion.max_tilt_deg", 0.0, 25.0, 0.1),
        ("limits.floor_m", 0.012, 0.05, 0.0001),
        ("limits.acceleration_dps2", 20.0, 400.0, 0.1),
        ("motion.lease_s", 0.3, 2.0, 0.01),
        ("run.answer_timeout_s", 1.0, 86_400.0, 0.1),
        ("check.max_drop_m", 0.02, 0.2, 0.001),
        ("planner.ollama.load_timeout_s", 1.0, 3600.0, 0.1),
        ("planner.ollama.answer_timeout_s", 1.0, 3600.0, 0.1),
        ("planner.smolvlm.idle_unload_s", 0.0, 86_400.0, 0.1),
    ],
)
def test_ends_are_inside(key: str, low: float, high: float, step: float) -> None:
    for value in (low, low + step, high - step, high):
        parsed = parse_config(nested(key, value))
        assert leaves(parsed)[key] == value
    for value in (low - step, high + step):
        with pytest.raises(ConfigError):
            parse_config(nested(key, value))


def test_a_missing_file_is_refused_and_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none.toml")


def test_a_file_that_is_no_toml_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[http\nport = 1\n")
    with pytest.raises(ConfigError, match="line 1"):
        load_config(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(path)


def test_the_line_of_the_second_table_of_an_array_is_found() -> None:
    text = '[[objects]]\nlabel = "a"\n[[objects]]\nlabel = "b"\nsize_m = 9\n'
    assert find_line(text, ["objects", "1", "size_m"]) == 5
