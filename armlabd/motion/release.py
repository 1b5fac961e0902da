"""The release helper: makes the arm limp when there is no core any more to do it.

`python -m armlabd.motion.release --state DIR [--port P] [--baud B]`: opens the port, sends the
broadcast torque-off, asks each servo, and sets the latch. One line on standard output says what is
true; exit status 0 only when all six servos confirmed. Also what systemd runs after the daemon.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from armlabd.arm.joints import SERVO_IDS
from armlabd.bus.errors import PortError, PortKind, PortLost
from armlabd.bus.port import PortProblem, SerialPort, Transport, find_port
from armlabd.clock import Clock, SystemClock
from armlabd.motion.adapter import load_seen
from armlabd.motion.latch import FILE, Cause, boot_id, read_cause, wall_time, write_cause
from armlabd.motion.messages import StopResult
from armlabd.motion.servos import Servos
from armlabd.motion.stop import UNREACHABLE

BUSY_S = 1.0  # a core that was just killed may still hold the port
BUSY_PAUSE_S = 0.02
TRIES = 10
USAGE = "usage: python -m armlabd.motion.release --state DIR [--port PORT|auto] [--baud BAUD]"

Open = Callable[[], Transport]


def release(open_transport: Open, clock: Clock, baud: int = 1_000_000) -> StopResult:
    """Torque off, confirmed servo by servo; never raises for a port that cannot be used."""
    try:
        servos = Servos(_open_patiently(open_transport, clock), clock, baud)
    except PortError as error:
        return StopResult(False, 0, len(SERVO_IDS), f"{UNREACHABLE} {error.sentence}")
    written, done = False, set[int]()
    try:
        for _ in range(TRIES):
            servos.torque_off()
            written = True
            held = servos.held(retries=1)
            done = {id for id, servo in held.items() if not servo.torque}
            if len(done) == len(SERVO_IDS):
                break
            for id in SERVO_IDS:
                if id not in done:
                    servos.torque_off_one(id)
    except PortLost:
        pass
    finally:
        servos.close()
    return StopResult(written, len(done), len(SERVO_IDS), _sentence(written, len(done)))


def _open_patiently(open_transport: Open, clock: Clock) -> Transport:
    """Wait out a port that is still held. Raises PortError."""
    give_up_s = clock.monotonic() + BUSY_S
    while True:
        try:
            return open_transport()
        except PortError as error:
            if error.kind is not PortKind.BUSY or clock.monotonic() >= give_up_s:
                raise
        clock.sleep(BUSY_PAUSE_S)


def _sentence(written: bool, confirmed: int) -> str:
    if not written:
        return UNREACHABLE
    if confirmed == len(SERVO_IDS):
        return f"Torque is off, confirmed by all {confirmed} servos."
    return (
        f"Torque-off sent, but only {confirmed} of {len(SERVO_IDS)} servos confirmed it: "
        "cut the power of the arm."
    )


def latch(folder: str, cause: str, by: str) -> str | None:
    """Write the stop record unless one is there already; what went wrong, or None."""
    from pathlib import Path

    path = Path(folder) / FILE
    found = read_cause(path)
    if found is not None and found.code not in ("new", "unreadable"):
        return None
    try:
        write_cause(path, Cause(cause, by, wall_time(), boot_id()))
    except OSError as error:
        return f"the stop record could not be written: {error}"
    return None


def _arguments(argv: list[str]) -> dict[str, str]:
    """--name value pairs. Exits with the usage for anything else."""
    known = {"--state": "", "--port": "auto", "--baud": "1000000", "--cause": "core_lost"}
    pairs = list(zip(argv[::2], argv[1::2], strict=False))
    if len(argv) % 2 or any(name not in known for name, _ in pairs):
        _say(USAGE)
        sys.exit(2)
    found = {**known, **dict(pairs)}
    if not found["--state"] or not found["--baud"].isdigit():
        _say(USAGE)
        sys.exit(2)
    return found


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main(argv: list[str] | None = None) -> None:
    """The command; see the module."""
    given = _arguments(sys.argv[1:] if argv is None else argv)
    clock, baud = SystemClock(), int(given["--baud"])

    def open_port() -> Transport:
        found = find_port(given["--port"], seen=load_seen(given["--state"]))
        if isinstance(found, PortProblem):
            raise PortError(found.kind, found.sentence)
        return SerialPort(found, baud, clock)

    result = release(open_port, clock, baud)
    problem = latch(given["--state"], given["--cause"], "release helper")
    _say(result.sentence + (f" But {problem}." if problem else ""))
    sys.exit(0 if result.confirmed == result.of else 1)


if __name__ == "__main__":
    main()
