"""The power goes at each system call of each writer: old or new, never empty, and it goes on after.

Every file that must outlive a power cut has a row here; a search holds that no other code writes.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from disk_model import Recorder, crashes

import armlabd
from armlabd import durable
from armlabd.clock import VirtualClock
from armlabd.config import load_config
from armlabd.daemon.choice import Choice, ChoiceFile
from armlabd.daemon.core_process import _told
from armlabd.gate.keyfile import load_keys
from armlabd.gate.roles import KeyRing, Role
from armlabd.inference.store import Pinned, Store
from armlabd.motion.adapter import load_seen
from armlabd.motion.calibrate_progress import CALIBRATION, Progress
from armlabd.motion.disk import DirectDisk
from armlabd.motion.latch import Cause, Latch, read_cause, write_cause
from armlabd.motion.mark import Marks, crash_cause
from armlabd.record.audit import Audit
from armlabd.record.starts import StartCounter, read_starts
from armlabd.record.store import RunFolder
from armlabd.sim.calibration import calibration_json

ROOT = Path(__file__).parents[2]
Act = Callable[[Path], object]


@dataclass(frozen=True)
class Writer:
    """How a folder is brought to the old state and to the new one, and how it is read."""

    old: Act
    new: Act
    read: Act


def nothing(folder: Path) -> None:
    """A new folder."""


def latch(code: str) -> Act:
    return lambda folder: write_cause(folder / "stop.json", Cause(code))


def clear(folder: Path) -> None:
    Latch(folder, DirectDisk()).begin_clear("me")


def cause(folder: Path) -> object:
    found = read_cause(folder / "stop.json")
    return None if found is None else found.code


def marks(act: str) -> Act:
    def write(folder: Path) -> None:
        mark = Marks(folder, DirectDisk(), "boot", 1)
        mark.move()
        if act == "rest":
            mark.rest()

    return write


def rest(folder: Path) -> None:
    mark = Marks(folder, DirectDisk(), "boot", 1)
    mark._motion = mark._disk.submit(lambda: None)  # as after `move`
    mark.rest()


def add_key(name: str) -> Act:
    return lambda folder: KeyRing(folder / "keys.json", {}).add(name, Role.AGENT, "2026-11-30")


def settings(port: str) -> Act:
    spec = importlib.util.spec_from_file_location("settings", ROOT / "scripts/install_settings.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def write(folder: Path) -> None:
        target = str(folder / "config.toml")
        assert script.main([str(ROOT / "config.toml"), target, f'arm.port="{port}"']) == 0

    return write


def run_of(folder: Path) -> RunFolder:
    return RunFolder("run-000001", folder)


def audit_row(number: int, size: int = 1 << 20) -> Act:
    return lambda folder: Audit(folder, VirtualClock(), size).write({"a": number})


def rows(folder: Path) -> object:
    return [row.get("a") for row in Audit(folder, VirtualClock()).tail()]


def pin(revision: str) -> Act:
    return lambda folder: Store(folder).pin("m", Pinned("r", revision, {}))


def choose(model: str) -> Act:
    return lambda folder: ChoiceFile(folder).keep("planner", Choice("ollama", model))


def calibrated(zero: int) -> Act:
    def write(folder: Path) -> None:
        Progress(folder)._write(CALIBRATION, calibration_json() + " " * zero)

    return write


def told(text: str) -> Act:
    return lambda folder: _told(folder / "core.json", text.encode())


def text_of(name: str) -> Act:
    def read(folder: Path) -> object:
        path = folder / name
        return path.read_text() if path.exists() else None

    return read


def starts(boot: str) -> Act:
    return lambda folder: StartCounter(folder, boot)


WRITERS = {
    "a stop": Writer(clear, latch("asked"), cause),
    "a first stop": Writer(nothing, latch("asked"), cause),
    "a clear": Writer(latch("asked"), clear, cause),
    "the mark of motion": Writer(
        nothing, marks("move"), lambda folder: crash_cause(folder, "boot")
    ),
    "the end of a motion": Writer(marks("move"), rest, lambda folder: crash_cause(folder, "boot")),
    "a key": Writer(
        add_key("one"),
        add_key("two"),
        lambda folder: [key.name for key in load_keys(folder / "keys.json")],
    ),
    "a first key": Writer(
        nothing,
        add_key("one"),
        lambda folder: [key.name for key in load_keys(folder / "keys.json")],
    ),
    "a calibration": Writer(calibrated(0), calibrated(1), text_of(CALIBRATION)),
    "a first calibration": Writer(nothing, calibrated(1), text_of(CALIBRATION)),
    "a document of a run": Writer(
        lambda folder: run_of(folder).write_json("plan", {"n": 1}),
        lambda folder: run_of(folder).write_json("plan", {"n": 2}),
        lambda folder: run_of(folder).read_json("plan"),
    ),
    "a picture of a run": Writer(
        nothing,
        lambda folder: run_of(folder).write_bytes("picture-1.png", b"picture" * 99),
        text_of("picture-1.png"),
    ),
    "a row of a trace": Writer(
        lambda folder: run_of(folder).append_trace({"n": 1}),
        lambda folder: run_of(folder).append_trace({"n": 2}),
        lambda folder: run_of(folder).trace(),
    ),
    "a row of the audit": Writer(audit_row(1), audit_row(2), rows),
    "a row that closes a file": Writer(audit_row(1), audit_row(2, 5), rows),
    "the settings": Writer(
        settings("/dev/ttyACM0"),
        settings("/dev/ttyACM1"),
        lambda folder: load_config(folder / "config.toml").arm.port,
    ),
    "the choice of a model": Writer(choose("a"), choose("b"), text_of("models.json")),
    "what was fetched": Writer(pin("a" * 40), pin("b" * 40), text_of("lock.json")),
    "what the core is told": Writer(told("{}"), told('{"a": 1}'), text_of("core.json")),
    "the count of starts": Writer(starts("a"), starts("b"), read_starts),
}


def lay_out(folder: Path, contents: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, content in contents.items():
        (folder / Path(path).name).write_bytes(content)


def cut_everywhere(folder: Path, writer: Writer, patch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Cut the power after every call; how many calls there were, and how many disks were read."""
    place, after = folder / "d", folder / "after"
    place.mkdir()
    writer.old(place)
    old = writer.read(place)
    disk = Recorder(place)
    with patch.context() as only:
        only.setattr(durable, "os", disk)
        writer.new(place)
    new = writer.read(place)
    assert old != new, "the two states can be told apart"
    assert disk.calls, "the writer goes through durable"
    disks = 0
    for done, contents in crashes(disk):
        disks += 1
        lay_out(after, contents)
        found = writer.read(after)
        assert found in (old, new), (done, contents)
        if done == len(disk.calls):
            assert found == new, "what was answered is on the disk"
        with contextlib.suppress(ValueError):  # a key of that name is there already
            writer.new(after)  # and the next one goes on from whatever it was
        assert writer.read(after) != old, (done, contents)
    return len(disk.calls), disks


