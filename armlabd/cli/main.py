"""`armlabd --help`: the command line and its exit codes.

0 done, 1 refused, 2 wrong use, 3 no daemon answers.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from armlabd import __version__
from armlabd.cli.exits import OK, REFUSED, UNREACHABLE, USAGE

EPILOG = "Exit status: 0 done, 1 refused, 2 wrong use, 3 no daemon answers."


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(prog="armlabd", description=__doc__, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"armlabd {__version__}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", help="the daemon's address (default: the local one)")
    common.add_argument("--key", help="default: $ARM_OPERATOR_KEY, $ARM_API_KEY, the key file")
    common.add_argument("--certificate", default="", help="PEM file that signs a TLS daemon")
    common.add_argument("--state", type=Path, help="state folder of a local daemon")
    common.add_argument("--json", action="store_true", help="answer as JSON")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_processes(commands)
    _add_requests(commands, common)
    _add_files(commands)
    _add_calibration(commands)
    _add_models(commands, common)
    return top


Commands = argparse._SubParsersAction
MAX_PORT = 65_535


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; allowed are 0 to {MAX_PORT}")
    return int(text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; write a number from 1 up")
    return int(text)


def _add_processes(commands: Commands[argparse.ArgumentParser]) -> None:
    run = commands.add_parser("run", help="run the daemon until it is told to end")
    run.add_argument("--sim", action="store_true", help="with a virtual arm and camera")
    run.add_argument("--config", type=Path, help="settings (default: /etc/armlabd/config.toml)")
    run.add_argument("--state", type=Path, help="state folder")
    run.add_argument("--port", type=_port, help="HTTP port; 0 = any free one")
    sim = commands.add_parser("sim", help="run the virtual servo bus alone")
    sim.add_argument("--state", type=Path, required=True, help="folder for port and control socket")
    sim.add_argument("--seed", type=int, default=0)
    sim.add_argument("--orphan-s", type=float, default=3600.0, help="end after so long unused")
    fault = commands.add_parser("fault", help="make something go wrong on the virtual arm")
    fault.add_argument("words", nargs="*", help="such as: mute id=3 (without: what there is)")
    fault.add_argument("--state", type=Path, help="state folder of the daemon, or of armlabd sim")
    bench = commands.add_parser("bench", help="measure this machine against the bars")
    bench.add_argument("what", choices=("start", "stop", "button", "bus", "model", "planner"))
    bench.add_argument("--json", action="store_true", help="figures as JSON")
    bench.add_argument("--count", type=int, default=0, help="repetitions (0 = the full number)")
    bench.add_argument("--plot", type=Path, help="write a picture there (SVG; bench bus)")
    bench.add_argument(
        "--folder", type=Path, help="a model's folder (bench model; else one is made)"
    )
    suite = bench.add_argument_group("bench planner: sentences, each with its right ending")
    suite.add_argument(
        "--backend",
        default="rules",
        help="rules, random, liar, smolvlm:FOLDER or ollama:TAG (default: rules)",
    )
    suite.add_argument("--url", help="of the Ollama server")
    suite.add_argument("--variant", default="fp32", help="files of a smolvlm folder, such as int8")
    suite.add_argument("--form", default="", help="a model writes skills or tools")
    suite.add_argument("--goals", type=Path, help="a file of your own (armlabd/bench/goals)")
    suite.add_argument("--limit", type=int, default=0, help="so many goals, of every kind")
    suite.add_argument("--jobs", type=int, default=0, help="processes (0 = one a processor)")


def _add_requests(
    commands: Commands[argparse.ArgumentParser], common: argparse.ArgumentParser
) -> None:
    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, parents=[common])

    add("status", "what state everything is in, and what to do next")
    add("stop", "stop the arm at once")
    add("clear-stop", "clear a stop (operator); nothing resumes")
    add("runs", "the newest runs")
    goal = add("goal", "a sentence to carry out, such as 'put the red block in the bin'")
    goal.add_argument("text")
    goal.add_argument("--no-wait", action="store_true", help="start it and return")
    call = add("call", "one tool call, such as: call move_to_pose x=0.2 y=0.1 z=0.05")
    call.add_argument("tool")
    call.add_argument("args", nargs="*", metavar="name=value")
    cancel = add("cancel", "end a run: the arm comes to rest and leaves the table")
    cancel.add_argument("run", nargs="?", help="its id (default: the one that goes on)")
    answer = add("answer", "answer the open question")
    answer.add_argument("answer")
    answer.add_argument("--question", help="its id, when several are open")
    check = add("check", "check a plan without moving")
    check.add_argument("plan", type=Path, metavar="PLAN.json")
    plan = add("plan", "run a plan from a file")
    plan.add_argument("plan", type=Path, metavar="PLAN.json")
    plan.add_argument("--no-wait", action="store_true", help="start it and return")


def _add_files(commands: Commands[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser("doctor", help="what is wrong, and what to do first; reads only")
    doctor.add_argument("--config", type=Path, help="settings (default: /etc/armlabd/config.toml)")
    doctor.add_argument("--state", type=Path)
    doctor.add_argument("--sim", action="store_true", help="of the virtual arm")
    text = "write what the camera sees, with what is made of it, as PNG"
    doctor.add_argument("--picture", type=Path, metavar="FILE", help=text)
    text = "try the stop button: asks for a press, which stops the arm, and tells what was seen"
    doctor.add_argument("--press", action="store_true", help=text)
    doctor.add_argument("--json", action="store_true", help="answer as JSON")
    markers = commands.add_parser("markers", help="the four tags and where they lie, to print")
    markers.add_argument("--paper", choices=("a4", "letter"), default="a4")
    markers.add_argument("--out", type=Path, default=Path(), help="folder (default: this one)")
    markers.add_argument("--config", type=Path, help="settings (default: /etc/armlabd/config.toml)")
    keys = commands.add_parser("keys", help="list, add or revoke keys on this board")
    keys.add_argument("--state", type=Path)
    keys.add_argument("--sim", action="store_true", help="the virtual arm's keys")
    what = keys.add_subparsers(dest="what", required=True)
    what.add_parser("list")
    add = what.add_parser("add")
    add.add_argument("name")
    add.add_argument("--role", choices=("reader", "agent", "operator"), default="agent")
    what.add_parser("revoke").add_argument("name")
    audit = commands.add_parser("audit", help="who asked for what, and what was decided")
    audit.add_argument("what", choices=("tail",))
    audit.add_argument("-n", type=_count, default=20, help="how many rows, at most 1000")
    audit.add_argument("--state", type=Path)
    audit.add_argument("--sim", action="store_true", help="the virtual arm's audit")


def _add_calibration(commands: Commands[argparse.ArgumentParser]) -> None:
    arm = argparse.ArgumentParser(add_help=False)
    arm.add_argument("--sim", action="store_true", help="the virtual arm")
    arm.add_argument("--config", type=Path, help="settings (default: /etc/armlabd/config.toml)")
    arm.add_argument("--state", type=Path, help="state folder")
    text = "turn each joint by hand and write what it can do; --align: touch points of the table"
    calibrate = commands.add_parser("calibrate", help=text, parents=[arm])
    calibrate.add_argument("--align", action="store_true", help="find joint zeros and base pose")
    calibrate.add_argument("--fresh", action="store_true", help="forget an interrupted one")
    calibrate.add_argument(
        "--stand-in",
        nargs="?",
        const="",
        metavar="CONTROL",
        help="with --sim: a scripted person; or at the virtual bus with that control socket",
    )
    files = commands.add_parser("calibration", help="show a calibration, or import LeRobot's")
    what = files.add_subparsers(dest="what", required=True)
    show = what.add_parser("show", help="the calibration of this arm", parents=[arm])
    show.add_argument("--servos", action="store_true", help="compare it with the servos")
    text = "a calibration file, ours or LeRobot's, or the name of an arm in LeRobot's folders"
    load = what.add_parser("import", help=text, parents=[arm])
    load.add_argument("file", metavar="FILE", help=text)
    choice = load.add_mutually_exclusive_group()
    for name, does in IMPORTS.items():
        choice.add_argument(name, dest="choice", action="store_const", const=name, help=does)
    load.add_argument("--same-arm", action="store_true", help="take other offsets all the same")


def _add_models(
    commands: Commands[argparse.ArgumentParser], common: argparse.ArgumentParser
) -> None:
    models = commands.add_parser("models", help="which models plan and look; use or fetch others")
    what = models.add_subparsers(dest="what", required=True)
    what.add_parser("list", help="what there is, and what it is doing", parents=[common])
    text = "take one into use, without a restart: a name of the list, BACKEND:MODEL, rules, or"
    text += " config (what config.toml says)"
    use = what.add_parser("use", help=text, parents=[common])
    use.add_argument("name", metavar="NAME", help=text)
    use.add_argument("--for", dest="job", choices=("planner", "vision"), default="planner")
    use.add_argument("--no-wait", action="store_true", help="return before it is loaded")
    text = "bring one onto this board: a name of models/catalog.toml, or a tag of Ollama's"
    fetch = what.add_parser("fetch", help=text)
    fetch.add_argument("name", metavar="NAME", help=text)
    fetch.add_argument("--variant", help="of a folder's files (default: as in the settings)")
    fetch.add_argument("--update", action="store_true", help="the newest, not the pinned commit")
    fetch.add_argument("--endpoint", help="another server of the hub's kind")
    fetch.add_argument("--catalog", type=Path, help="another catalog.toml")
    fetch.add_argument("--config", type=Path, help="settings (default: /etc/armlabd/config.toml)")
    fetch.add_argument("--state", type=Path, help="state folder")
    fetch.add_argument("--json", action="store_true", help="answer as JSON")


IMPORTS = {
    "--write-to-servos": "the servos are made to hold what the file says",
    "--keep-servos": "show the difference and change nothing",
    "--take-from-servos": "keep what the servos hold as this arm's calibration",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; the exit code."""
    options = parser().parse_args(arguments)
    from armlabd.cli.client import Unreachable, WrongUse
    from armlabd.cli.commands import COMMANDS
    from armlabd.cli.show import complain

    try:
        return COMMANDS[options.command](options)
    except WrongUse as error:
        complain(str(error))
        return USAGE
    except Unreachable as error:
        complain(str(error))
        return UNREACHABLE
    except KeyboardInterrupt:
        return REFUSED


def entry() -> None:
    """The installed command. A reader that left early (`| head`) is no fault."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python complains when it ends
        code = OK
    sys.exit(code)
