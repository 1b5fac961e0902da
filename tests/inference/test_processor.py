"""transformers' processor works where there is no torch, and gives the pixels that were published.

The figures: LANCZOS to the longest edge and then to the square, (value / 255 - 0.5) / 0.5.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from questions import picture

WITHOUT_TORCH = textwrap.dedent("""
    import sys
    for name in ("torch", "torchvision", "tensorflow", "jax", "flax"):
        sys.modules[name] = None  # an import of it fails, installed or not
    import io, json
    from pathlib import Path
    import numpy as np
    from PIL import Image
    from armlabd.inference.folder import look_at
    from armlabd.inference.prompt import Prompter
    from armlabd.inference.settings import WorkerSettings

    folder = sys.argv[1]
    data = Path(sys.argv[2]).read_bytes()
    prompter = Prompter(look_at(WorkerSettings(folder, "tiny")), 1)
    prompt = prompter.prompt("You see.", "what is there?", [data])
    side = prompt.pixels.shape[-1]
    image = Image.open(io.BytesIO(data)).convert("RGB")
    image = image.resize((side, side * 3 // 4), Image.LANCZOS).resize((side, side), Image.LANCZOS)
    wanted = (np.asarray(image, np.float32).transpose(2, 0, 1) / 255 - 0.5) / 0.5
    print(json.dumps({
        "shape": prompt.pixels.shape,
        "off": float(np.abs(prompt.pixels[0, 0] - wanted).max()),
        "seen": bool(prompt.pixel_mask.all()),
        "text": prompter.decoded(prompt.tokens),
        "torch": sorted(name for name, module in sys.modules.items()
                        if module is not None and name.split(".")[0].startswith("torch")),
    }))
""")


def second_generation(folder: Path, copy: Path) -> Path:
    """The same with the files of SmolVLM2, whose own processor would need torch."""
    shutil.copytree(folder, copy)
    for name, changes in (
        ("config.json", {"model_type": "smolvlm"}),
        ("processor_config.json", {"processor_class": "SmolVLMProcessor"}),
        (
            "preprocessor_config.json",
            {
                "processor_class": "SmolVLMProcessor",
                "image_processor_type": "SmolVLMImageProcessor",
                "video_sampling": {"fps": 1, "max_frames": 64, "video_size": {"longest_edge": 64}},
            },
        ),
    ):
        path = copy / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return copy


@pytest.mark.parametrize("generation", [1, 2])
def test_the_processor_works_without_torch(
    generation: int, tiny_folder: Path, tmp_path: Path
) -> None:
    folder = tiny_folder if generation == 1 else second_generation(tiny_folder, tmp_path / "two")
    shown = tmp_path / "picture.png"
    shown.write_bytes(picture())
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(folder), str(shown)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["shape"] == [1, 1, 3, 64, 64]
    assert found["off"] < 1e-5
    assert found["seen"] is True
    assert found["torch"] == []
    assert found["text"] == (
        "<|im_start|>System: You see.<end_of_utterance>\n"
        "User:<fake_token_around_image><global-img><image><image><image><image>"
        "<fake_token_around_image>what is there?<end_of_utterance>\nAssistant:"
    )
