"""The camera of the virtual arm, a process of its own, so that drawing never delays the bus.

The bus process sends the world and the arm's angles; this one answers with a finished JSON line.
Both ends are ours, over a private socket pair.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import signal
import socket
import struct
import sys
from typing import Any, Final, NamedTuple

from armlabd.sim.arm import JointDegrees, WorldLike

HEADER: Final = struct.Struct("<I")
LONGEST: Final = 1 << 20


class Shot(NamedTuple):
    """What is to be drawn; `taken_s` is monotonic."""

    world: WorldLike
    q_deg: JointDegrees
    jaw_deg: float
    seed: int
    flat: bool
    taken_s: float


def pack(shot: Shot) -> bytes:
    """A shot as bytes for the camera."""
    body = pickle.dumps(shot)
    return HEADER.pack(len(body)) + body


def frame_answer(shot: Shot) -> dict[str, Any]:
    """The answer to `frame`: blue-green-red bytes in base64, width, height, when it was taken."""
    from armlabd.sim import picture  # heavy (numpy, OpenCV): only where pictures are drawn

    image = picture.render(
        shot.world,  # type: ignore[arg-type]  # a World wherever a picture is asked for
        shot.q_deg,
        shot.jaw_deg,
        noise_seed=shot.seed,
        flat=shot.flat,
    )
    height, width = image.shape[:2]
    raw = base64.b64encode(image.tobytes()).decode("ascii")
    return {"ok": True, "bgr": raw, "width": width, "height": height, "taken_s": shot.taken_s}


def answer_line(shot: Shot) -> bytes:
    """The answer as a JSON line; a failure is an answer too."""
    try:
        answer = frame_answer(shot)
    except Exception as error:  # a picture that cannot be drawn must not end the camera
        answer = {"ok": False, "error": f"The picture could not be drawn: {error}"}
    return json.dumps(answer).encode() + b"\n"


def _exactly(channel: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = channel.recv(count - len(data))
        if not part:
            return b""
        data += part
    return data


def serve(channel: socket.socket) -> None:
    """Answer shots until the other end closes."""
    with contextlib.suppress(ImportError):
        import armlabd.sim.picture  # noqa: F401  (now, so that the first picture is quick)
    while head := _exactly(channel, HEADER.size):
        (size,) = HEADER.unpack(head)
        body = _exactly(channel, size) if size <= LONGEST else b""
        if not body:
            return
        channel.sendall(answer_line(pickle.loads(body)))


def main() -> int:
    """`python -m armlabd.sim.camera_process FD`: the end of a socket pair, inherited."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(5)
    with socket.socket(fileno=int(sys.argv[1])) as channel, contextlib.suppress(OSError):
        serve(channel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
