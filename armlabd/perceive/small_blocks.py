"""NumPy's store of small blocks, filled at the start, so that looks do not make the process grow.

NumPy keeps freed blocks under 1 KiB for itself, up to seven of each size in bytes, 3.6 MB in all
(numpy/_core/src/multiarray/alloc.c). Outlines of all lengths fill that over hours, which looks like
a leak.
"""

from __future__ import annotations

from typing import Final

import numpy as np

SMALL_BYTES: Final = 1024  # NumPy keeps blocks below it
AT_ONCE: Final = 3  # blocks of one size that are in use together, nearly always


def fill_small_blocks() -> None:
    """Have NumPy keep now what it would come to keep: 1.6 MB."""
    for size in range(1, SMALL_BYTES):
        blocks = [np.empty(size, np.uint8) for _ in range(AT_ONCE)]
        del blocks
