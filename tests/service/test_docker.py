"""Dockerfile.jetson: clean to its linter, and every step carried out in plain Debian roots."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import board as b
import dockerfile as d
import pytest

FILE = b.ROOT / "Dockerfile.jetson"
COMPOSE = b.ROOT / "compose.jetson.yaml"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HADOLINT = Path(sys.executable).with_name("hadolint")


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([HADOLINT, FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    worse = tmp_path / "Dockerfile"
    worse.write_text(FILE.read_text().replace("USER 990:990", "USER root"))
    assert subprocess.run([HADOLINT, worse], capture_output=True, check=False).returncode == 1


def test_the_compose_file_gives_devices_and_no_more() -> None:
    text = COMPOSE.read_text()
    assert "privileged" not in text
    for part in ("cap_drop: [ALL]", "read_only: true", "network_mode: host", "no-new-privileges"):
        assert part in text
    assert "stop_grace_period: 45s" in text


class Builder:
    """Builds the stages in root folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stages: list[d.Stage] = []
        self.arguments: dict[str, str] = {}
        self.source = folder / "source"
        b.source_of(self.source)

    def build(self) -> d.Stage:
        for word, rest in d.instructions(FILE.read_text()):
            if word not in d.SKIPPED:
                getattr(self, f"_{word.lower()}")(rest)
        return self.stages[-1]

    @property
    def stage(self) -> d.Stage:
        return self.stages[-1]

    def run(
        self, *words: str, user: str = "root", network: bool = True
    ) -> subprocess.CompletedProcess[str]:
        stage = self.stage
        shutil.copy("/etc/resolv.conf", stage.root / "etc/resolv.conf")
        wheels = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
        given = {**self.arguments, **stage.environment, **wheels}
        return b.run(
            "systemd-nspawn",
            "-q",
            "-D",
            stage.root,
            "--register=no",
            "--keep-unit",
            "--pipe",
            *(() if network else ("--private-network",)),
            f"--user={user}",
            f"--chdir={stage.folder}",
            f"--bind-ro={b.cached_wheels()}:/wheels",
            *(f"--setenv={name}={value}" for name, value in given.items()),
            *words,
        )

    def _from(self, rest: str) -> None:
        base, *named = d.expanded(rest, self.arguments).split()
        assert base == "debian:12-slim"  # what `bare_root` stands for
        root = self.folder / f"stage{len(self.stages)}"
        b.run("cp", "-a", "--reflink=auto", b.bare_root(), root)
        self.stages.append(d.Stage(root, base, named[1] if named else ""))
        self.arguments = {"BASE": base}

    def _arg(self, rest: str) -> None:
        self.arguments |= d.assignments(rest) or {rest: self.arguments.get(rest, "")}

    def _env(self, rest: str) -> None:
        known = {**self.stage.environment, "PATH": PATH}
        pairs = d.assignments(rest)
        self.stage.environment |= {name: d.expanded(text, known) for name, text in pairs.items()}

    def _workdir(self, rest: str) -> None:
        self.stage.folder = rest
        (self.stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _copy(self, rest: str) -> None:
        d.copy_in(self.stage, self.stages, self.source, rest)

    def _run(self, rest: str) -> None:
        self.run("/bin/bash", "-o", "pipefail", "-c", rest)

    def _user(self, rest: str) -> None:
        self.stage.user = rest.partition(":")[0]

    def _healthcheck(self, rest: str) -> None:
        self.stage.health = d.list_of(rest)

    def _entrypoint(self, rest: str) -> None:
        self.stage.entry = d.list_of(rest)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    if b.SUITE != "bookworm" or os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("the wheels of this machine's Python do not fit Debian 12")
    b.wheelhouse()
    builder = Builder(tmp_path_factory.mktemp("image"))
    builder.build()
    yield builder
    for stage in builder.stages:
        shutil.rmtree(stage.root, ignore_errors=True)


@pytest.mark.needs_board
def test_every_step_can_be_carried_out_and_the_image_is_nobody_s(image: Builder) -> None:
    assert image.stage.user == "990"
    assert image.stage.entry == ["tini", "--", "armlabd"]
    assert image.run("id", "-u", user="armlabd").stdout.strip() == "990"
    assert "armlabd" in image.run("armlabd", "--version", user="armlabd").stdout


@pytest.mark.needs_board
def test_it_runs_without_an_arm_and_says_that_it_lives(image: Builder) -> None:
    health = shlex.join(image.stage.health)
    script = (
        f"{' '.join(image.stage.entry)} run --port 8765 >/tmp/log 2>&1 & pid=$!\n"
        f"for n in $(seq 60); do sleep 0.5; {health} && live=yes && break; done\n"
        'kill $pid; wait $pid; echo "end $? live $live"; cat /tmp/log\n'
    )
    said = image.run("/bin/sh", "-c", script, user="armlabd", network=False).stdout
    assert "end 0 live yes" in said, said


@pytest.mark.needs_board
def test_what_a_wheel_must_hold_is_in_it(image: Builder) -> None:
    code = (
        "from armlabd.inference.catalog import read_catalog\n"
        "from pathlib import Path\n"
        "import armlabd.bench.goals as goals\n"
        "assert read_catalog().entries\n"
        "assert list(Path(goals.__file__).parent.glob('*.jsonl'))\n"
        "print('there')\n"
    )
    assert image.run("python", "-c", code, user="armlabd").stdout.strip() == "there"
