"""Everything that can be made to go wrong, each as a command a person can type.

The first line of a function is its help: what happens, and with what. `healthy` ends all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from armlabd.sim import memory as at
from armlabd.sim.arm import VirtualArm
from armlabd.sim.illness import FOR_EVER
from armlabd.sim.protection import CURRENT_BIT, OVERLOAD_BIT
from armlabd.sim.servo import VirtualServo
from armlabd.sim.words import Answer, CommandError, Request, flag, number

MULTI_TURN: Final = 0x10


class Plug(Protocol):
    """The cable: `pty_server.PtyServer` or an in-process transport."""

    def plug(self) -> None:
        """Connect."""

    def unplug(self) -> None:
        """Disconnect."""


class Desk(Protocol):
    """What a command works on."""

    arm: VirtualArm
    plug: Plug


Command = Callable[[Desk, Request], Answer | None]

# --- answers on their way


def mute(desk: Desk, request: Request) -> None:
    """A servo that hears but no longer answers: id [on=true]."""
    muted, id = desk.arm.bus.faults.muted, int(number(request, "id", 0, 253))
    muted.add(id) if flag(request, "on", True) else muted.discard(id)


def drop(desk: Desk, request: Request) -> None:
    """Answers that get lost: rate 0..1."""
    desk.arm.bus.faults.drop_rate = number(request, "rate", 0, 1)


def corrupt(desk: Desk, request: Request) -> None:
    """Answers with a flipped bit: rate 0..1."""
    desk.arm.bus.faults.corrupt_rate = number(request, "rate", 0, 1)


def noise(desk: Desk, request: Request) -> None:
    """A stray byte before an answer: [rate=1]."""
    desk.arm.bus.faults.noise_rate = number(request, "rate", 0, 1, 1.0)


def extra_ff(desk: Desk, request: Request) -> None:
    """A spare FF before an answer: [rate=1]."""
    desk.arm.bus.faults.extra_ff_rate = number(request, "rate", 0, 1, 1.0)


def truncate(desk: Desk, request: Request) -> None:
    """Answers whose end is missing: [rate=1]."""
    desk.arm.bus.faults.truncate_rate = number(request, "rate", 0, 1, 1.0)


def strange(desk: Desk, request: Request) -> None:
    """Answers that carry an id nobody has: [rate=1]."""
    desk.arm.bus.faults.strange_rate = number(request, "rate", 0, 1, 1.0)


def late(desk: Desk, request: Request) -> None:
    """Answers held up on their way: seconds [once=true]."""
    faults = desk.arm.bus.faults
    once = flag(request, "once", True)
    faults.late_s, faults.late_once = number(request, "seconds", 0, 60), once


# --- the line


def echo(desk: Desk, request: Request) -> None:
    """An adapter that sends every request back: [on=true]."""
    desk.arm.bus.faults.echo = flag(request, "on", True)


def garbage(desk: Desk, request: Request) -> None:
    """Random bytes on the line all the time: [seconds=60]."""
    desk.arm.bus.chatter.garbage(desk.arm.now_s, number(request, "seconds", 0.001, 3600, 60.0))


def modem(desk: Desk, request: Request) -> None:
    """Another program writes AT commands to the port, as ModemManager does: [seconds=5]."""
    seconds = number(request, "seconds", 0.001, 3600, 5.0)
    desk.arm.bus.chatter.words(b"AT\r", desk.arm.now_s, seconds)


def duplicate(desk: Desk, request: Request) -> None:
    """A second servo answers to an id, at the same time: id [on=true]."""
    doubles, id = desk.arm.bus.faults.doubles, _servo(desk, request).id
    doubles.add(id) if flag(request, "on", True) else doubles.discard(id)


def break_chain(desk: Desk, request: Request) -> None:
    """The cable behind a servo comes out, with data and power of the rest: after 1..5 [on=true]."""
    after = int(number(request, "after", 1, 5))
    desk.arm.break_chain(after if flag(request, "on", True) else None)


def freeze(desk: Desk, request: Request) -> None:
    """The bus hears and says nothing, the port stays: [on=true]."""
    desk.arm.bus.faults.frozen = flag(request, "on", True)
    desk.arm.bus.silence()


def unplug(desk: Desk, request: Request) -> None:
    """Pull the USB plug; the servos keep their power."""
    desk.plug.unplug()
    desk.arm.bus.silence()


def replug(desk: Desk, request: Request) -> None:
    """Put the USB plug back: a new port behind the same name."""
    desk.plug.plug()


# --- power


def voltage(desk: Desk, request: Request) -> None:
    """Another supply voltage: decivolts 0..250 (120 is healthy)."""
    desk.arm.set_supply(int(number(request, "decivolts", 0, 250)))


def sag(desk: Desk, request: Request) -> None:
    """A weak supply, whose voltage falls while the arm moves: decivolts 0..120."""
    desk.arm.sag_decivolts = int(number(request, "decivolts", 0, 120))


def brownout(desk: Desk, request: Request) -> None:
    """The supply breaks down for a moment, a servo starts anew: [id] (all six without it)."""
    whom = [_servo(desk, request)] if "id" in request else desk.arm.servos
    desk.arm.brown_out([servo.id for servo in whom])


# --- one servo


def overload(desk: Desk, request: Request) -> None:
    """A servo that trips its overload protection now: id."""
    _servo(desk, request).trip(OVERLOAD_BIT)


def overcurrent(desk: Desk, request: Request) -> None:
    """A servo that trips its current protection now: id."""
    _servo(desk, request).trip(CURRENT_BIT)


def heat(desk: Desk, request: Request) -> None:
    """A servo that is hot and stays so: id celsius 0..120 [on=true]."""
    motor, celsius = _servo(desk, request).motor, number(request, "celsius", 0, 120, 60.0)
    motor.held_c = celsius if flag(request, "on", True) else None
    motor.temperature_c = celsius if motor.held_c is not None else motor.temperature_c


def sensor(desk: Desk, request: Request) -> None:
    """A servo that reports a fault of its angle sensor: id [on=true]."""
    _servo(desk, request).illness.sensor = flag(request, "on", True)


def encoder_jump(desk: Desk, request: Request) -> None:
    """A servo whose position jumps: id [steps=500] [reads=1] (-1: for ever)."""
    illness = _servo(desk, request).illness
    steps = int(number(request, "steps", -4095, 4095, 500))
    illness.jump_reads = int(number(request, "reads", FOR_EVER, 10_000, 1))
    illness.jump_steps = steps


def spike(desk: Desk, request: Request) -> None:
    """A servo whose load and current read highest for a moment: id [reads=1]."""
    reads = int(number(request, "reads", FOR_EVER, 10_000, 1))
    _servo(desk, request).illness.spike_reads = reads


def stuck(desk: Desk, request: Request) -> None:
    """A servo that takes goals and does not go there: id [on=true]."""
    _servo(desk, request).illness.stuck = flag(request, "on", True)


def jam(desk: Desk, request: Request) -> None:
    """A joint that an obstacle holds where it is: id [on=true]."""
    desk.arm.jam(_servo(desk, request).id, flag(request, "on", True))


def phase(desk: Desk, request: Request) -> None:
    """A servo that counts several turns (bit 4 of register 18): id [on=true]."""
    servo, on = _servo(desk, request), flag(request, "on", True)
    for memory in (servo.memory, servo.eeprom):
        memory[at.PHASE] = memory[at.PHASE] & ~MULTI_TURN | MULTI_TURN * on


def unlock(desk: Desk, request: Request) -> None:
    """A servo whose settings were left unlocked (register 55): id [on=true]."""
    _servo(desk, request).memory[at.LOCK] = int(not flag(request, "on", True))


def offset(desk: Desk, request: Request) -> None:
    """A servo that holds another homing offset, as after a swap: id steps -2047..2047."""
    raw = at.unsigned(int(number(request, "steps", -2047, 2047)), 11)
    servo = _servo(desk, request)
    for memory in (servo.memory, servo.eeprom):
        at.put(memory, at.HOMING_OFFSET, 2, raw)


def healthy(desk: Desk, request: Request) -> None:
    """End all faults (a latched overload ends with torque off, another offset with `offset`)."""
    desk.arm.mend()


def _servo(desk: Desk, request: Request) -> VirtualServo:
    wanted = int(number(request, "id", 0, 253))
    for servo in desk.arm.servos:
        if servo.id == wanted:
            return servo
    ids = ", ".join(str(servo.id) for servo in desk.arm.servos)
    raise CommandError(f"There is no servo {wanted}; there are: {ids}.")


FAULTS: Final[dict[str, Command]] = {
    "mute": mute,
    "drop": drop,
    "corrupt": corrupt,
    "noise": noise,
    "extra_ff": extra_ff,
    "truncate": truncate,
    "strange": strange,
    "late": late,
    "echo": echo,
    "garbage": garbage,
    "at": modem,
    "duplicate": duplicate,
    "break": break_chain,
    "freeze": freeze,
    "unplug": unplug,
    "replug": replug,
    "voltage": voltage,
    "sag": sag,
    "brownout": brownout,
    "overload": overload,
    "overcurrent": overcurrent,
    "heat": heat,
    "sensor": sensor,
    "encoder_jump": encoder_jump,
    "spike": spike,
    "stuck": stuck,
    "jam": jam,
    "phase": phase,
    "unlock": unlock,
    "offset": offset,
    "healthy": healthy,
}
