"""The daemon pays for no model library: neither it nor its side of inference imports one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2] / "armlabd"
HEAVY = {
    "onnxruntime",
    "transformers",
    "tokenizers",
    "llguidance",
    "PIL",
    "huggingface_hub",
    "jinja2",
    "torch",
    "onnx",
}
# what the worker and `armlabd models fetch` import; everything else may be in the daemon
APART = {"engine", "generate", "graphs", "mask", "prompt", "worker", "fetch"}
ROOMS = ("daemon", "doors", "execute", "check", "plan", "gate", "perceive", "record", "config")


def modules() -> list[str]:
    found = [
        path
        for room in (*ROOMS, "inference")
        for path in sorted((ROOT / room).rglob("*.py"))
        if room != "inference" or path.stem not in APART
    ]
    return [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in found]


def loaded_by(imports: list[str]) -> set[str]:
    code = "\n".join([f"import {name}" for name in imports] + ["import sys; print(*sys.modules)"])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_daemon_imports_no_model_library() -> None:
    names = modules()
    assert "armlabd.inference.smolvlm" in names
    assert "armlabd.daemon.house" in names
    assert loaded_by(names) & HEAVY == set()


def test_the_check_itself_sees_the_engine() -> None:
    assert loaded_by(["armlabd.inference.engine"]) >= {"onnxruntime", "llguidance", "PIL"}
