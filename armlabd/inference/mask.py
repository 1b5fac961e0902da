"""Which token may come next: the schema of a question as a mask over the vocabulary.

llguidance works it out. What the schema leaves no choice about comes as forced tokens. Imported
only in the worker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import llguidance
import numpy as np
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from numpy.typing import NDArray

from armlabd.inference.backend import ModelError
from armlabd.inference.folder import broken
from armlabd.verdict import Code

COMPACT: Any = {"whitespace_flexible": False}  # else small models spend half their tokens on spaces


class Masks:
    """Makes a mask for each question; the tokenizer is prepared once (0.2 s for 49,280 tokens)."""

    def __init__(self, tokenizer: Path, vocabulary: int, ends: tuple[int, ...]) -> None:
        self.vocabulary, self.ends = vocabulary, ends
        try:
            text = tokenizer.read_text(encoding="utf-8")
            self._tokens = llguidance.LLTokenizer(text, n_vocab=vocabulary, eos_token=list(ends))
        except Exception as error:  # a Rust library: ValueError or a panic that it turned into one
            raise broken(f"{tokenizer} cannot be used ({str(error)[:300]}).") from error

    def of(self, schema: Mapping[str, Any]) -> Mask:
        """The mask of a schema. Raises ModelError for one with parts that it does not know."""
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(
                json.dumps(schema), overrides=COMPACT
            )
            matcher = llguidance.LLMatcher(self._tokens, grammar)
            fault = matcher.get_error()
        except Exception as error:
            fault = str(error)
        if fault:
            raise ModelError(
                Code.OUT_OF_RANGE,
                f"The schema of the question cannot be made a mask: {fault[:300]}.",
            )
        return Mask(matcher, self.vocabulary)


class Mask:
    """The way through one answer."""

    def __init__(self, matcher: Any, vocabulary: int) -> None:
        self._matcher, self._vocabulary = matcher, vocabulary
        self._bits = allocate_token_bitmask(1, vocabulary)

    @property
    def ended(self) -> bool:
        """True when nothing more may come."""
        return bool(self._matcher.is_stopped())

    def allowed(self) -> NDArray[np.bool_]:
        """For each token, whether it may come next."""
        fill_next_token_bitmask(self._matcher, self._bits, 0)
        bits = np.unpackbits(self._bits[0].view(np.uint8), bitorder="little")
        return bits[: self._vocabulary].view(np.bool_)

    def take(self, token: int) -> None:
        """The token that was chosen. Raises ModelError when the mask gives up."""
        self._matcher.consume_token(token)
        self._fault()

    def forced(self) -> list[int]:
        """Tokens that must come next whatever the model thinks; they are taken at once."""
        tokens = [int(token) for token in self._matcher.compute_ff_tokens()]
        if tokens:
            self._matcher.consume_tokens(tokens)
            self._fault()
        return tokens

    def _fault(self) -> None:
        if self._matcher.is_error():
            fault = self._matcher.get_error()
            raise ModelError(Code.MODEL_ANSWER, f"The mask gave up: {fault[:300]}.")
