"""No wall clock decides anything: it may only be shown (design: time is monotonic everywhere)."""

from __future__ import annotations

import ast
from pathlib import Path

import armlabd

ROOT = Path(armlabd.__file__).parent
# Where a date is written for people to read, and nothing is ever compared with it.
SHOWN = {
    "record/audit.py": "`wall` of a row, beside boot id and monotonic seconds",
    "motion/latch.py": "`since` of a stop",
    "daemon/first_keys.py": "the day a first key was made",
    "cli/files.py": "the day a key was made",
    "cli/calibrate.py": "the day an arm was aligned",
}
WALL = {"time", "time_ns", "strftime", "localtime", "gmtime", "now", "utcnow", "today"}


def wall_clocks(source: str) -> list[str]:
    """Calls and imports that read the wall clock: time.time(), datetime.now(), date.today() ..."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in WALL:
            owner = ast.unparse(node.value)
            if owner.split(".")[-1] in ("time", "datetime", "date"):
                found.append(f"{owner}.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            found += [f"time.{name.name}" for name in node.names if name.name in WALL]
    return found


def test_the_wall_clock_is_only_read_where_it_is_shown() -> None:
    readers = {
        str(path.relative_to(ROOT)): found
        for path in sorted(ROOT.rglob("*.py"))
        if (found := wall_clocks(path.read_text()))
    }
    assert set(readers) == set(SHOWN), readers


def test_the_search_sees_every_way_of_reading_it() -> None:
    for line in (
        "import time\ntime.time()",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import date\ndate.today()",
        "from time import time_ns",
    ):
        assert wall_clocks(line), line
    assert wall_clocks("import time\ntime.monotonic()\nclock.now()") == []
