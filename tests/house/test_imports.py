"""The tower: every room imports only what lies below it. A room may not know its neighbours."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "armlabd"
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"verdict", "table", "clock", "durable"}),
    frozenset({"bus", "arm", "inference", "record", "config"}),
    frozenset({"motion", "perceive", "sim"}),
    frozenset({"gate"}),
    frozenset({"plan"}),
    frozenset({"check"}),
    frozenset({"execute"}),
    frozenset({"doors", "doctor"}),
    frozenset({"daemon"}),
    frozenset({"bench"}),
    frozenset({"cli"}),
)
BOTTOM = FLOORS[0]
NARROWER = {
    "motion": BOTTOM | {"bus", "arm"},
    "sim": BOTTOM | {"bus"},
    "bus": BOTTOM,
    "arm": BOTTOM,
    "inference": BOTTOM,
    "record": BOTTOM,
    "config": BOTTOM,
}
ONLY_FOR = {"sim": {"daemon", "cli", "bench"}}
SIM_SEES_OF_BUS = {"armlabd.bus.frames", "armlabd.bus.registers"}
OUTSIDE = {  # third-party package -> rooms that may import it
    "aiohttp": {"doors", "cli", "daemon", "bench", "inference"},
    "pydantic": {"config", "doors"},
    "pydantic_core": {"config"},
    "cv2": {"perceive", "sim"},
    "numpy": {"perceive", "sim", "inference", "bench"},
    "onnxruntime": {"inference"},
    "transformers": {"inference"},
    "llguidance": {"inference"},
    "tokenizers": {"inference"},
    "PIL": {"inference"},
    "onnx": {"bench"},
    "huggingface_hub": {"inference"},
    "serial": {"bus"},
    "rich": {"cli"},
    "gpiod": {"motion"},
    "systemd": {"daemon"},
    "zeroconf": {"daemon"},
    "ifaddr": {"daemon"},
}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "top"


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            if node.module == "armlabd":
                found |= {f"armlabd.{alias.name}" for alias in node.names}
    return found


def modules() -> list[tuple[str, Path]]:
    return [
        (".".join(path.relative_to(ROOT.parent).with_suffix("").parts), path)
        for path in sorted(ROOT.rglob("*.py"))
    ]


def allowed_for(room: str) -> frozenset[str] | set[str]:
    if room in NARROWER:
        return NARROWER[room] | {room}
    floor = next(i for i, rooms in enumerate(FLOORS) if room in rooms)
    return set().union(*FLOORS[:floor]) | {room}


def faults_of(module: str, imported: set[str]) -> list[str]:
    room = room_of(module)
    faults = []
    for name in sorted(imported):
        top = name.split(".")[0]
        if top in OUTSIDE and room not in OUTSIDE[top]:
            faults.append(f"{module} imports {top}, which is for {sorted(OUTSIDE[top])}")
        target = room_of(name) if top == "armlabd" and name != "armlabd" else None
        if target is None or target == room or target == "__version__":
            continue
        if target not in allowed_for(room):
            faults.append(f"{module} imports {name}: not below {room}")
        if target in ONLY_FOR and room not in ONLY_FOR[target]:
            faults.append(f"{module} imports {name}: only for {sorted(ONLY_FOR[target])}")
        if room == "sim" and target == "bus" and name not in SIM_SEES_OF_BUS:
            faults.append(f"{module} imports {name}: sim sees frames and registers only")
    return faults


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: str(value)[-40:])
def test_every_module_imports_only_downward(module: str, path: Path) -> None:
    if room_of(module) in {"top", "__init__", "__main__"}:
        return
    assert faults_of(module, imports_of(path)) == []


def test_every_room_stands_on_a_floor() -> None:
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert rooms <= set().union(*FLOORS)


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("armlabd.motion.core", "armlabd.gate.session"),
        ("armlabd.motion.core", "armlabd.config"),
        ("armlabd.sim.world", "armlabd.arm.kinematics"),
        ("armlabd.sim.bus", "armlabd.bus.master"),
        ("armlabd.gate.session", "armlabd.sim.world"),
        ("armlabd.plan.rules", "armlabd.check.checker"),
        ("armlabd.motion.core", "numpy"),
        ("armlabd.execute.runs", "aiohttp"),
    ],
)
def test_the_check_itself_sees_a_wrong_import(module: str, imported: str) -> None:
    assert faults_of(module, {imported}) != []
