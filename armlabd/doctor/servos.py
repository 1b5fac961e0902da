"""The servos: from the running core where there is one, else read over the port and closed again.

Only pings and reads go out: nothing here writes to a servo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS
from armlabd.bus.errors import NoAnswer, PortError
from armlabd.bus.master import Master
from armlabd.bus.port import Transport
from armlabd.bus.registers import MODEL_STS3215, REGISTERS, Feedback
from armlabd.bus.stranger import listen
from armlabd.bus.wire import Timing
from armlabd.clock import Clock
from armlabd.doctor.report import Check, finding, ok, skipped
from armlabd.motion.health import (
    STATES,
    TOO_HOT_C,
    Facts,
    Trouble,
    bits_trouble,
    facts_of,
    missing_trouble,
    settings_trouble,
    supply_trouble,
)

EXTRA_IDS = (0, 7, 8, 9, 10, 11, 12)
NAMES = ("servos", "model and firmware", "voltage", "temperature")
LOCK = REGISTERS["lock"].address
ELSEWHERE = ("voltage", "hot")  # states with a check of their own


@dataclass(frozen=True, slots=True)
class Servos:
    """What was read of the servos. `problem` stands for everything when nothing could be read."""

    found: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()
    facts: Mapping[int, Facts] = field(default_factory=dict)
    feedback: Mapping[int, Feedback] = field(default_factory=dict)
    unlocked: tuple[int, ...] = ()
    stranger: str = ""
    problem: str = ""


def read_servos(transport: Transport, clock: Clock, baud: int) -> Servos:
    """Ping, then read. Raises PortLost."""
    master = Master(transport, clock, retries=2, timing=Timing(baud=baud))
    found = tuple(id for id in SERVO_IDS if _answers(master, id, 2))
    extra = tuple(id for id in EXTRA_IDS if _answers(master, id, 0))
    if not found or len(extra) == len(EXTRA_IDS):
        stranger = _listen(transport, clock)
        if stranger:
            return Servos(stranger=stranger)
    if not found:
        return Servos(extra=extra)
    low, high = master.sync_read(found, 0, 22), master.sync_read(found, 30, 11)
    lock = master.sync_read(found, LOCK, 1)
    seen = master.read_block(found).servos
    both = [id for id in found if id in low and id in high and id in seen]
    return Servos(
        found,
        extra,
        {id: facts_of(low[id].data, high[id].data) for id in both},
        {id: seen[id].feedback for id in both},
        tuple(id for id, reading in lock.items() if reading.data == b"\x00"),
    )


def _answers(master: Master, id: int, retries: int) -> bool:
    try:
        master.ping(id, retries=retries)
    except NoAnswer:
        return False
    return True


def _listen(transport: Transport, clock: Clock) -> str:
    steps = listen(transport, clock)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value or ""


def servo_checks(servos: Servos) -> tuple[Check, ...]:
    """What was read, judged."""
    if servos.problem or servos.stranger:
        sentence = servos.problem or servos.stranger
        return _only_first(
            finding("servos", sentence, "Do what the sentence says, then ask again.")
        )
    there = _there(servos)
    if not servos.found:
        return _only_first(there)
    return there, _model(servos), _voltage(servos), _temperature(servos)


def _only_first(first: Check) -> tuple[Check, ...]:
    return first, *(skipped(name, "The servos have to answer first.") for name in NAMES[1:])


def _there(servos: Servos) -> Check:
    volts = min((one.voltage / 10 for one in servos.feedback.values()), default=None)
    trouble = missing_trouble(servos.found, servos.extra, volts)
    if trouble is not None:
        first = next(id for id in SERVO_IDS if id not in servos.found)
        before = "the USB board" if first == 1 else f"servo {first - 1}"
        return finding(
            "servos",
            trouble.sentence,
            "Switch the servo supply on and look at its plug at the USB board.",
            f"Press in the cable between {before} and servo {first} ({JOINT_NAMES[first - 1]}).",
            "If it stays: that servo may carry another id; see the unexpected ones.",
        )
    if servos.extra:
        ids = ", ".join(map(str, servos.extra))
        return finding(
            "servos",
            f"All six answer, and more: id {ids}.",
            "Take the servos off the bus that do not belong to this arm.",
        )
    for id, seen in servos.feedback.items():
        trouble = bits_trouble(id, seen.status)
        if trouble is not None and trouble.state not in ELSEWHERE:
            return finding("servos", trouble.sentence, STATES[trouble.state])
    if servos.unlocked:
        return _unlocked(servos)
    return ok("servos", "All six answer, in their places, and no other.")


def _unlocked(servos: Servos) -> Check:
    ids = ", ".join(map(str, servos.unlocked))
    return finding(
        "servos",
        f"All six answer. The settings of servo {ids} are unlocked, as LeRobot leaves them: any "
        "program could change them for good.",
        "Switch the servo supply off and on: that locks them.",
    )


def _model(servos: Servos) -> Check:
    for id, facts in servos.facts.items():
        trouble = _wrong_model(id, facts) or settings_trouble(id, facts, None)
        if trouble is not None:
            return finding("model and firmware", trouble.sentence, STATES[trouble.state])
    firmware = sorted({facts.firmware for facts in servos.facts.values()})
    several = " They differ; LeRobot refuses that, we do not." if len(firmware) > 1 else ""
    listed = " and ".join(firmware)
    return ok("model and firmware", f"STS3215 everywhere, firmware {listed}.{several}")


def _wrong_model(id: int, facts: Facts) -> Trouble | None:
    if facts.model == MODEL_STS3215:
        return None
    name = JOINT_NAMES[id - 1]
    sentence = f"Servo {id} ({name}) is model {facts.model}, not {MODEL_STS3215}."
    return Trouble("wrong_model", sentence)


def _voltage(servos: Servos) -> Check:
    for id, facts in servos.facts.items():
        trouble = supply_trouble(id, facts, servos.feedback[id].voltage)
        if trouble is not None:
            step = "Switch it off, exchange the supply, switch it on."
            return finding("voltage", trouble.sentence, step)
    volts = [one.voltage / 10 for one in servos.feedback.values()]
    return ok("voltage", f"{min(volts):.1f} to {max(volts):.1f} V, within what the servos allow.")


def _temperature(servos: Servos) -> Check:
    return temperatures({id: one.temperature for id, one in servos.feedback.items()})


def temperatures(celsius: Mapping[int, int]) -> Check:
    """Judged by the hottest."""
    hottest = max(celsius, key=lambda id: celsius[id])
    told = f"The hottest is servo {hottest} ({JOINT_NAMES[hottest - 1]}) with {celsius[hottest]}"
    if celsius[hottest] < TOO_HOT_C:
        return ok("temperature", f"{told} degrees; motion is refused from {TOO_HOT_C}.")
    return finding(
        "temperature",
        f"{told} degrees; motion is refused from {TOO_HOT_C}.",
        "armlabd stop, so that it holds nothing, and let it cool down.",
        "Find out what it pushed against before it moves again.",
    )


# --- from a running core


def core_checks(core: Mapping[str, Any]) -> tuple[Check, ...]:
    """The same from what the core tells: it has the port, and nobody disturbs it."""
    if not core.get("connected"):
        next_step = str(core.get("next") or "Wait a moment, then ask again.")
        return _only_first(
            finding("servos", f"The motion core is not connected. {next_step}", next_step)
        )
    state = str(core.get("state"))
    servos = core.get("servos") or {}
    counters = core.get("counters") or {}
    return (
        _core_state(core, state, counters),
        _core_firmware(state, core, counters),
        _core_voltage(state, core, servos),
        _core_temperature(servos),
    )


def _core_state(core: Mapping[str, Any], state: str, counters: Mapping[str, Any]) -> Check:
    extra = counters.get("extra") or []
    if extra:
        ids = ", ".join(map(str, extra))
        step = "Take the servos off the bus that do not belong to this arm."
        return finding("servos", f"All six answer, and more: id {ids}.", step)
    elsewhere = ("ready", "wrong_model", "multi_turn", "wrong_mode", *ELSEWHERE)
    if state in elsewhere or state.startswith(("not_calibrated", "calibration")):
        return ok("servos", "All six answer the motion core, and no other.")
    return finding("servos", f"{state}. {core.get('next')}", str(core.get("next")))


def _core_firmware(state: str, core: Mapping[str, Any], counters: Mapping[str, Any]) -> Check:
    if state in ("wrong_model", "multi_turn", "wrong_mode"):
        return finding("model and firmware", str(core.get("next")), STATES[state])
    listed = " and ".join(counters.get("firmware") or ["not told"])
    return ok("model and firmware", f"STS3215 everywhere, firmware {listed}.")


def _core_voltage(state: str, core: Mapping[str, Any], servos: Mapping[str, Any]) -> Check:
    if state == "voltage":
        return finding("voltage", str(core.get("next")), STATES["voltage"])
    volts = [float(one["voltage_v"]) for one in servos.values()]
    if not volts:
        return skipped("voltage", "The core has not told it yet.")
    return ok("voltage", f"{min(volts):.1f} to {max(volts):.1f} V, within what the servos allow.")


def _core_temperature(servos: Mapping[str, Any]) -> Check:
    if not servos:
        return skipped("temperature", "The core has not told it yet.")
    ids = {name: id for id, name in zip(SERVO_IDS, JOINT_NAMES, strict=True)}
    return temperatures({ids[name]: int(one["temperature_c"]) for name, one in servos.items()})


def problem_of(error: PortError) -> Servos:
    """A port that could not be opened, as what was read."""
    return Servos(problem=error.sentence)
