from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from armlabd.bus import frames
from armlabd.bus.frames import Frame, FrameScanner, Instruction, decode, encode

ids = st.integers(0, 253)
payloads = st.binary(max_size=40)
statuses = st.builds(Frame, ids, st.integers(0, 0x7F), payloads)
few = settings(max_examples=150, deadline=None)


@pytest.mark.parametrize(
    ("made", "wire"),
    [
        (frames.ping(1), "ffff010201fb"),
        (frames.read(1, 56, 2), "ffff01040238 02be"),
        (frames.write(254, 40, b"\x00"), "fffffe04032800d2"),
        (frames.write(1, 42, b"\x00\x08"), "ffff0105032a0008c4"),
        (frames.reg_write(1, 42, b"\x00\x08"), "ffff0105042a0008c3"),
        (frames.action(), "fffffe0205fa"),
        (frames.sync_read((1, 2), 56, 8), "fffffe06823808010236"),
        (frames.sync_write(42, {1: b"\x00\x08", 2: b"\x01\x02"}), "fffffe0a832a020100080201023a"),
    ],
)
def test_every_request_has_these_bytes(made: bytes, wire: str) -> None:
    assert made == bytes.fromhex(wire)


def test_a_sync_frame_has_the_length_the_manual_gives() -> None:
    assert frames.sync_read(range(1, 7), 56, 15)[3] == 6 + 4
    assert frames.sync_write(42, dict.fromkeys(range(1, 7), b"ab"))[3] == 6 * 3 + 4


@pytest.mark.parametrize(
    ("id", "instruction", "count"), [(-1, 1, 0), (255, 1, 0), (1, 256, 0), (1, -1, 0), (1, 1, 245)]
)
def test_what_fits_no_frame_is_refused(id: int, instruction: int, count: int) -> None:
    with pytest.raises(ValueError, match=r"is not|at most 244"):
        encode(id, instruction, bytes(count))


def test_the_longest_frame_is_250_bytes() -> None:
    assert len(encode(254, 255, bytes(244))) == 250


@pytest.mark.parametrize("wanted", [(), (1, 1), (254,), (-1,)])
def test_a_sync_read_names_each_servo_once(wanted: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"servo|Servo"):
        frames.sync_read(wanted, 56, 2)


def test_a_sync_write_of_unequal_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="same number of bytes"):
        frames.sync_write(42, {1: b"ab", 2: b"a"})


@few
@given(st.integers(0, 254), st.integers(0, 255), payloads)
def test_a_frame_survives_the_wire(id: int, fifth: int, params: bytes) -> None:
    wire = encode(id, fifth, params)
    assert decode(wire, requests=True) == (Frame(id, fifth, params), len(wire))
    assert Frame(id, fifth, params).to_bytes() == wire


@few
@given(st.binary(max_size=60), st.lists(statuses, max_size=4), st.binary(max_size=30))
def test_whatever_is_found_was_on_the_wire_with_a_fitting_checksum(
    noise: bytes, sent: list[Frame], more: bytes
) -> None:
    wire = noise + more.join(frame.to_bytes() for frame in sent) + more
    scanner = FrameScanner()
    for found in scanner.feed(wire) + scanner.finish():
        assert found.to_bytes() in wire


@few
@given(
    st.lists(
        st.tuples(st.binary(max_size=12).map(lambda noise: noise.replace(b"\xff", b"")), statuses),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 9),
)
def test_noise_without_ff_hides_no_frame_however_the_bytes_arrive(
    parts: list[tuple[bytes, Frame]], chunk: int
) -> None:
    wire = b"".join(noise + frame.to_bytes() for noise, frame in parts)
    scanner = FrameScanner()
    found = [f for i in range(0, len(wire), chunk) for f in scanner.feed(wire[i : i + chunk])]
    assert found == [frame for _, frame in parts]
    assert scanner.skipped_bytes == sum(len(noise) for noise, _ in parts)


@few
@given(statuses, st.integers(1, 5))
def test_extra_ff_before_the_header_costs_nothing(frame: Frame, extra: int) -> None:
    assert FrameScanner().feed(b"\xff" * extra + frame.to_bytes()) == [frame]


@few
@given(statuses, statuses, st.data())
def test_a_torn_frame_hides_no_frame_behind_it(
    torn: Frame, good: Frame, data: st.DataObject
) -> None:
    assume(torn.id != good.id)
    wire = torn.to_bytes()
    cut = data.draw(st.integers(0, len(wire) - 1))
    scanner = FrameScanner({good.id: len(good.params)})
    found = scanner.feed(wire[:cut] + good.to_bytes()) + scanner.finish()
    # One torn frame in 256 has a checksum that fits over bytes of the next: then it is a stray.
    assert good in found or ("stray", torn.id) in scanner.faults


