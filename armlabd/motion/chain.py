"""Servos by name and by their place in the daisy chain, which is where a person has to look."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from armlabd.arm.joints import JOINT_NAMES, SERVO_IDS

PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")
WATCH_IT = "Whether the arm follows cannot be read: watch it, and cut its power if it moves."
ALL_SILENT = f"The servos stopped answering. {WATCH_IT}"


def servo_name(id: int) -> str:
    """`Servo 3 (elbow_flex)`."""
    return f"Servo {id} ({JOINT_NAMES[id - 1]})"


def servo_place(id: int) -> str:
    """`Servo 3 (elbow_flex), third from the base`."""
    return f"{servo_name(id)}, {PLACES[id - 1]} from the base"


def missing_sentence(found: Collection[int]) -> str:
    """Who of the six does not answer, and where to look; `found` is who does."""
    missing = [id for id in SERVO_IDS if id not in found]
    if not found:
        return "None of the six servos answers: the power supply is off or the bus cable out."
    rest = f"found: {', '.join(map(str, sorted(found)))}"
    if len(missing) == 1:
        return f"{servo_place(missing[0])}, does not answer; {rest}."
    if broken := broken_after(missing):
        return (
            f"Servos {missing[0]} to {missing[-1]} do not answer; {rest}. Look at the cable after "
            f"servo {broken} ({JOINT_NAMES[broken - 1]}), {PLACES[broken - 1]} from the base."
        )
    names = ", ".join(f"{id} ({JOINT_NAMES[id - 1]})" for id in missing)
    return f"Servos {names} do not answer; {rest}."


def broken_after(missing: Sequence[int]) -> int | None:
    """The servo behind which the cable is out: all behind it are missing, at least two."""
    whole_end = tuple(missing) == SERVO_IDS[SERVO_IDS.index(missing[0]) :]
    return missing[0] - 1 if whole_end and 1 < len(missing) < len(SERVO_IDS) else None


def silence_sentence(
    gaps: Mapping[int, int], cycles: int, damaged: Collection[int] = ()
) -> tuple[str, tuple[int, ...]]:
    """Why `cycles` in a row had no full reading, and which servos never answered in them.

    `gaps` counts the cycles without an answer, by servo; `damaged` are those who do say something.
    """
    gone = [id for id in SERVO_IDS if gaps.get(id, 0) >= cycles]
    silent = tuple(id for id in gone if id not in damaged)
    if len(silent) == len(SERVO_IDS):
        return ALL_SILENT, silent
    if silent:
        found = [id for id in SERVO_IDS if id not in silent]
        return f"{missing_sentence(found)} {WATCH_IT}", silent
    if gone:
        names = ", ".join(servo_name(id) for id in gone)
        return (
            f"Everything that {names} said in {cycles} cycles in a row came damaged, as when two "
            f"servos have one id, or by a disturbance on the cable. {WATCH_IT}",
            (),
        )
    lost = ", ".join(f"servo {id} {count} times" for id, count in sorted(gaps.items()) if count)
    return (
        f"Answers got lost or damaged in each of {cycles} cycles in a row: {lost}. {WATCH_IT}",
        (),
    )
