"""Names of models and addresses of servers: what stays on this board, and what does not."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from armlabd.inference.backend import ModelError
from armlabd.verdict import Code

ALLOW = "[planner.ollama] allow_remote = true lets goals, scenes and pictures leave this board."


def full_name(model: str) -> str:
    """The name as Ollama lists it: without a tag it is ":latest"."""
    last = model.rsplit("/", 1)[-1]
    return model if ":" in last or not model else f"{model}:latest"


def is_cloud(model: str) -> bool:
    """True for a model that Ollama runs elsewhere."""
    return full_name(model).lower().endswith(("-cloud", ":cloud"))


def is_here(url: str) -> bool:
    """True for an address of this board's loopback."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_remote(url: str, model: str, allow_remote: bool) -> None:
    """Raises ModelError for a server or a model elsewhere, unless the settings allow it."""
    if allow_remote:
        return
    if not is_here(url):
        raise ModelError(
            Code.NO_MODEL, f"{url} is not this board, so nothing is asked there. {ALLOW}"
        )
    if is_cloud(model):
        raise remote_model(model)


def remote_model(model: str) -> ModelError:
    """A model that Ollama runs elsewhere."""
    sentence = f"{model} runs elsewhere, not on this board. Choose a local model. {ALLOW}"
    return ModelError(Code.NO_MODEL, sentence)
