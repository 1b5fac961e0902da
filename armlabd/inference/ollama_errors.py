"""What goes wrong with an Ollama server, as codes and sentences with the remedy.

Ollama tells causes in words only, and its words change: the ones known are a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armlabd.inference.backend import ModelError
from armlabd.verdict import Code

NOT_FOUND = 404
MAX_QUOTE = 300  # characters of a server's words that are repeated
SMALLER = "End other programs, choose a smaller model, or lower [planner.ollama] num_ctx."
START = "Start it (systemctl start ollama), or correct [planner.ollama] url."
LOG = "See its log: journalctl -u ollama."


@dataclass(frozen=True, slots=True)
class Known:
    """Words of the server in lower case, what they mean, and what to do."""

    words: str
    code: Code
    remedy: str


KNOWN: tuple[Known, ...] = (
    Known("more system memory", Code.MODEL_MEMORY, SMALLER),
    Known("out of memory", Code.MODEL_MEMORY, SMALLER),
    Known("cudamalloc failed", Code.MODEL_MEMORY, SMALLER),
    Known("unable to allocate", Code.MODEL_MEMORY, SMALLER),
    Known("signal: killed", Code.MODEL_MEMORY, SMALLER),  # the kernel's out-of-memory killer
    Known("timed out waiting for", Code.MODEL_TIMEOUT, "Try again; raise OLLAMA_LOAD_TIMEOUT."),
    Known("server busy", Code.MODEL_LOST, "Wait until others are done with it, then try again."),
    Known("longer than context", Code.OUT_OF_RANGE, "Raise [planner.ollama] num_ctx."),
    Known("exceeds the available context", Code.OUT_OF_RANGE, "Raise [planner.ollama] num_ctx."),
    Known("context length", Code.OUT_OF_RANGE, "Raise [planner.ollama] num_ctx."),
    Known("file does not exist", Code.NO_MODEL, "Check the name; ollama.com/library lists them."),
    Known("cloud", Code.NO_MODEL, "Choose a model that runs on this board."),
    Known("does not support", Code.NO_MODEL, "Choose another model (armlabd models list)."),
)
BY_STATUS: Mapping[int, tuple[Code, str]] = {
    400: (Code.MODEL_ANSWER, "Update Ollama, or choose another model."),
    403: (Code.NO_MODEL, "Choose a model that runs on this board."),
    499: (Code.MODEL_LOST, "Try again."),
    503: (Code.MODEL_LOST, "Wait until others are done with it, then try again."),
}


def of_server(model: str, status: int, words: str) -> ModelError:
    """The error for what a server said, under an HTTP status or in a line of a stream."""
    said = " ".join(words.split())[:MAX_QUOTE]
    if status == NOT_FOUND:
        return absent(model)
    known = next((known for known in KNOWN if known.words in said.lower()), None)
    if known is not None:
        return ModelError(known.code, f"Ollama says of {model}: {said}. {known.remedy}")
    if "not found" in said.lower():
        return absent(model)
    code, remedy = BY_STATUS.get(status, (Code.MODEL_LOST, LOG))
    return ModelError(code, f"Ollama says of {model}: {said or status}. {remedy}")


def absent(model: str) -> ModelError:
    """The model is not on this board."""
    return ModelError(
        Code.NO_MODEL,
        f"Ollama has no model {model!r}. Fetch it (armlabd models fetch {model}, or ollama pull "
        f"{model}), or choose another (armlabd models list).",
    )


def unreachable(url: str, why: object) -> ModelError:
    """No server answers."""
    return ModelError(Code.MODEL_LOST, f"No Ollama answers at {url} ({why}). {START}")


def broken_off(model: str, why: object) -> ModelError:
    """An answer that began and did not end."""
    return ModelError(
        Code.MODEL_LOST, f"The answer of {model} broke off in the middle ({why}). {LOG}"
    )


def too_slow(model: str, what: str, limit_s: float) -> ModelError:
    """Loading or answering took longer than its limit."""
    return ModelError(
        Code.MODEL_TIMEOUT,
        f"{model} {what} {limit_s:g} s. Choose a smaller model, or raise the limit in "
        "[planner.ollama].",
    )


def unreadable(model: str, why: str) -> ModelError:
    """What came is not what Ollama sends."""
    return ModelError(
        Code.MODEL_ANSWER,
        f"The answer of {model} cannot be read: {why}. Check that [planner.ollama] url is Ollama.",
    )
