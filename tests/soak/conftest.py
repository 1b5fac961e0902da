"""The real arm of `tests/real`, for hours."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "real"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
