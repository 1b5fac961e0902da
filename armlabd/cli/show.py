"""What people read on the terminal. Plain text; colours only where a terminal is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


@cache
def _console(stderr: bool = False) -> Console:
    """Made when a colour is first wanted: the daemon prints a few plain lines and needs none."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


BOARD_PARTS = ("button", "network", "disk", "clock")


def say(text: str, style: str | None = None) -> None:
    """One line on standard output."""
    if style is None or not sys.stdout.isatty():
        print(_printable(text))
    else:
        _console().print(_printable(text), style=style, markup=False)


def complain(text: str) -> None:
    """One line on standard error."""
    if sys.stderr.isatty():
        _console(stderr=True).print(_printable(text), style="red", markup=False)
    else:
        print(_printable(text), file=sys.stderr)


def _printable(text: str) -> str:
    """Without control characters and halves of characters: what others wrote stays plain text."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def as_json(data: Any) -> None:
    """Data as JSON, for other programs."""
    print(json.dumps(data, indent=1, default=str))


def error_of(body: Mapping[str, Any]) -> str:
    """The sentence of a refusal, with its code."""
    sentence = body.get("error") or body.get("sentence") or "no reason was given"
    code = body.get("code")
    return f"refused ({code}): {sentence}" if code else str(sentence)


def scene_lines(scene: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Accepted and rejected claims, one line each."""
    lines: list[tuple[str, str | None]] = []
    for item in scene.get("objects", []):
        place = f"x {item['x']:.3f} y {item['y']:+.3f} m, yaw {item['yaw_deg']:+.0f} deg"
        lines.append((f"  accepted  {item['label']:<12} {place}  [{item['source']}]", "green"))
    for item in scene.get("rejected", []):
        reasons = "; ".join(item.get("reasons", []))
        lines.append((f"  rejected  {item['label']:<12} {reasons}", "yellow"))
    for item in scene.get("ambiguous", []):
        count = len(item["candidates"])
        lines.append((f"  unclear   {item['label']:<12} there are {count} of them", "yellow"))
    doubts = [f"disputed  {d['label']:<12} {d['reason']}" for d in scene.get("disputed", [])]
    lines += [(f"  {text}", "yellow") for text in (*doubts, *scene.get("notes", []))]
    return lines or [("  the table is empty", None)]


def step_line(row: Mapping[str, Any]) -> tuple[str, str | None]:
    """One line of a run's trace."""
    if row.get("event") == "step":
        word = "ok" if row["ok"] else "NO"
        style = "green" if row["ok"] else "red"
        note = f"  ({row['note']})" if row.get("note") else ""
        return f"  step {row['step']:>2} {word}  {row['tool']:<14} {row['sentence']}{note}", style
    return f"       --  {row.get('sentence', row.get('event', ''))}", "yellow"


def plan_lines(plan: Mapping[str, Any]) -> list[str]:
    """The steps of a plan, numbered from 1."""
    lines = []
    for number, step in enumerate(plan.get("steps", []), start=1):
        args = " ".join(f"{name}={_short(value)}" for name, value in step["args"].items())
        wanted = ", ".join(f"{k} {str(v).lower()}" for k, v in (step.get("expect") or {}).items())
        expect = f"  expect {wanted}" if wanted else ""
        lines.append(f"  {number:>2} {step['tool']:<14} {args:<48} {step.get('note', '')}{expect}")
    return lines


def _short(value: object) -> str:
    """A number in few digits; anything else as it stands in a plan."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if number else str(value)[:40]


def check_lines(report: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Outcome, faults and warnings of a check."""
    good = not report.get("faults")
    lines: list[tuple[str, str | None]] = [(f"  {report['outcome']}", "green" if good else "red")]
    for kind, style in (("faults", "red"), ("warnings", "yellow")):
        lines += [
            (f"  {kind[:-1]} {fault['rule']}: {fault['sentence']}", style)
            for fault in report.get(kind, [])
        ]
    return lines


def status_lines(status: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The status as a person reads it: every part, and what to do next."""
    arm, camera = status["arm"], status["camera"]
    kind = "virtual arm" if status["simulated"] else "real arm"
    shown = arm["state"].replace("_", " ")
    lines: list[tuple[str, str | None]] = [(f"{kind}: {shown}", None)]
    if status["stopped"]:
        stop = status["stop"] or {}
        lines.append((f"STOPPED: {stop.get('sentence', '')}", "bold red"))
        if stop.get("disk_error"):
            lines.append((f"  the stop is not on disk yet: {stop['disk_error']}", "red"))
        lines.append(("  next: armlabd clear-stop (operator), when the cause is gone", None))
    if arm.get("joints_deg"):
        joints = "  ".join(f"{name} {value:+.1f}" for name, value in arm["joints_deg"].items())
        lines.append((f"joints: {joints} deg  gripper {arm['gripper_percent']} %", None))
        lines.append((f"torque: {'on' if arm['torque'] else 'off'}", None))
    parts = [("arm", arm), ("camera", camera), ("planner", status["planner"])]
    if camera.get("model"):
        parts.append(("seeing model", camera["model"]))
    parts += [(name, status[name]) for name in BOARD_PARTS if status.get(name)]
    for name, part in parts:
        after = f"  next: {part['next']}" if part.get("next") else ""
        own = f"{part['name']}, " if name == "planner" and part.get("name") else ""
        lines.append((f"{name}: {own}{part['state'].replace('_', ' ')}{after}", None))
        if name == "planner" and part.get("note"):
            lines.append((f"  last plan: {part['note']}", "yellow"))
    if starts := status.get("starts"):
        lines.append((starts_line(starts), None))
    if status.get("run"):
        lines.append((f"run: {status['run']['id']} {status['run']['state']}", None))
        lines += question_lines(status["run"].get("question"))
    return lines


def starts_line(starts: Mapping[str, Any]) -> str:
    """How this board came up before."""
    cuts, crashes, note = starts["power_cuts"], starts["crashes"], starts["note"]
    counts = f"{starts['starts']}, ended by a power cut {cuts}, by a crash {crashes}"
    return f"starts: {counts}; the last one {starts['last_end']}{f'  {note}' if note else ''}"


def question_lines(question: Mapping[str, Any] | None) -> list[tuple[str, str | None]]:
    """What a run asks a person, the answers to choose from, and how to give one."""
    if not question:
        return []
    lines: list[tuple[str, str | None]] = [(f"  question: {question['text']}", "yellow")]
    for number, option in enumerate(question["options"], start=1):
        lines.append((f"    {number}  {option}", None))
    return [*lines, ("  answer it with: armlabd answer TEXT (or the number)", None)]
