"""The whole house in one process: `armlabd/bench/virtual.py` builds it."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent, HERE.parent / "motion", HERE.parent / "real"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
