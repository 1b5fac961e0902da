"""The daemon's memory, kept from growing over weeks: glibc's heap and Python's own garbage.

A picture is 0.9 MB. glibc gives the first one a mapping of its own; when that is freed it raises
its threshold and puts the next ones into the heap, between small things that stay. With several
threads that look and plan, the heap then grows and shrinks by megabytes though nothing is kept.
With fixed thresholds every picture has its own mapping and is gone when it is. Source: mallopt(3).

Python looks through its old objects only once a quarter as many new ones wait (gc's documentation):
beside the 70,000 that a start makes, requests leave megabytes of cycles until then, and the look
itself takes 30 ms. Set aside once the start is done, they are no part of it any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Final

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
BYTES: Final = 128 * 1024  # glibc's own value for both, which setting it keeps
ARENAS: Final = 2
SETTINGS: Final = ((TRIM_THRESHOLD, BYTES), (MMAP_THRESHOLD, BYTES), (ARENA_MAX, ARENAS))


def settle_heap() -> bool:
    """Fix the thresholds for this process; False where the C library has none (musl)."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        return all(mallopt(name, value) == 1 for name, value in SETTINGS)
    return False


def set_start_aside() -> None:
    """What is there now stays: the collector looks at what comes after it alone."""
    gc.collect()
    gc.freeze()
    gc.collect()  # so that it counts from here on
