"""Messages between the daemon and its model worker: one JSON line, then the bytes it announces.

The wire is a socket pair of its own: what a library prints goes elsewhere. Both sides bound what
they read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

MAX_LINE = 4 << 20  # bytes; a schema of a thousand names is 50 kB
MAX_BLOB = 32 << 20  # bytes of one picture
MAX_BLOBS = 16


class WireError(Exception):
    """The other side wrote what is no message."""


@dataclass(frozen=True, slots=True)
class Message:
    """`op` says what it is about, `fields` the rest; `blobs` are raw bytes."""

    op: str
    fields: Mapping[str, Any]
    blobs: tuple[bytes, ...] = ()


def packed(op: str, fields: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """A message as bytes. Raises WireError for one that the other side would not read."""
    head = {**fields, "op": op, "blobs": [len(blob) for blob in blobs]}
    line = json.dumps(head, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise WireError(f"a message of {len(line)} bytes; at most {MAX_LINE} are read")
    _sizes(head)
    return line + b"".join(blobs)


def read(stream: BinaryIO) -> Message | None:
    """The next message; None at the end of the wire. Raises WireError."""
    line = stream.readline(MAX_LINE + 1)
    if not line:
        return None
    head = _head(line)
    blobs = tuple(stream.read(size) for size in _sizes(head))
    if any(len(blob) != size for blob, size in zip(blobs, _sizes(head), strict=True)):
        return None
    return _message(head, blobs)


async def receive(stream: asyncio.StreamReader) -> Message | None:
    """The next message; None at the end of the wire. Raises WireError.

    The stream's limit must be MAX_LINE.
    """
    try:
        head = _head(await stream.readuntil(b"\n"))
        blobs = [await stream.readexactly(size) for size in _sizes(head)]
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise WireError("a line without an end") from error
    return _message(head, tuple(blobs))


def _head(line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WireError("a line that is no JSON") from error
    if not isinstance(head, dict) or not isinstance(head.get("op"), str):
        raise WireError("a line that is no message")
    return head


def _sizes(head: Mapping[str, Any]) -> list[int]:
    sizes = head.get("blobs", [])
    if not isinstance(sizes, list) or len(sizes) > MAX_BLOBS:
        raise WireError(f"more than {MAX_BLOBS} pieces of bytes")
    for size in sizes:
        if type(size) is not int or not 0 <= size <= MAX_BLOB:
            raise WireError(f"a piece of more than {MAX_BLOB} bytes")
    return sizes


def _message(head: dict[str, Any], blobs: tuple[bytes, ...]) -> Message:
    fields = {key: value for key, value in head.items() if key not in ("op", "blobs")}
    return Message(head["op"], fields, blobs)
