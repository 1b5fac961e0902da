"""Who sits on a port where no servo answers, told within a second."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from armlabd.bus import frames
from armlabd.bus.stranger import listen, recognise
from armlabd.clock import VirtualClock

PING = frames.ping(1)


class Device:
    """Answers each write by a rule of its own, at once; `chatter` comes on every read."""

    def __init__(self, clock: VirtualClock, rule: Callable[[bytes], bytes]) -> None:
        self.clock, self.rule = clock, rule
        self.waiting = b""
        self.written: list[bytes] = []
        self.chatter = b""

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self.waiting += self.rule(data)

    def read(self, deadline_s: float) -> bytes:
        self.clock.advance_to(deadline_s)
        found, self.waiting = self.waiting + self.chatter, b""
        return found

    def discard_input(self) -> int:
        return 0

    def close(self) -> None:
        pass


def asked(rule: Callable[[bytes], bytes], chatter: bytes = b"") -> tuple[str | None, float]:
    clock = VirtualClock(5.0)
    device = Device(clock, rule)
    device.chatter = chatter
    steps = listen(device, clock)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value, clock.monotonic() - 5.0


def modem(data: bytes) -> bytes:
    return data + b"\r\nOK\r\n" if data.endswith(b"\r") else data


@pytest.mark.parametrize(
    ("rule", "chatter", "words"),
    [
        (modem, b"", "A modem or phone"),
        (lambda _: b"\r\nERROR\r\n", b"", "A modem or phone"),
        (lambda data: data, b"", "sends every byte back"),
        (lambda _: b"", b"$GPGGA,1234,,N\r\n", "it says '$GPGGA,1234,,N"),
        (lambda _: b"", bytes.fromhex("8000f17e93"), "servos set to another rate"),
    ],
)
def test_a_device_that_is_no_arm_is_told_by_what_it_says(
    rule: Callable[[bytes], bytes], chatter: bytes, words: str
) -> None:
    sentence, took_s = asked(rule, chatter)
    assert sentence is not None
    assert words in sentence
    assert "[arm] port" in sentence
    assert took_s < 0.2


def test_silence_is_nobody() -> None:
    sentence, took_s = asked(lambda _: b"")
    assert sentence is None
    assert took_s < 0.2


def test_what_others_send_is_shown_without_control_characters() -> None:
    sentence = recognise(b"\x1b[31mhello there, this is a long text\r\n")
    assert sentence is not None
    assert "\x1b" not in sentence
    assert len(sentence) < 200
