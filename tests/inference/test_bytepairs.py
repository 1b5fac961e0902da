"""Our count of tokens is that of the tokenizer library, whatever the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from armlabd.bench.tokenizers_made import tokenizer_json
from armlabd.inference.bytepairs import BytePairs

VOCABULARY = 2048


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[BytePairs, tokenizers.Tokenizer]:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(VOCABULARY)))
    ours = BytePairs.read(path)
    assert ours is not None
    theirs = tokenizers.Tokenizer.from_file(str(path))
    theirs.encode_special_tokens = True
    return ours, theirs


@pytest.mark.parametrize(
    "text",
    [
        "",
        "put the red block in the bin",
        '{"steps":[{"skill":"pick_and_place","object":"red block"}]}',
        "it's  we'll   \n\n  don't\t x 12 345.6 ½ ² ٣ \u3000 \x1c\x85 a\u0301 红色方块 räume 🤖!?",
        " leading and trailing  ",
    ],
)
def test_texts_of_every_kind(text: str, both: tuple[BytePairs, tokenizers.Tokenizer]) -> None:
    ours, theirs = both
    assert ours.count(text) == len(theirs.encode(text, add_special_tokens=False).ids)


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(text: str, both: tuple[BytePairs, tokenizers.Tokenizer]) -> None:
    ours, theirs = both
    assert ours.count(text) == len(theirs.encode(text, add_special_tokens=False).ids)


@given(text=st.text(alphabet="adehinprtu1 '\n\"{}:,.", max_size=80))
def test_words_and_signs(text: str, both: tuple[BytePairs, tokenizers.Tokenizer]) -> None:
    ours, theirs = both
    assert ours.count(text) == len(theirs.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"model": {"type": "Unigram"}}'])
def test_a_tokenizer_of_another_kind_is_not_counted_with(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    assert BytePairs.read(path) is None
    assert BytePairs.read(tmp_path / "missing.json") is None
