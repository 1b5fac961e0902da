"""After the daemon: what systemd runs once the service has ended, however it ended.

`python -m armlabd.motion.aftermath --state DIR` (ExecStopPost). After an end in order the core has
followed its exit policy and nothing is done. After a crash a core that still answers is left to
bring the arm to rest and hold it for the next daemon; one that is frozen is ended; where there is
none, the arm is made limp, confirmed servo by servo, and the stop is latched.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket

from armlabd.motion import release
from armlabd.motion.sockets import SOCKET, places

ANSWER_S = 0.5  # a living core pushes its state every 20 to 40 ms, a busy board may be late
SETTINGS = "core.json"


def in_order(environment: Mapping[str, str]) -> bool:
    """True when systemd says that the daemon ended by itself and well."""
    return environment.get("SERVICE_RESULT") == "success" and (
        environment.get("EXIT_CODE"),
        environment.get("EXIT_STATUS"),
    ) == ("exited", "0")


def core_lives(folder: Path, answer_s: float = ANSWER_S) -> tuple[bool, int | None]:
    """Whether a core answers on its socket, and its process id when somebody listens there."""
    with socket(AF_UNIX, SOCK_STREAM) as sock:
        try:
            sock.connect(os.fspath(folder / SOCKET))
        except OSError:
            return False, None
        pid = struct.unpack("3i", sock.getsockopt(SOL_SOCKET, SO_PEERCRED, 12))[0]
        try:
            sock.sendall(b'{"do":"hello","role":"visitor"}\n')
            heard = bool(select.select([sock], [], [], answer_s)[0]) and bool(sock.recv(1))
        except OSError:
            heard = False
        return heard, pid


def port_of(folder: Path) -> tuple[str, str]:
    """Port and baud that the last core was given; what cannot be read is looked for."""
    try:
        found = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        return str(found["port"]), str(int(found.get("baud", 1_000_000)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "auto", "1000000"


def end_frozen(pid: int) -> None:
    """End a core that listens and says nothing; it may be gone already or somebody else's."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def main(argv: list[str] | None = None, environment: Mapping[str, str] = os.environ) -> None:
    """The command; exit status 0 when nothing is left to do, 1 when the arm may be energised."""
    given = sys.argv[1:] if argv is None else argv
    if len(given) != 2 or given[0] != "--state" or not given[1]:
        _say("usage: python -m armlabd.motion.aftermath --state DIR")
        sys.exit(2)
    if in_order(environment):
        sys.exit(0)
    folder = Path(given[1].split(":")[0])
    alive, pid, lives = False, None, folder
    for place in places(folder):
        alive, pid = core_lives(Path(place))
        if pid is not None:
            lives = Path(place)
            break
    if alive:
        _say("The daemon ended; the motion core answers, rests and holds the arm for the next one.")
        sys.exit(0)
    if pid is not None:
        end_frozen(pid)
    port, baud = port_of(lives)
    release.main(["--state", os.fspath(folder), "--port", port, "--baud", baud])


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
