"""The unit, the udev rules and the settings writer, judged without a board."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from armlabd.bus.usb import DRIVERS
from armlabd.config import load_config

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "systemd/armlabd.service"
RULES = ROOT / "systemd/90-armlabd.rules"
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here"
)


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_systemd
def test_systemd_finds_nothing_to_say_about_the_unit(tmp_path: Path) -> None:
    python = shutil.which("true")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/armlabd/current/bin/python", str(python)))
    found = analyze("verify", copy)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@needs_systemd
def test_a_misspelt_unit_would_be_noticed(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("WatchdogSec=5", "WatchdogSec=soon"))
    assert "Failed to parse" in analyze("verify", copy).stderr


@needs_systemd
def test_the_sandbox_is_at_most_two_of_ten() -> None:
    found = analyze("security", "--offline=true", "--threshold=20", UNIT)
    level = re.search(r"exposure level for armlabd.service: ([\d.]+)", found.stdout)
    assert found.returncode == 0
    assert level is not None
    assert float(level[1]) <= 2.0


def test_the_unit_waits_for_no_network_and_names_its_watchdog() -> None:
    text = UNIT.read_text()
    assert "network" not in re.sub(r"#.*", "", text)
    for line in ("Type=notify", "WatchdogSec=5", "KillMode=process", "StateDirectory=armlabd"):
        assert f"\n{line}\n" in text
    for name in ("arm_operator_key", "arm_api_key"):
        assert f"LoadCredential={name}:/etc/armlabd/credentials/{name}\n" in text


def test_case_36_the_rules_name_every_known_adapter_and_open_no_port_to_everybody() -> None:
    named = set()
    for line in RULES.read_text().splitlines():
        if line.startswith('SUBSYSTEM=="tty"') and "ATTRS{idVendor}" in line:
            vendor = re.search(r'idVendor}=="(\w+)"', line)
            products = re.search(r'idProduct}=="([\w|]+)"', line)
            assert vendor is not None
            assert products is not None
            named |= {(vendor[1], product) for product in products[1].split("|")}
    assert named == set(DRIVERS)
    assert set(re.findall(r'MODE="(\d+)"', RULES.read_text())) == {"0660"}


def test_case_35_both_tags_keep_modem_manager_away() -> None:
    for line in RULES.read_text().splitlines():
        if line.startswith('SUBSYSTEM=="usb"'):
            assert 'ENV{ID_MM_DEVICE_IGNORE}="1"' in line
            assert 'ENV{SYSTEMD_WANTS}=""' in line  # case 33: brltty is not started for it
        if "SYMLINK" in line:
            assert 'ENV{ID_MM_PORT_IGNORE}="1"' in line
            assert 'SYMLINK+="armlab-bus"' in line


def settings(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/install_settings.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_settings_are_written_with_their_comments_and_nothing_else_changes(tmp_path: Path) -> None:
    target = tmp_path / "config.toml"
    done = settings(
        ROOT / "config.toml",
        target,
        'arm.port="/dev/ttyACM0"',
        "camera.source=2",
        "log.level='debug'",
    )
    assert done.returncode == 0, done.stderr
    config = load_config(target)
    assert (config.arm.port, config.camera.source, config.log.level) == ("/dev/ttyACM0", 2, "debug")
    before, after = (ROOT / "config.toml").read_text(), target.read_text()
    changed = [
        (a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b
    ]
    assert len(changed) == 3
    assert all(a.partition("#")[2] == b.partition("#")[2] for a, b in changed)


@pytest.mark.parametrize(
    "setting", ['arm.port="ttyACM0"', "arm.baud=9", "arm.colour=1", "nothing", 'http.port="x']
)
def test_a_wrong_setting_changes_nothing_and_says_why(tmp_path: Path, setting: str) -> None:
    target = tmp_path / "config.toml"
    target.write_text("# mine\n")
    done = settings(ROOT / "config.toml", target, setting)
    assert done.returncode == 1
    assert "were not written" in done.stderr
    assert target.read_text() == "# mine\n"
    assert list(tmp_path.iterdir()) == [target]


def installer(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(ROOT / "scripts/install.sh"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=-3)


def test_a_dry_run_says_every_step_and_does_none() -> None:
    done = installer("--dry-run", "--port", "auto", "--planner", "rules")
    assert done.returncode == 0, done.stderr
    for part in ("/etc/armlabd/config.toml", "90-armlabd.rules", "armlabd.service", "enable"):
        assert part in done.stderr
    assert not Path("/etc/armlabd").exists()
    assert not Path("/opt/armlabd").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--buton"], "There is no switch --buton"),
        (["--button", "pi3"], "--button is none, pi4, pi5 or orin"),
        (["--planner", "gpt"], "--planner is auto, rules, ollama or smolvlm"),
        (["--port"], "--port needs a value"),
        (["--wheelhouse", "/no/such/folder"], "There is no folder"),
    ],
)
def test_wrong_use_of_the_installer_is_a_sentence(words: list[str], sentence: str) -> None:
    done = installer("--dry-run", *words)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_devices_whose_driver_loads_later_are_allowed_by_number() -> None:
    """A class name that the kernel does not know yet at the start would allow nothing, for good."""
    allowed = re.findall(r"^DeviceAllow=char-(\w+) rw$", UNIT.read_text(), re.MULTILINE)
    late = {"ttyACM": "166", "ttyUSB": "188", "video4linux": "81"}
    assert set(late.values()) <= set(allowed)
    assert not set(late) & set(allowed)