@pytest.mark.parametrize("name", WRITERS)
def test_a_power_cut_at_every_system_call_leaves_the_old_or_the_new(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, disks = cut_everywhere(tmp_path, WRITERS[name], monkeypatch)
    assert calls >= 2
    assert disks > calls


def without_fsync(path: Any, data: bytes, mode: int = 0o600) -> None:
    beside = f"{path}.new"
    handle = durable.os.open(beside, os.O_WRONLY | os.O_CREAT, mode)
    durable._write_all(handle, data)
    durable.os.close(handle)
    durable.os.replace(beside, path)
    durable.fsync_folder(os.path.dirname(path))


def without_folder(path: Any, data: bytes, mode: int = 0o600) -> None:
    beside = f"{path}.new"
    handle = durable.os.open(beside, os.O_WRONLY | os.O_CREAT, mode)
    durable._write_all(handle, data)
    durable.os.fsync(handle)
    durable.os.close(handle)
    durable.os.replace(beside, path)


def in_place(path: Any, data: bytes, mode: int = 0o600) -> None:
    handle = durable.os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    durable._write_all(handle, data)
    durable.os.fsync(handle)
    durable.os.close(handle)


@pytest.mark.parametrize("careless", [without_fsync, without_folder, in_place])
def test_the_model_itself_sees_a_careless_writer(
    careless: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armlabd.motion.latch.write_atomic", careless)
    with pytest.raises((AssertionError, KeyError)):
        cut_everywhere(tmp_path, WRITERS["a clear"], monkeypatch)


def test_what_a_power_cut_left_unfinished_is_swept_and_nothing_else(tmp_path: Path) -> None:
    gone, alive = 2**22 - 1, os.getpid()
    keep = ("stop.json", f".stop.json.{alive}.new", ".x.new", f"stop.json.{gone}.new", ".hidden")
    for name in (*keep, f".stop.json.{gone}.new", f".keys.json.{gone}.new"):
        (tmp_path / name).touch()
    durable.sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(keep)
    durable.sweep(tmp_path / "none")


# Where files are written by other ways, and why nothing is lost by it.
OTHER_WAYS = {
    "inference/fetch.py": "parts of a model, checked by their sums before they count",
    "inference/worker.py": "a setting of the kernel",
    "sim/process.py": "a setting of the kernel",
    "sim/pty_server.py": "the link to a pty, of this boot only",
    "record/audit.py": "rows of refusals, left to the next fsync",
    "cli/doctor.py": "a picture that somebody asked for",
    "cli/markers.py": "sheets to print",
    "cli/processes.py": "a plot that somebody asked for",
    "doctor/board.py": "a file to try the disk with",
    "motion/sockets.py": "a file to try the disk with",
}
NAMES = {"write_text", "write_bytes", "rename", "replace", "mkstemp", "NamedTemporaryFile"}


def other_writers(source: str) -> list[str]:
    """Calls that write files beside `durable`: open for writing, write_text, rename ..."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [ast.unparse(call.func) for call in calls if _writes(call)]


def _writes(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    last = called.split(".")[-1]
    if called == "os.open":
        return "O_CREAT" in ast.unparse(call)
    if last == "open":
        words = [a.value for a in call.args if isinstance(a, ast.Constant)]
        return any(isinstance(m, str) and len(m) <= 3 and set(m) & set("wax+") for m in words)
    return last in NAMES and _on_files(called, call)


def _on_files(called: str, node: ast.Call) -> bool:
    """`replace` of a text or of a dataclass is no writing."""
    if not called.endswith("replace"):
        return not called.endswith("folder.write_bytes") and called != "self.write_bytes"
    one = called.endswith(".replace") and len(node.args) == 1 and not node.keywords
    return called == "os.replace" or one


def test_nobody_writes_files_beside_durable_but_where_nothing_is_lost() -> None:
    root = Path(armlabd.__file__).parent
    writers = {
        str(path.relative_to(root)): found
        for path in sorted(root.rglob("*.py"))
        if path.relative_to(root).parts[0] not in ("bench", "durable.py")
        and (found := other_writers(path.read_text()))
    }
    writers.pop("daemon/state.py", None)  # the lock, which holds nothing
    assert set(writers) == set(OTHER_WAYS), writers


def test_the_adapter_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "adapter.json").write_text(json.dumps({"wanted": "auto"})[:-3])
    assert load_seen(str(tmp_path)) is None
