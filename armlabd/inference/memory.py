"""Memory: what a model will need, what is free, what a process holds, who was ended for lack of it.

Read from /proc and the control group; all figures in bytes.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from armlabd.inference.backend import ModelError
from armlabd.inference.folder import Folder
from armlabd.inference.settings import WorkerSettings
from armlabd.verdict import Code

MIB = 1 << 20
PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")
BASE = 130 * MIB  # Python, numpy, onnxruntime, transformers, Pillow: measured by `bench model`
PER_WORD = 2600  # bytes of both tokenizers for each token of the vocabulary, measured
CHUNK = 128  # tokens of one pass, see generate.CHUNK
FLOAT = 4
LACK = (  # how libraries say that memory ran out
    "bad_alloc",
    "bad allocation",
    "Failed to allocate",
    "Memory allocation still failed",
    "cannot allocate memory",
    "out of memory",
    "MemoryError",
)


def needed(folder: Folder, settings: WorkerSettings) -> int:
    """What a worker will hold at its peak, from the sizes of the files and the config."""
    n = folder.numbers
    words = n.vocabulary or 0
    window = min(settings.window, n.positions)
    cache = (n.layers or 0) * 2 * (n.kv_heads or 0) * (n.head or 0) * FLOAT * window
    logits = 2 * CHUNK * words * FLOAT
    patches = ((n.image or 0) // (n.patch or 1)) ** 2 if folder.sees else 0
    seeing = 4 * (n.seeing_heads or 0) * patches**2 * FLOAT  # attention of one tile and its copies
    return BASE + folder.graph_bytes + PER_WORD * words + 2 * cache + logits + seeing


def available(proc: Path = PROC, groups: Path = GROUPS) -> int | None:
    """What can be had now: MemAvailable, or less where the control group is limited."""
    found = [_meminfo(proc), _group_room(proc, groups)]
    known = [value for value in found if value is not None]
    return min(known) if known else None


def refuse_what_does_not_fit(
    folder: Folder, settings: WorkerSettings, proc: Path = PROC, groups: Path = GROUPS
) -> int:
    """The need of a model that fits. Raises ModelError(MODEL_MEMORY) with the figures."""
    need, free = needed(folder, settings), available(proc, groups)
    if free is not None and need > free:
        raise ModelError(
            Code.MODEL_MEMORY,
            f"{settings.model} needs about {need // MIB} MiB, {free // MIB} MiB are free. Unload "
            "another model, end other programs, or use a smaller variant or model.",
        )
    return need


def lacking(error: object) -> bool:
    """True when an error, or what was printed last, is about memory that ran out."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(word.lower() in said for word in LACK)


def resident(pid: int, proc: Path = PROC) -> int | None:
    """What a process holds now; None when it is gone."""
    return _field(proc / str(pid) / "status", "VmRSS:")


def peak(pid: int, proc: Path = PROC) -> int | None:
    """The most that a process held so far; None when it is gone."""
    return _field(proc / str(pid) / "status", "VmHWM:")


def oom_kills(proc: Path = PROC, groups: Path = GROUPS) -> int:
    """How many processes the kernel has ended for lack of memory, on this board or in the group."""
    board = _word(proc / "vmstat", "oom_kill")
    group = _group(proc, groups)
    grouped = None if group is None else _word(group / "memory.events", "oom_kill")
    return (board or 0) + (grouped or 0)


def _meminfo(proc: Path) -> int | None:
    return _field(proc / "meminfo", "MemAvailable:")


def _field(path: Path, name: str) -> int | None:
    """A line `name N kB` of a file of /proc."""
    value = _word(path, name)
    return None if value is None else value * 1024


def _word(path: Path, name: str) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in path.read_text().splitlines():
            words = line.split()
            if words and words[0] == name:
                return int(words[1])
    return None


def _group(proc: Path, groups: Path) -> Path | None:
    """The folder of our control group (version 2)."""
    with contextlib.suppress(OSError):
        for line in (proc / "self" / "cgroup").read_text().splitlines():
            number, _, name = line.split(":", 2)
            if number == "0":
                return groups / name.lstrip("/")
    return None


def _group_room(proc: Path, groups: Path) -> int | None:
    """What the control group still allows; None without a limit."""
    group = _group(proc, groups)
    if group is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        most = int((group / "memory.max").read_text())
        held = int((group / "memory.current").read_text())
        cached = _word(group / "memory.stat", "inactive_file") or 0
        return max(0, most - held + cached)
    return None
