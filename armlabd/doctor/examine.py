"""One examination: everything in the order of mending, from the plug upward."""

from __future__ import annotations

from armlabd.bus.errors import PortError
from armlabd.doctor.adapter import adapter_checks, chosen_port
from armlabd.doctor.board import clock_check, disk_check, starts_check
from armlabd.doctor.button import button_check
from armlabd.doctor.fit import fit_checks
from armlabd.doctor.report import Check, Report, skipped
from armlabd.doctor.rooms import daemon_check, keys_check, model_check, stop_check
from armlabd.doctor.servos import NAMES, Servos, core_checks, problem_of, read_servos, servo_checks
from armlabd.doctor.sight import sight_checks
from armlabd.doctor.subject import Subject


def examine(subject: Subject) -> Report:
    """Look at everything; nothing is changed."""
    plugs = adapter_checks(subject)
    servos = None if subject.core is not None else _read(subject, plugs)
    checks = (
        *plugs,
        *_servo_checks(subject, servos),
        *fit_checks(subject, servos),
        daemon_check(subject),
        button_check(subject),
        stop_check(subject),
        disk_check(subject),
        starts_check(subject),
        keys_check(subject),
        *sight_checks(subject),
        model_check(subject),
        clock_check(subject),
    )
    kind = "virtual" if subject.simulated else "real"
    return Report(f"armlabd doctor: {kind} arm, state in {subject.state}.", checks)


def _read(subject: Subject, plugs: tuple[Check, ...]) -> Servos | None:
    """What the servos say; None where something before them is wrong."""
    blocking = {"adapter", "group", "port"}
    if any(check.state == "finding" and check.name in blocking for check in plugs):
        return None
    port = chosen_port(subject)
    if not isinstance(port, str):
        return None
    baud = subject.config.arm.baud
    try:
        transport = subject.open_port(port, baud, subject.clock)
    except PortError as error:
        return problem_of(error)
    try:
        return read_servos(transport, subject.clock, baud)
    except PortError as error:
        return problem_of(error)
    finally:
        transport.close()


def _servo_checks(subject: Subject, servos: Servos | None) -> tuple[Check, ...]:
    if subject.core is not None:
        return core_checks(subject.core)
    if servos is None:
        return tuple(skipped(name, "The port has to work first.") for name in NAMES)
    return servo_checks(servos)