def test_ff_ff_inside_data_is_data() -> None:
    frame = Frame(3, 0, b"\xff\xff\x03\x04\xff\xff")
    assert FrameScanner({3: 6}).feed(frame.to_bytes()) == [frame]


def test_a_wrong_checksum_is_turned_down_and_named() -> None:
    wire = bytearray(encode(3, 0, b"ab"))
    wire[-1] ^= 1
    scanner = FrameScanner({3: 2})
    assert scanner.feed(bytes(wire)) + scanner.finish() == []
    assert scanner.faults == [("checksum", 3)]


def test_a_frame_of_another_id_or_length_is_a_stray() -> None:
    scanner = FrameScanner({3: 2})
    assert scanner.feed(encode(4, 0, b"ab") + encode(3, 0, b"abc") + encode(3, 0, b"ab")) == [
        Frame(3, 0, b"ab")
    ]
    assert scanner.faults == [("stray", 4), ("stray", 3)]


def test_a_ping_answered_with_error_bit_0_equals_its_request_and_is_an_answer() -> None:
    assert FrameScanner({3: 0}).feed(frames.ping(3)) == [Frame(3, Instruction.PING, b"")]


def test_an_answer_never_has_bit_7_in_its_error_byte() -> None:
    assert FrameScanner().feed(encode(3, 0x80)) == []
    assert FrameScanner(requests=True).feed(encode(3, 0x82)) == [Frame(3, 0x82, b"")]


def test_decode_counts_only_sure_noise_when_there_is_no_frame() -> None:
    assert decode(b"\x00\x01\xff\xff\x03") == (None, 2)
    assert decode(b"") == (None, 0)


def test_clear_forgets_half_a_frame() -> None:
    scanner = FrameScanner()
    scanner.feed(b"\x00" + encode(1, 0)[:4])
    assert scanner.pending_bytes == 4
    scanner.clear()
    assert (scanner.pending_bytes, scanner.skipped_bytes) == (0, 0)


def test_the_fifth_byte_of_a_request_is_its_instruction() -> None:
    frame, _ = frames.decode(frames.ping(3), requests=True)
    assert frame is not None
    assert frame.instruction == frame.error == frames.Instruction.PING


def test_a_frame_behind_a_torn_one_is_found_once_nothing_more_comes() -> None:
    scanner = FrameScanner({1: 0})
    assert scanner.feed(b"\xff\xff\x01\x20\x00" + encode(1, 0) + encode(1, 4)) == []
    assert scanner.finish() == [Frame(1, 0, b""), Frame(1, 4, b"")]
    assert (scanner.skipped_bytes, scanner.pending_bytes) == (5, 0)


def test_the_ends_of_ids_and_lengths_are_inside() -> None:
    assert frames.sync_read((0, 253), 1, 2)
    scanner = FrameScanner()
    too_long = bytes((0xFF, 0xFF, 1, frames.MAX_PARAMS + 3))
    assert scanner.feed(too_long + encode(1, 0)) == [Frame(1, 0, b"")], "no wait for its end"


@pytest.mark.parametrize(
    "head",
    [b"\xff\xff\xfe", b"\xff\xff\x01\x01", b"\xff\xff\x01\xfe", b"\xff\xff\x01\x02\x80"],
    ids=["id", "too short", "too long", "error byte"],
)
def test_a_head_that_no_answer_can_have_is_noise_at_once(head: bytes) -> None:
    assert frames.decode(head) == (None, len(head))


def test_the_longest_frame_is_a_frame_and_one_longer_is_none() -> None:
    longest = frames.encode(1, 0, bytes(frames.MAX_PARAMS))
    frame, used = frames.decode(longest)
    assert frame is not None
    assert (len(frame.params), used) == (frames.MAX_PARAMS, len(longest))
    assert frames.decode(b"\xff\xff\x01" + bytes((frames.MAX_PARAMS + 3,))) == (None, 4)


@pytest.mark.parametrize(("id", "requests"), [(253, False), (253, True), (254, True)])
def test_the_last_id_is_one(id: int, requests: bool) -> None:
    scanner = FrameScanner(requests=requests)
    found = scanner.feed(encode(id, 1, b""))
    assert [frame.id for frame in found] == [id]
    assert scanner.skipped_bytes == 0


def test_no_servo_answers_as_everybody() -> None:
    scanner = FrameScanner()
    assert scanner.feed(encode(254, 1, b"")) == []
    assert scanner.skipped_bytes > 0
