"""What a person does at the emulated machine: presses, clears, sends the arm on its way."""

from __future__ import annotations

from typing import Any

from machine import Machine

# The board's own of the two chips, whatever number it got.
FIND = (
    "name=$(cat /sys/kernel/config/gpio-sim/header/bank0/chip_name); "
    "ls /sys/devices/platform/gpio-sim.*/$name/sim_gpio5/pull"
)


TURNED_DEG = 3.0
MOST_STARTS = 4


class Contact:
    """The normally closed contact between the line and ground."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pull = machine.script(FIND).out.strip()
        assert self._pull.endswith("/pull"), self._pull

    def close(self) -> None:
        """Released: the line is at ground."""
        self._set("pull-down")

    def open(self) -> None:
        """Pressed, or a wire that is off: only the pull-up is left."""
        self._set("pull-up")

    def _set(self, pull: str) -> None:
        done = self._machine.script(f"echo {pull} >{self._pull}")
        assert done.code == 0, done.err


def torque(machine: Machine) -> bool:
    """Whether any of the servos holds, as the servos themselves have it."""
    return any(machine.bus.ask("state")["torque"])


def stopped(machine: Machine) -> bool:
    """Whether the arm is stopped; True while nobody answers."""
    return machine.status().get("stopped") is not False


def button(machine: Machine) -> str:
    """The state of the button."""
    return str(machine.status().get("button", {}).get("state", ""))


def released(machine: Machine, contact: Contact) -> None:
    """The arm ready, its button released and no stop in force."""

    def runs() -> bool:
        contact.close()  # again: a new holder of the line pulls it up
        told = machine.status()
        return (
            told.get("arm", {}).get("state") == "ready"
            and told["button"]["state"] in ("released", "unproven")
            and (not told["stopped"] or machine.ask("POST", "/stop/clear", {})[0] == 200)
        )

    machine.wait_for(runs, 60)
    assert not stopped(machine)


def at_rest(machine: Machine) -> str:
    """At home, held by its servos, and for so long that nothing counts as motion any more.

    "" in place of a run's address.
    """
    machine.wait_for(lambda: machine.ask("POST", "/call/go_home", {})[0] == 200, 30)
    machine.wait_for(lambda: torque(machine), 10)
    mark = "/var/lib/armlabd/in_motion.json"
    machine.wait_for(lambda: machine.sh("test", "-e", mark).code == 1, 10)
    return ""


def pan(machine: Machine) -> float:
    """Where the base has turned to, degrees, as the arm says."""
    joints = machine.status().get("arm", {}).get("joints_deg") or {}
    return float(joints.get("shoulder_pan", 0.0))


class LongWay:
    """A run that swings to and fro; begun again, a few times, if an emulated moment ended it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._ended: list[object] = []
        self._from_deg = 0.0
        self.url = ""

    def moves(self) -> bool:
        """Whether the arm has turned; starts the run, and answers when it asks."""
        run = self._machine.ask("GET", self.url)[1] if self.url else {"state": "ended"}
        if run.get("state") == "ended":
            self._again(run)
        elif asked := run.get("question"):  # emulated time stands still for moments: readings age
            self._machine.ask("POST", f"/questions/{asked['id']}", {"answer": "try again"})
        turned_deg = abs(pan(self._machine) - self._from_deg)
        return bool(self.url) and turned_deg > TURNED_DEG  # "moving" begins with its planning

    def _again(self, run: object) -> None:
        self._ended.append(run)
        assert len(self._ended) <= MOST_STARTS, self._ended
        self._machine.ask("POST", "/stop/clear", {})
        self._from_deg = pan(self._machine)
        status, answer = self._machine.ask("POST", "/plans/run", {"steps": _steps()})
        self.url = str(answer["url"]) if status == 202 else ""


def _steps() -> list[dict[str, object]]:
    first = ("get_status", "open_gripper")
    steps: list[dict[str, object]] = [{"tool": name, "args": {}} for name in first]
    for y in (0.14, -0.14, 0.14, -0.14):
        place = {"x": 0.2, "y": y, "z": 0.06, "speed_dps": 5}  # 16 s and more
        steps.append({"tool": "move_to_pose", "args": place})
    return steps


def in_motion(machine: Machine) -> str:
    """Start a run that goes a long way and return while it moves; its address."""
    opened = lambda: machine.ask("POST", "/call/open_gripper", {})[0] == 200  # noqa: E731
    machine.wait_for(opened, 30)  # then the run's first motion is the arm's
    way = LongWay(machine)
    machine.wait_for(way.moves, 30)
    return way.url


def ended(machine: Machine, url: str) -> dict[str, Any]:
    """The run as it was told when it had ended; the next answer may be that too much was asked."""
    told: dict[str, Any] = {}

    def over() -> bool:
        told.update(machine.ask("GET", url)[1])
        return told.get("state") == "ended"

    machine.wait_for(over, 30)
    return told
