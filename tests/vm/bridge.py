"""`bridge.py PTY SOCKET`: a pseudo-terminal's bytes on a unix socket, both ways, until one ends."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys


def main(pty: str, path: str) -> None:
    """Copy until either side closes; like the virtual bus ahead of everything else."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    port = os.open(pty, os.O_RDWR | os.O_NOCTTY)
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(path)
        while True:
            ready = select.select([port, wire], [], [])[0]
            if wire in ready:
                data = wire.recv(4096)
                if not data:
                    return
                os.write(port, data)
            if port in ready:
                wire.sendall(os.read(port, 4096))


if __name__ == "__main__":
    main(*sys.argv[1:])
