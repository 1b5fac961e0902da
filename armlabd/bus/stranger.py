"""What sits on a port where no servo answers: nothing, or some other device that does speak.

Asked are a ping, which only servos understand, and AT, which modems and phones answer. Servos that
do not listen at this rate take neither for a request.
"""

from __future__ import annotations

from collections.abc import Generator

from armlabd.bus import frames
from armlabd.bus.port import Transport
from armlabd.clock import Clock

QUESTIONS = (frames.ping(1), b"AT\r")
LISTEN_S = 0.06  # a modem answers within a few ms; USB adds one or two
SLICE_S = 0.01  # nobody has to wait longer for something else
ENOUGH_BYTES = 512
SHOWN = 24
TEXT_SHARE = 0.8  # of the bytes: then it is text


def listen(transport: Transport, clock: Clock) -> Generator[None, None, str | None]:
    """Ask and listen, one short slice at a time; a sentence on who is there, or None for silence.

    May raise PortLost.
    """
    heard = b""
    for question in QUESTIONS:
        transport.write(question)
        until_s = clock.monotonic() + LISTEN_S
        while (now_s := clock.monotonic()) < until_s and len(heard) < ENOUGH_BYTES:
            heard += transport.read(now_s + SLICE_S)
            yield
    return recognise(heard)


def recognise(heard: bytes) -> str | None:
    """Who said this; None for nobody."""
    if not heard:
        return None
    end = "Name the arm's USB board in config.toml under [arm] port."
    if heard.startswith(QUESTIONS[0]) and not _modem(heard):
        return (
            "What is on this port sends every byte back and is no servo bus: a bare adapter, one "
            f"that echoes, or another device. If it is the arm's, switch its servo power on. {end}"
        )
    if _modem(heard):
        return f"A modem or phone is on this port, not the servos. {end}"
    if _text(heard):
        return f"Another device is on this port: it says {_shown(heard)}. {end}"
    start = heard[:8].hex(" ")
    return (
        f"Another device is on this port, or servos set to another rate: it sends {start}. "
        f"{end} If it is the arm's, check [arm] baud."
    )


def _modem(heard: bytes) -> bool:
    lines = {line.strip() for line in heard.replace(b"\n", b"\r").split(b"\r")}
    return bool({b"OK", b"ERROR"} & lines)


def _text(heard: bytes) -> bool:
    printable = sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in heard)
    return printable >= TEXT_SHARE * len(heard)


def _shown(heard: bytes) -> str:
    """The beginning of a text, in quotation marks and without control characters."""
    text = " ".join(heard.decode("ascii", "replace").split())
    return repr("".join(c if c.isprintable() else "?" for c in text)[:SHOWN])
