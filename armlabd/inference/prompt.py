"""A question as the tokens and tiles a model was made for: transformers' processor and template.

Text of a question is data: a special token's name in it is taken apart, so that it can neither end
the question nor stand for a picture. Imported only in the worker.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from armlabd.inference.backend import ModelError
from armlabd.inference.folder import Folder, broken
from armlabd.inference.graphs import Array
from armlabd.verdict import Code

MAX_PIXELS = 40_000_000  # of one picture, before it is scaled down
FORMATS = ("PNG", "JPEG")


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens of a question and the tiles of its pictures: [1, n, 3, side, side] and its mask."""

    tokens: list[int]
    pixels: Array | None = None
    pixel_mask: Array | None = None


class Prompter:
    """Makes prompts with the files of one folder."""

    def __init__(self, folder: Folder, tiles: int) -> None:
        self._folder, self._tiles = folder, tiles
        try:
            self._processor, self._tokenizer = _made(folder)
        except Exception as error:  # transformers raises whatever it met
            raise broken(
                f"The processor files in {folder.path} cannot be used ({str(error)[:300]}). Fetch "
                "the model anew."
            ) from error
        self._special = [str(token) for token in self._tokenizer.all_special_tokens] + [
            token.content
            for token in self._tokenizer.added_tokens_decoder.values()
            if token.special
        ]

    def prompt(self, system: str, text: str, images: Sequence[bytes]) -> Prompt:
        """The whole question. Raises ModelError(OUT_OF_RANGE) for pictures it cannot take."""
        if images and not self._folder.sees:
            raise ModelError(
                Code.OUT_OF_RANGE,
                "This model reads text only (its folder has no vision_encoder): choose a model "
                "that takes pictures, or ask without one.",
            )
        pictures = [opened(image) for image in images]
        system, text = self._plain(system), self._plain(text)
        if not self._folder.sees:
            return Prompt(self._text_tokens(system, text))
        return self._seeing(system, text, pictures)

    def decoded(self, tokens: list[int]) -> str:
        """The text of an answer."""
        text = self._tokenizer.decode(tokens, skip_special_tokens=False)
        return str(text)

    def _plain(self, text: str) -> str:
        """The text with special tokens' names taken apart by a space, and no half letters."""
        text = text.encode(errors="replace").decode()
        found = True
        while found:
            found = False
            for token in self._special:
                if token and token in text:
                    text, found = text.replace(token, f"{token[0]} {token[1:]}"), True
        return text

    def _text_tokens(self, system: str, text: str) -> list[int]:
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": text})
        whole = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return [int(token) for token in self._tokenizer(whole, add_special_tokens=False).input_ids]

    def _seeing(self, system: str, text: str, pictures: list[Image.Image]) -> Prompt:
        parts = [*({"type": "image"} for _ in pictures), {"type": "text", "text": text}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": parts}]
        if system:
            said = [{"type": "text", "text": system}]
            messages.insert(0, {"role": "system", "content": said})
        whole = self._processor.apply_chat_template(messages, add_generation_prompt=True)
        if not pictures:
            plain = self._tokenizer(whole, add_special_tokens=False).input_ids
            return Prompt([int(token) for token in plain])
        made = self._processor(
            text=whole,
            images=pictures,
            return_tensors="np",
            add_special_tokens=False,
            **self._splitting(),
        )
        tokens = [int(token) for token in made["input_ids"][0]]
        return Prompt(tokens, made["pixel_values"], made["pixel_attention_mask"])

    def _splitting(self) -> dict[str, Any]:
        """No splitting by default; else the largest square of tiles that the setting allows."""
        side = math.isqrt(max(self._tiles - 1, 0))
        tile = self._folder.numbers.image or 512
        if side < 2:  # without a size of its own it would be blown up to 2048 px and shrunk again
            return {"do_image_splitting": False, "size": {"longest_edge": tile}}
        return {"do_image_splitting": True, "size": {"longest_edge": side * tile}}


def _made(folder: Folder) -> tuple[Any, Any]:
    """Processor and tokenizer; for a text model the tokenizer only."""
    from transformers import AutoTokenizer, Idefics3Processor

    if not folder.sees:
        return None, AutoTokenizer.from_pretrained(folder.path, local_files_only=True)
    processor = Idefics3Processor.from_pretrained(folder.path, local_files_only=True)
    return processor, processor.tokenizer


def opened(picture: bytes) -> Image.Image:
    """A picture as RGB. Raises ModelError(OUT_OF_RANGE) for what is none."""
    try:
        image = Image.open(io.BytesIO(picture), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise ModelError(
                Code.OUT_OF_RANGE,
                f"The picture has {image.width} x {image.height} pixels; at most {MAX_PIXELS} are "
                "taken.",
            )
        return image.convert("RGB")
    except ModelError:
        raise
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise ModelError(
            Code.OUT_OF_RANGE, f"The picture is no whole PNG or JPEG ({str(error)[:200]})."
        ) from error


def merged(embeddings: Array, tokens: list[int], image_token: int, features: Array) -> Array:
    """Embeddings with the pictures' features in place of their tokens. Raises ModelError."""
    places = np.array(tokens) == image_token
    if int(places.sum()) != len(features):
        raise ModelError(
            Code.NO_MODEL,
            f"The prompt has room for {int(places.sum())} picture tokens, the vision_encoder gave "
            f"{len(features)}: the files belong to different models. Fetch the model anew.",
        )
    embeddings = embeddings.copy()
    embeddings[0, places] = features
    return embeddings
