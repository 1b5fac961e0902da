"""A picture that was let go has left the process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

INFO = """
import ctypes, sys
import numpy
from armlabd.daemon.heap import settle_heap
from armlabd.perceive.small_blocks import fill_small_blocks

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

info = ctypes.CDLL(None).mallinfo2
info.restype = Info
"""
PICTURES = (
    INFO
    + """
if sys.argv[1] == "settled":
    assert settle_heap()
for _ in range(3):
    before = info().hblks
    picture = numpy.zeros((480, 640, 3), numpy.uint8)
    mapped = info().hblks - before
    del picture
print(mapped)
"""
)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's heap")
@pytest.mark.parametrize(("how", "mapped"), [("settled", "1"), ("as it comes", "0")])
def test_each_picture_has_a_mapping_of_its_own(how: str, mapped: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PICTURES, how], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == mapped, done.stderr


OUTLINES = (
    INFO
    + """
if sys.argv[1] == "filled":
    fill_small_blocks()
before = info().uordblks
for points in range(1, 128):
    outline = numpy.zeros((points, 2), numpy.float32)
    inside = numpy.zeros(points * 8 - 1, bool)
print((info().uordblks - before) // 1024)
"""
)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's heap")
@pytest.mark.parametrize(("how", "flat"), [("filled", True), ("as it comes", False)])
def test_outlines_of_every_length_do_not_make_the_process_grow(how: str, flat: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTLINES, how], capture_output=True, text=True, timeout=60
    )
    assert (int(done.stdout) < 8) is flat, done


GARBAGE = """
import gc, sys, weakref
from collections import deque
from armlabd.daemon.heap import set_start_aside

class Request:
    def __init__(self):
        self.myself = self

old = [[] for _ in range(400_000)]
gc.collect()
if sys.argv[1] == "set aside":
    set_start_aside()
under_way, alive = deque(maxlen=2_000), weakref.WeakSet()
for _ in range(60_000):
    one = Request()
    under_way.append(one)
    alive.add(one)
print(len(alive))
"""


@pytest.mark.parametrize(("how", "few"), [("set aside", True), ("as it comes", False)])
def test_cycles_are_found_soon_beside_all_that_a_start_makes(how: str, few: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GARBAGE, how], capture_output=True, text=True, timeout=60
    )
    assert (int(done.stdout) < 20_000) is few, done
