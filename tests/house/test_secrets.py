"""The scanner for keys: what it must find, what it must leave alone."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_secrets.py"
FAKE = "sk-" + "a1B2" * 6  # built here, so that the scanner does not find this file


@pytest.fixture(scope="module")
def scanner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_secrets", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_secrets"] = module
    spec.loader.exec_module(module)
    return module


VALUE = "Zx9" + "k7Qp" * 5


@pytest.mark.parametrize(
    "line",
    [
        f"ANTHROPIC_KEY={FAKE}",
        f'api_key = "{VALUE}"',
        f'{{"api_key": "{VALUE}"}}',
        f"API-KEY: {VALUE}",
        f"password={VALUE}",
        "ghp_" + "A1b2" * 9,
        "hf_" + "A1b2" * 9,
        f'os.environ.get("ARM_API_KEY", "{VALUE}")',
        "-----BEGIN RSA " + "PRIVATE KEY-----",
    ],
)
def test_keys_are_found(scanner: ModuleType, line: str) -> None:
    assert scanner.scan_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "token = some_function_name_that_is_long()",
        'key = os.environ["ARM_API_KEY"]',
        "secret = secrets.token_urlsafe(32)",
        "the tokens of a sentence are counted before they are sent",
        "sk-short",
    ],
)
def test_names_and_words_are_left_alone(scanner: ModuleType, line: str) -> None:
    assert scanner.scan_line(line) is None


def test_the_textbooks_demo(scanner: ModuleType, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert scanner.main(tmp_path) == 0
    (tmp_path / ".env").write_text(f"ARM_API_KEY={VALUE}\n")
    (tmp_path / "bad.py").write_text(f'api_key = "{VALUE}"\n')
    found = [f for path in scanner.files_of(tmp_path) for f in scanner.scan_file(path)]
    assert sorted((f.path.name, f.line) for f in found) == [(".env", 1), ("bad.py", 1)]
    assert not scanner.env_is_protected(tmp_path)
    assert scanner.main(tmp_path) == 1
    (tmp_path / ".gitignore").write_text(".env\n")
    (tmp_path / "bad.py").unlink()
    assert scanner.env_is_protected(tmp_path)
    assert scanner.main(tmp_path) == 0
