"""Changes guard, fence, latch, button and frame codec one place at a time: do tests notice?

Usage: scripts/test --mutation [--seconds N] [--only FILE]

Works on a copy. Operators: a comparison turned or moved by its end, plus for minus, `and` for `or`,
a condition denied, a number one off, a returned value denied. A change that no fast test of that
file notices has survived; tests/mutation_survivors.md explains those that change nothing that
matters. With less time than changes an even selection is tried, always the same one.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 1200.0
LONGEST_S = 60.0  # a change that makes the tests hang has been noticed
STRIDE = 7
EXAMPLES = 25  # of a property, so that one run takes seconds
SURVIVORS = "tests/mutation_survivors.md"

TESTS: dict[str, list[str]] = {
    "armlabd/bus/frames.py": ["tests/bus/test_frames.py"],
    "armlabd/motion/latch.py": ["tests/motion/test_latch.py"],
    "armlabd/motion/button.py": ["tests/motion/test_button.py"],
    "armlabd/motion/guard.py": ["tests/motion/test_guard.py", "tests/motion/test_guard_exact.py"],
    "armlabd/motion/fence.py": ["tests/motion/test_fence.py"],
    "armlabd/arm/body.py": ["tests/arm/test_body.py", "tests/motion/test_fence.py"],
}
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Change(NamedTuple):
    """One mutation: the file, the line, what it does in words, and the whole changed source."""

    file: str
    line: int
    what: str
    source: str


def changes_of(file: str) -> list[Change]:
    """Every mutation of one file, in order of its lines."""
    text = (ROOT / file).read_text()
    found = []
    for number in range(sum(1 for _ in _places(ast.parse(text)))):
        tree = ast.parse(text)
        node, what, apply = next(p for k, p in enumerate(_places(tree)) if k == number)
        apply()
        source = ast.unparse(ast.fix_missing_locations(tree))
        found.append(Change(file, getattr(node, "lineno", 0), what, source))
    return sorted(found, key=lambda change: (change.line, change.what))


Place = tuple[ast.AST, str, Callable[[], None]]


def _places(tree: ast.Module) -> Iterator[Place]:
    """Where a change is possible. Texts, types and annotations are left alone."""
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            for index, operator in enumerate(node.ops):
                other = TURNED[type(operator)]
                name = f"{type(operator).__name__} -> {other.__name__}"
                yield node, name, lambda n=node, i=index, o=other: n.ops.__setitem__(i, o())  # type: ignore[misc]
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
            swapped = SWAPPED[type(node.op)]
            name = f"{type(node.op).__name__} -> {swapped.__name__}"
            yield node, name, lambda n=node, o=swapped: setattr(n, "op", o())  # type: ignore[misc]
        elif isinstance(node, ast.BoolOp):
            to = ast.Or if isinstance(node.op, ast.And) else ast.And
            name = f"{type(node.op).__name__} -> {to.__name__}"
            yield node, name, lambda n=node, o=to: setattr(n, "op", o())  # type: ignore[misc]
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node, "condition denied", lambda n=node: setattr(n, "test", _denied(n.test))  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and (one := _one_off(node.value)) is not None:
            yield node, f"{node.value!r} -> {one}", lambda n=node, v=one: setattr(n, "value", v)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            not_so = not node.value
            yield node, f"not {node.value}", lambda n=node, v=not_so: setattr(n, "value", v)  # type: ignore[misc]
        elif isinstance(node, ast.Return) and node.value is not None:
            yield node, "return denied", lambda n=node: setattr(n, "value", _denied(n.value))  # type: ignore[misc]


def _one_off(value: object) -> float | None:
    return value + 1 if type(value) is int or type(value) is float else None


def _denied(value: ast.expr | None) -> ast.expr:
    assert value is not None
    return ast.UnaryOp(ast.Not(), value)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that do something: no annotations, no sentences."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from _code(child)


def make_copy(folder: Path) -> Path:
    """What the tests need, without environment and history."""
    for name in ("armlabd", "tests", "pyproject.toml", "config.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    for file in {file for files in TESTS.values() for file in files}:
        text = (folder / file).read_text()
        (folder / file).write_text(re.sub(r"max_examples=\d+", f"max_examples={EXAMPLES}", text))
    return folder


def survives(change: Change, folder: Path) -> bool:
    """True when the file's tests pass with the change in it."""
    target = folder / change.file
    before = target.read_text()
    target.write_text(change.source)
    try:
        return run_tests(change.file, folder)
    finally:
        target.write_text(before)


def run_tests(file: str, folder: Path) -> bool:
    """Whether the fast tests of a file pass in a copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "no:randomly", f"--rootdir={folder}", *TESTS[file]]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def selection(changes: list[Change], count: int) -> list[Change]:
    """`count` of the changes, spread evenly and in such an order that any first part is too."""
    some = changes
    if count < len(changes):
        some = [changes[k * len(changes) // count] for k in range(count)]
    return [some[k] for stride in range(STRIDE) for k in range(stride, len(some), STRIDE)]


def main() -> int:
    """Try the changes within the time; 1 when one survived that is not explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for all of it")
    parser.add_argument("--only", choices=sorted(TESTS), action="append", help="this file alone")
    arguments = parser.parse_args()
    files = arguments.only or list(TESTS)
    workers = max(1, len(os.sched_getaffinity(0)))
    survivors: list[Change] = []
    with tempfile.TemporaryDirectory(prefix="armlabd-mutation-") as base:
        folders = [make_copy(Path(base) / str(number)) for number in range(workers)]
        until_s = time.monotonic() + arguments.seconds
        for place, file in enumerate(files):
            began_s = time.monotonic()
            if not run_tests(file, folders[0]):
                print(f"{file}: its tests fail as it is; nothing was tried.")
                return 1
            one_s = (time.monotonic() - began_s) / workers
            all_of_them = changes_of(file)
            share_s = max(0.0, until_s - time.monotonic()) / (len(files) - place)
            chosen = selection(all_of_them, max(1, int(share_s / one_s)))
            tried, lived = _try(chosen, folders, time.monotonic() + share_s)
            survivors += lived
            print(
                f"{file}: {tried - len(lived)} of {tried} changes noticed"
                f" ({len(all_of_them)} possible), {len(lived)} survived.",
                flush=True,
            )
    return report(survivors)


def _try(chosen: list[Change], folders: list[Path], until_s: float) -> tuple[int, list[Change]]:
    """How many were tried in time, and the survivors; each worker with a copy of its own."""

    def some(number: int) -> list[tuple[Change, bool]]:
        done = []
        for change in chosen[number :: len(folders)]:
            if time.monotonic() >= until_s:
                break
            done.append((change, survives(change, folders[number])))
        return done

    with ThreadPoolExecutor(len(folders)) as pool:
        tried = [one for part in pool.map(some, range(len(folders))) for one in part]
    return len(tried), [change for change, lived in tried if lived]


def report(survivors: list[Change]) -> int:
    """List the survivors; those explained by their line's text do not count."""
    known = (ROOT / SURVIVORS).read_text() if (ROOT / SURVIVORS).exists() else ""
    new = 0
    for change in sorted(survivors):
        line = (ROOT / change.file).read_text().splitlines()[change.line - 1].strip()
        explained = f"`{line}`" in known
        new += not explained
        mark = "explained" if explained else "SURVIVED "
        print(f"{mark} {change.file}:{change.line}: {change.what}: {line}")
    print(f"{len(survivors)} survived, {new} of them not explained in {SURVIVORS}.")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
