"""Look for keys in the files that git tracks or would track. Exit 1 if one is found.

The two patterns and the skipped files follow the textbook's scanner (its chapter 16); its known
gaps are closed: JSON style keys, other vendors' prefixes, and defaults given in an environ line.
A name on the right side (`token = make_token_for_run`) is no key: a key holds a digit and comes
in quotes, or stands alone in an env file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SKIPPED_FOLDERS = {".venv", ".git", "__pycache__", "node_modules", ".pytest_cache"}
SKIPPED_SUFFIXES = {".png", ".npz", ".csv", ".stl", ".jpg", ".pdf", ".onnx"}
MARK = "not-a-secret"  # a line that shows a made-up key says so

PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}"
    r"|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----)"
)
NAMED = re.compile(
    r"(?i)[\"']?[\w.-]*(?:api[_-]?key|secret|token|password)[\w.-]*[\"']?\s*[=:]\s*"
    r"(?P<quote>[\"'])?(?P<value>[A-Za-z0-9_/+=-]{16,})"
)
DEFAULT = re.compile(
    r"(?i)environ[^\n]*(?:api[_-]?key|secret|token|password)\w*[\"']\s*,\s*"
    r"(?P<quote>[\"'])(?P<value>[A-Za-z0-9_/+=-]{16,})"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line that looks like a key. The key itself is never printed."""

    path: Path
    line: int
    why: str


def looks_random(value: str, quoted: bool) -> bool:
    """A key has digits among its letters; a quoted long value without spaces is suspicious too."""
    has_digit = any(c.isdigit() for c in value)
    return has_digit if quoted else has_digit and any(c.isalpha() for c in value)


def scan_line(text: str) -> str | None:
    """Why this line looks like a key, or None."""
    if MARK in text:
        return None
    if PREFIXED.search(text):
        return "starts like a vendor's key"
    match = DEFAULT.search(text) if "environ" in text else NAMED.search(text)
    if match and looks_random(match["value"], bool(match["quote"])):
        return "a value is given to a name such as key, secret, token or password"
    return None


def scan_file(path: Path) -> Iterator[Finding]:
    """Every suspicious line of one file; what is no readable text is skipped."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for number, text in enumerate(lines, start=1):
        why = scan_line(text)
        if why:
            yield Finding(path, number, why)


def files_of(root: Path) -> list[Path]:
    """Tracked and untracked files that git does not ignore; without git, every file."""
    names = _git_files(root)
    if names is None:
        found = [path for path in root.rglob("*") if path.is_file()]
    else:
        found = [root / name for name in names]
    return sorted(path for path in found if _wanted(path.relative_to(root)))


def _git_files(root: Path) -> list[str] | None:
    """What git lists, or None where there is no git or no repository."""
    if shutil.which("git") is None:
        return None
    command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=False)
    if listed.returncode != 0:
        return None
    return [name for name in listed.stdout.decode().split("\0") if name]


def _wanted(path: Path) -> bool:
    return not (SKIPPED_FOLDERS & set(path.parts)) and path.suffix not in SKIPPED_SUFFIXES


def env_is_protected(root: Path) -> bool:
    """True when there is no `.env`, or when git ignores it."""
    if not (root / ".env").exists():
        return True
    ignore = root / ".gitignore"
    lines = ignore.read_text(encoding="utf-8").splitlines() if ignore.exists() else []
    return any(line.strip() in {".env", "/.env", ".env*", "*.env"} for line in lines)


def main(root: Path) -> int:
    """Print file:line for each finding and a summary; 0 when clean."""
    findings = [finding for path in files_of(root) for finding in scan_file(path)]
    for finding in findings:
        print(f"{finding.path.relative_to(root)}:{finding.line}: {finding.why}")
    protected = env_is_protected(root)
    if not protected:
        print(".env is not ignored: add the line '.env' to .gitignore before anything else.")
    print(f"{len(findings)} finding(s) in {root.resolve().name}.")
    return 0 if not findings and protected else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()))
