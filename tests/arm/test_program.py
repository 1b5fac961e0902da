from __future__ import annotations

import base64
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.arm.joints import HOME, PARK, Pose
from armlabd.arm.program import MAX_POINTS, Program, ProgramError, pack, unpack

numbers = st.floats(allow_nan=False, allow_infinity=False)
poses = st.builds(Pose, *[numbers] * 6)


@settings(deadline=None)
@given(st.lists(poses, min_size=1, max_size=20))
def test_packing_loses_nothing(points: list[Pose]) -> None:
    assert unpack(pack(Program(tuple(points)))) == Program(tuple(points))


def test_the_packed_form_is_little_endian_float64_rows_of_six() -> None:
    packed = pack(Program((HOME,)))
    assert struct.unpack("<6d", base64.b64decode(packed)) == tuple(HOME)


def test_a_program_knows_its_ends_and_its_time() -> None:
    program = Program((HOME, HOME, PARK))
    assert (program.start, program.goal) == (HOME, PARK)
    assert program.duration_s == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no positive whole number of rows"),
        ("not base64!", "not base64"),
        ("ünicode", "not base64"),
        (base64.b64encode(b"\0" * 47).decode(), "47 bytes"),
        (base64.b64encode(b"\0" * 49).decode(), "49 bytes"),
        (base64.b64encode(struct.pack("<6d", 0, 0, math.nan, 0, 0, 0)).decode(), "NaN"),
        (base64.b64encode(struct.pack("<6d", 0, 0, 0, 0, 0, -math.inf)).decode(), "infinity"),
    ],
)
def test_anything_else_is_refused_with_a_reason(text: str, words: str) -> None:
    with pytest.raises(ProgramError, match=words):
        unpack(text)


@pytest.mark.parametrize(("count", "fits"), [(MAX_POINTS, True), (MAX_POINTS + 1, False)])
def test_the_longest_program_is_ten_minutes(count: int, fits: bool) -> None:
    text = base64.b64encode(bytes(48 * count)).decode()
    if fits:
        assert len(unpack(text).points) == count
    else:
        with pytest.raises(ProgramError, match="Split the motion"):
            unpack(text)
