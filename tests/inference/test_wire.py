"""The wire: what is packed is read, on both sides; what is no message, or too large, is refused."""

from __future__ import annotations

import asyncio
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.inference import wire
from armlabd.inference.wire import Message, WireError, packed, read, receive

FIELDS = st.dictionaries(
    st.text(max_size=8).filter(lambda key: key not in ("op", "blobs")),
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    max_size=4,
)
BLOBS = st.lists(st.binary(max_size=50), max_size=4)


async def received(data: bytes) -> Message | None:
    stream = asyncio.StreamReader(limit=wire.MAX_LINE)
    stream.feed_data(data)
    stream.feed_eof()
    return await receive(stream)


@given(op=st.text(max_size=8), fields=FIELDS, blobs=BLOBS)
def test_what_is_packed_is_read(op: str, fields: dict[str, object], blobs: list[bytes]) -> None:
    data = packed(op, fields, blobs)
    wanted = Message(op, fields, tuple(blobs))
    assert read(io.BytesIO(data)) == wanted
    assert asyncio.run(received(data)) == wanted


@given(op=st.text(max_size=8), fields=FIELDS, blobs=BLOBS, part=st.floats(0, 0.999))
def test_a_message_that_is_cut_is_none(
    op: str, fields: dict[str, object], blobs: list[bytes], part: float
) -> None:
    data = packed(op, fields, blobs)
    cut = data[: int(len(data) * part)]
    assert asyncio.run(received(cut)) is None


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"hello\n",
        b"[]\n",
        b"{}\n",
        b'{"op": 1}\n',
        b'{"op": "x", "blobs": 3}\n',
        b'{"op": "x", "blobs": [-1]}\n',
        b'{"op": "x", "blobs": [true]}\n',
        b'{"op": "x", "blobs": ["a"]}\n',
        b'{"op": "x", "blobs": [%d]}\n' % (wire.MAX_BLOB + 1),
        b'{"op": "x", "blobs": [%s]}\n' % b",".join([b"0"] * (wire.MAX_BLOBS + 1)),
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        read(io.BytesIO(line))
    with pytest.raises(WireError):
        asyncio.run(received(line))


def test_what_the_other_side_would_not_read_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_LINE", 60)
    assert packed("x", {"text": "y" * 20})
    with pytest.raises(WireError, match="at most 60"):
        packed("x", {"text": "y" * 60})
    with pytest.raises(WireError, match="pieces"):
        packed("x", {}, [b""] * (wire.MAX_BLOBS + 1))
