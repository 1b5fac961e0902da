"""A byte-level tokenizer of any size, with SmolVLM's special tokens, as its JSON files."""

from __future__ import annotations

import itertools
import json
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FIRST = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
ROWS = 6  # a picture is cut into at most six rows of six tiles
IMAGE = "<image>"
END = "<end_of_utterance>"
LAST = (
    "<fake_token_around_image>",
    "<global-img>",
    *(f"<row_{row}_col_{column}>" for row in range(1, ROWS + 1) for column in range(1, ROWS + 1)),
    IMAGE,
    END,
)
WORDS = ('{"', '":', '","', '"}', "the", "put", "block", "red", "bin", "in", "pick", "place")
CHAT_SEEING = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}"
    "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}"
    "{% elif part['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}"
    "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
CHAT_TEXT = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def alphabet() -> list[str]:
    """The 256 letters that stand for bytes (the published byte-level alphabet), by byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def merges(count: int) -> list[tuple[str, str]]:
    """`count` pairs that become one token: some words letter by letter, then made-up syllables."""
    made: dict[str, tuple[str, str]] = {}
    for word in WORDS:
        for end in range(2, len(word) + 1):
            made.setdefault(word[:end], (word[: end - 1], word[end - 1]))
    pairs = ["".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2)]
    for pair in pairs:
        made.setdefault(pair, (pair[0], pair[1]))
    for left, right in itertools.product(pairs, repeat=2):
        if len(made) >= count:
            break
        made.setdefault(left + right, (left, right))
    return list(made.values())[:count]


def special_ids(vocabulary: int) -> dict[str, int]:
    """The special tokens' numbers: three at the front, the others at the end."""
    start = vocabulary - len(LAST)
    last = {token: start + index for index, token in enumerate(LAST)}
    return {token: index for index, token in enumerate(FIRST)} | last


def tokenizer_json(vocabulary: int) -> dict[str, Any]:
    """The content of tokenizer.json for a model whose logits are `vocabulary` wide."""
    pairs = merges(vocabulary - len(FIRST) - 256 - len(LAST))
    words = [*FIRST, *alphabet(), *("".join(pair) for pair in pairs)]
    numbered = {word: number for number, word in enumerate(words)}
    return layout(numbered, pairs, special_ids(vocabulary))


def layout(
    words: Mapping[str, int], pairs: Iterable[tuple[str, ...]], special: Mapping[str, int]
) -> dict[str, Any]:
    """A byte-level tokenizer in the form of the `tokenizers` library, digits one by one."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    digits = {"type": "Digits", "individual_digits": True}
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": dict(words),
        "merges": [list(pair) for pair in pairs],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": token, **flags, "special": True}
            for token, number in special.items()
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [digits, {**level, "use_regex": True}],
        },
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": model,
    }


def save_tokenizer(folder: Path, vocabulary: int, *, seeing: bool) -> None:
    """tokenizer.json, its settings and the chat template."""
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(vocabulary)))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": END if seeing else "<|im_end|>",
        "pad_token": "<|im_end|>",
        "unk_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
    }
    if not seeing:
        settings["chat_template"] = CHAT_TEXT
    else:
        (folder / "chat_template.jinja").write_text(CHAT_SEEING)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
