"""`python -m armlabd.bench.sketch SOCKET PTY`: the least a core can be: a byte in, a frame out."""

from __future__ import annotations

import os
import socket
import sys

from armlabd.bus.frames import BROADCAST_ID, write
from armlabd.bus.registers import REGISTERS


def main(path: str, port: str) -> None:
    """Write a torque-off frame to the pty for each byte, until the other side hangs up."""
    frame = write(BROADCAST_ID, REGISTERS["torque_enable"].address, b"\x00")
    bus = os.open(port, os.O_RDWR | os.O_NOCTTY)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(1)
    channel, _ = listener.accept()
    while channel.recv(1):
        os.write(bus, frame)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
