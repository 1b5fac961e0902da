"""Which programs run, by name, read from /proc."""

from __future__ import annotations

from pathlib import Path


def running(name: str, proc: str = "/proc") -> tuple[int, ...]:
    """The processes of this name (its first 15 characters, as the kernel keeps them)."""
    found = []
    for folder in Path(proc).iterdir() if Path(proc).is_dir() else ():
        if not folder.name.isdigit():
            continue
        try:
            if (folder / "comm").read_text(errors="replace").strip() == name[:15]:
                found.append(int(folder.name))
        except OSError:
            continue
    return tuple(sorted(found))
