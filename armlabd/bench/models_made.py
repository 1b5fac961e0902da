"""A model folder of the public SmolVLM layout with weights by chance, made in seconds.

What the bench measures memory on and the tests load: no weights are shipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from armlabd.bench.seeinggraph import save_seeing
from armlabd.bench.shapes import TINY, RandomWeights, Shape
from armlabd.bench.textgraphs import save_decoder, save_embedding
from armlabd.bench.tokenizers_made import END, IMAGE, save_tokenizer, special_ids


def save_model(
    folder: Path, shape: Shape = TINY, *, seeing: bool = True, seed: int = 0, int8: bool = False
) -> Path:
    """Write all files of a model; int8 ones get the suffix `_int8`. Returns the folder."""
    graphs, suffix = folder / "onnx", "_int8" if int8 else ""
    graphs.mkdir(parents=True, exist_ok=True)
    weights = RandomWeights(seed)
    save_embedding(graphs / f"embed_tokens{suffix}.onnx", shape, weights, int8=int8)
    save_decoder(graphs / f"decoder_model_merged{suffix}.onnx", shape, weights, int8=int8)
    if seeing:
        save_seeing(graphs / f"vision_encoder{suffix}.onnx", shape, weights, int8=int8)
        _save_pictures(folder, shape)
    save_tokenizer(folder, shape.vocabulary, seeing=seeing)
    save_config(folder, shape, seeing=seeing)
    return folder


def save_config(folder: Path, shape: Shape, *, seeing: bool, end: int | None = None) -> None:
    """config.json and generation_config.json; `end` is the token that ends an answer."""
    ids = special_ids(shape.vocabulary)
    if end is None:
        end = ids[END] if seeing else ids["<|im_end|>"]
    text = text_config(shape)
    whole: dict[str, Any] = {"model_type": "llama", **text}
    if seeing:
        whole = {
            "model_type": "idefics3",
            "image_token_id": ids[IMAGE],
            "scale_factor": shape.shuffle,
            "text_config": {"model_type": "llama", **text},
            "vision_config": {
                "hidden_size": shape.seeing_hidden,
                "image_size": shape.image,
                "patch_size": shape.patch,
                "num_attention_heads": shape.seeing_heads,
                "num_hidden_layers": shape.seeing_layers,
                "intermediate_size": shape.seeing_inner,
            },
        }
    (folder / "config.json").write_text(json.dumps(whole, indent=2))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": end}))


def text_config(shape: Shape) -> dict[str, Any]:
    """The text part of config.json."""
    return {
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.positions,
        "rope_theta": shape.rope_base,
    }


def _save_pictures(folder: Path, shape: Shape) -> None:
    pictures = {
        "image_processor_type": "Idefics3ImageProcessor",
        "processor_class": "Idefics3Processor",
        "do_convert_rgb": True,
        "do_image_splitting": True,
        "do_normalize": True,
        "do_pad": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "max_image_size": {"longest_edge": shape.image},
        "resample": 1,
        "rescale_factor": 1 / 255,
        "size": {"longest_edge": 4 * shape.image},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(pictures))
    processor = {"image_seq_len": shape.tile_tokens, "processor_class": "Idefics3Processor"}
    (folder / "processor_config.json").write_text(json.dumps(processor))
