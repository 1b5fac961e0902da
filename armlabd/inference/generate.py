"""An answer, token by token: the prompt in chunks, then one pass for each token that is a choice.

Forced tokens are fed together with the choice before them. Imported only in the worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime as ort

from armlabd.inference.backend import ModelError
from armlabd.inference.graphs import KEEP, Array, Graphs
from armlabd.inference.mask import Mask
from armlabd.inference.memory import lacking
from armlabd.verdict import Code

CHUNK = 128  # tokens; a chunk's logits are 25 MB for 49,280 tokens, and it bounds a cancel's wait


class Cancelled(Exception):
    """The question was taken back."""


class Halt:
    """How a generation is ended from another thread, or by its limit."""

    def __init__(self, answer_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.options = ort.RunOptions()
        self._cancelled = False
        self._clock, self._until_s, self._answer_s = clock, clock() + answer_s, answer_s

    def cancel(self) -> None:
        """End it: a running pass stops within milliseconds."""
        self._cancelled = True
        self.options.terminate = True

    def look(self) -> None:
        """Raises Cancelled, or ModelError(MODEL_TIMEOUT)."""
        if self._cancelled:
            raise Cancelled
        if self._clock() > self._until_s:
            raise ModelError(
                Code.MODEL_TIMEOUT,
                f"The model did not end its answer within {self._answer_s:g} s. Raise the limit, "
                "or use a smaller model.",
            )


@dataclass
class Written:
    """What was written so far, and what it cost."""

    tokens: list[int] = field(default_factory=list)
    forced: int = 0
    steps: int = 0
    whole: bool = False
    mask_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Begun:
    """A cache of `length` tokens that begins with `tokens`.

    Only whole chunks are used again: then every pass is the one that a fresh start would make, and
    so is the answer, also with int8 graphs, whose figures depend on what is computed together.
    """

    tokens: list[int]
    length: int
    past: dict[str, Any]

    def of(self, tokens: list[int]) -> Begun | None:
        """The part that a prompt shares, at least its last token left to read; None for none."""
        alike = 0
        for ours, theirs in zip(self.tokens, tokens[:-1], strict=False):
            if ours != theirs:
                break
            alike += 1
        alike -= alike % CHUNK
        if not alike:
            return None
        past = {
            name: _value(np.ascontiguousarray(value.numpy()[:, :, :alike]))
            for name, value in self.past.items()
        }
        return Begun(tokens[:alike], alike, past)


class Decoder:
    """The decoder with its cache: fed embeddings, it gives the logits of the last one."""

    def __init__(self, graphs: Graphs, halt: Halt, begun: Begun | None = None) -> None:
        self._graphs, self._halt = graphs, halt
        self._past = graphs.cache.empty() if begun is None else begun.past
        self._length = 0 if begun is None else begun.length
        names = [present for _, present in graphs.cache.pairs]
        self._wanted = ["logits", *names]

    def feed(self, embeddings: Array) -> Array:
        """Embeddings [1, n, hidden] in chunks; the last row of logits. Raises Cancelled."""
        last: Array | None = None
        for start in range(0, embeddings.shape[1], CHUNK):
            last = self._pass(embeddings[:, start : start + CHUNK])
        assert last is not None
        return last

    def begun(self, tokens: list[int]) -> Begun:
        """What was read of a prompt, for a later one that begins alike."""
        return Begun(tokens, self._length, self._past)

    def _pass(self, embeddings: Array) -> Array:
        new = embeddings.shape[1]
        total = self._length + new
        given = {
            "inputs_embeds": _value(np.ascontiguousarray(embeddings)),
            "attention_mask": _value(np.ones((1, total), np.int64)),
            "position_ids": _value(np.arange(self._length, total, dtype=np.int64)[None]),
            **self._past,
        }
        if self._graphs.keeps_rows:
            given[KEEP] = _value(np.array(1, np.int64))
        out = run(self._graphs.decoder, self._wanted, given, self._halt)
        pairs = self._graphs.cache.pairs
        self._past = {past: value for (past, _), value in zip(pairs, out[1:], strict=True)}
        self._length = total
        logits: Array = out[0].numpy()[0, -1]
        return logits


def _value(array: Array) -> Any:
    return ort.OrtValue.ortvalue_from_numpy(array)


def run(session: Any, wanted: list[str], given: dict[str, Any], halt: Halt) -> list[Any]:
    """One pass. Raises Cancelled when it was ended, ModelError when it failed."""
    halt.look()
    try:
        found: list[Any] = session.run_with_ort_values(wanted, given, halt.options)
    except Exception as error:  # onnxruntime's errors share no base but Exception
        halt.look()
        raise run_error(error) from error
    return found


def run_error(error: Exception) -> ModelError:
    """What onnxruntime said about a pass, in words."""
    said = str(error).strip()[:300]
    if lacking(error):
        return ModelError(
            Code.MODEL_MEMORY,
            f"The memory did not suffice to answer ({said}). Use a smaller variant or model.",
        )
    return ModelError(Code.MODEL_LOST, f"The model could not be run: {said}. Fetch it anew.")


def embedded(graphs: Graphs, tokens: list[int], halt: Halt) -> Array:
    """The embeddings of tokens, [1, n, hidden]."""
    ids = _value(np.array([tokens], np.int64))
    out: Array = run(graphs.embedding, ["inputs_embeds"], {"input_ids": ids}, halt)[0].numpy()
    if out.shape != (1, len(tokens), graphs.hidden):
        raise ModelError(
            Code.NO_MODEL, f"embed_tokens gave {out.shape} for {len(tokens)} tokens: fetch it anew."
        )
    return out


def seen(graphs: Graphs, pixels: Array, mask: Array, halt: Halt) -> Array:
    """The features of tiles, [n, tokens, hidden]. One tile at a time: that halves the peak."""
    assert graphs.seeing is not None
    rows = []
    for index in range(pixels.shape[1]):
        tile = pixels[:, index : index + 1].astype(graphs.pixel_type, copy=False)
        given = {
            "pixel_values": _value(np.ascontiguousarray(tile)),
            "pixel_attention_mask": _value(
                np.ascontiguousarray(mask[:, index : index + 1], dtype=np.bool_)
            ),
        }
        found = run(graphs.seeing, ["image_features"], given, halt)[0].numpy()
        rows.append(found.reshape(-1, graphs.hidden))
    return np.concatenate(rows)


class Chooser:
    """Takes the likeliest allowed token, or, with a temperature, one by chance."""

    def __init__(self, temperature: float, seed: int) -> None:
        self._temperature, self._random = temperature, np.random.default_rng(seed)

    def choose(self, logits: Array, allowed: Array) -> int:
        """One token. Raises ModelError when the figures are none."""
        scores = np.where(allowed, logits, -np.inf)
        best = int(scores.argmax())
        if not np.isfinite(scores[best]):
            raise ModelError(
                Code.MODEL_ANSWER,
                "The model computes no numbers (NaN or infinity): its files are damaged, or this "
                "variant does not suit the processor. Use another variant.",
            )
        if self._temperature <= 0:
            return best
        spread = (scores - scores[best]).astype(np.float64) / self._temperature
        weights = np.exp(spread)
        return int(self._random.choice(len(weights), p=weights / weights.sum()))


def write(
    graphs: Graphs,
    decoder: Decoder,
    prompt: Array,
    mask: Mask,
    chooser: Chooser,
    *,
    ends: tuple[int, ...],
    most: int,
    halt: Halt,
    forced: bool = True,
) -> tuple[Written, float]:
    """The answer to a prompt, and the seconds that the prompt took."""
    written = Written()
    started = time.monotonic()
    given = _taken(written, mask, most) if forced else []
    if given:
        prompt = np.concatenate([prompt, embedded(graphs, given, halt)], axis=1)
    logits = decoder.feed(prompt)
    prompt_s = time.monotonic() - started
    while not _over(written, mask, most):
        before = time.monotonic()
        token = chooser.choose(logits, mask.allowed())
        if token in ends:
            written.whole = True
            break
        mask.take(token)
        written.tokens.append(token)
        given = [token, *(_taken(written, mask, most) if forced else [])]
        written.mask_s += time.monotonic() - before
        if _over(written, mask, most):
            break
        logits = decoder.feed(embedded(graphs, given, halt))
        written.steps += 1
    return written, prompt_s


def _taken(written: Written, mask: Mask, most: int) -> list[int]:
    """What is forced next, noted as written."""
    tokens = [] if mask.ended else mask.forced()
    tokens = tokens[: most - len(written.tokens)]
    written.tokens += tokens
    written.forced += len(tokens)
    return tokens


def _over(written: Written, mask: Mask, most: int) -> bool:
    """True when nothing more may or can come."""
    written.whole = written.whole or mask.ended
    return written.whole or len(written.tokens) >= most
