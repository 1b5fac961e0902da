"""The goal suite with models in the worker: random weights and SmolLM2. They may cost time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tiny import build_tiny

from armlabd.bench.planner import Suite, measure
from armlabd.bench.subjects import Subject

LIMIT = int(os.environ.get("ARMLABD_SUITE_LIMIT", "0"))  # goals of SmolLM2; 0 = all
SECOND = 60  # goals of the second form


@pytest.mark.parametrize("form", ["skills", "tools"])
def test_random_weights_do_no_harm_in_the_whole_suite(tmp_path: Path, form: str) -> None:
    folder = build_tiny(tmp_path / "tiny", vision=False)
    subject = Subject(f"smolvlm:{folder}", form, temperature=1.0)
    told = measure(Suite(subject, limit=SECOND if form == "tools" else 0))
    sys.stdout.write("\n".join((*told.lines(), "")))
    assert told.held, told.lines()


def test_smollm2_does_no_harm_in_the_suite(smollm2: Path) -> None:
    told = measure(Suite(Subject(f"smolvlm:{smollm2}"), limit=LIMIT))
    sys.stdout.write("\n".join((*told.lines(), "")))
    assert told.held, told.lines()
