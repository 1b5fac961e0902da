"""Carries out a Dockerfile's steps in plain root folders, as far as a build can be seen from them.

Knows the instructions that this project's file uses, and refuses any other: FROM, ARG, ENV, SHELL,
WORKDIR, COPY, RUN, USER, VOLUME, EXPOSE, HEALTHCHECK, ENTRYPOINT, CMD.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = frozenset({"VOLUME", "EXPOSE", "CMD", "SHELL"})


@dataclass
class Stage:
    """One stage: where its root lies and what later steps see."""

    root: Path
    base: str
    name: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "root"
    entry: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def instructions(text: str) -> list[tuple[str, str]]:
    """(word, rest) of every instruction; comments gone, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    pairs = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(word.upper(), rest) for word, rest in pairs]


def expanded(text: str, known: dict[str, str]) -> str:
    """$NAME and ${NAME} of what is known; unknown ones stay for the shell."""
    return re.sub(r"\$\{?(\w+)\}?", lambda match: known.get(match[1], match[0]), text)


def assignments(rest: str) -> dict[str, str]:
    """NAME=VALUE pairs, a value with or without quotes."""
    found = re.findall(r'(\w+)=(?:"([^"]*)"|(\S*))', rest)
    return {name: quoted or plain for name, quoted, plain in found}


def copy_in(stage: Stage, stages: list[Stage], source: Path, rest: str) -> None:
    """COPY [--from=STAGE] WHAT... WHERE."""
    words = rest.split()
    origin = source
    if words[0].startswith("--from="):
        name = words.pop(0).partition("=")[2]
        origin = next(one.root for one in stages if one.name == name)
    *what, where = words
    target = stage.root / (Path(stage.folder) / where).as_posix().lstrip("/")
    for pattern in what:
        for path in origin.glob(pattern.lstrip("/")):
            if path.is_dir():
                shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
            else:
                into = target / path.name if where.endswith(("/", ".")) else target
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, into)


def list_of(rest: str) -> list[str]:
    """The JSON form of a command."""
    found = json.loads(rest[rest.index("[") :])
    return [str(word) for word in found]
