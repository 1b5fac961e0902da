"""`armlabd models`: what this board can use, taking one into use, and fetching one.

`list` and `use` ask the daemon. `fetch` works without it: it asks Ollama, or fills the folder of
models; the daemon sees what came at its next look.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from armlabd.cli.client import Client, WrongUse
from armlabd.cli.commands import client_of
from armlabd.cli.exits import OK, REFUSED, USAGE
from armlabd.cli.meter import Meter
from armlabd.cli.show import as_json, complain, error_of, say
from armlabd.config import Config, ConfigError, load_config
from armlabd.daemon.choice import DEFAULT, WORDS
from armlabd.daemon.planners import models_folder
from armlabd.daemon.state import state_folder
from armlabd.inference import ollama_list
from armlabd.inference.backend import ModelError
from armlabd.inference.catalog import Catalog, Entry, read_catalog
from armlabd.inference.ollama_names import refuse_remote
from armlabd.inference.ollama_wire import OllamaWire
from armlabd.inference.settings import EMBEDDING, GRAPHS, SEEING
from armlabd.inference.store import Store

POLL_S = 0.5
STYLES = {"warm": "green", "absent": "dim", "failed": "red", "refused": "dim"}
MB = 1_000_000


def models(options: argparse.Namespace) -> int:
    """armlabd models list|use|fetch."""
    return {"list": list_models, "use": use, "fetch": fetch}[options.what](options)


# --- list -------------------------------------------------------------------------------------


def list_models(options: argparse.Namespace) -> int:
    """armlabd models list."""
    answer = client_of(options).request("GET", "/models")
    if options.json:
        as_json(answer.body)
    elif not answer.ok:
        complain(error_of(answer.body))
    else:
        for text, style in lines_of(answer.body):
            say(text, style)
    return OK if answer.ok else REFUSED


def lines_of(told: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The list as a person reads it: who does what, then every model."""
    lines: list[tuple[str, str | None]] = []
    for job in ("planner", "vision"):
        lines.append((_job_line(job, told[job]), None))
        if told[job].get("next"):
            lines.append((f"  next: {told[job]['next']}", "yellow"))
    for row in told["models"]:
        lines += _model_lines(row)
    for sentence in (told["ollama"].get("next"), told.get("catalog")):
        if sentence:
            lines.append((sentence, "yellow"))
    return lines


def _job_line(job: str, part: Mapping[str, Any]) -> str:
    name = f"{part['backend']} {part['model']}".strip()
    return f"{job}: {name}, {part['state']} (chosen by {part['chosen_by']})"


def _model_lines(row: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    name = f"{row['backend']} {row['model']}".strip()
    sizes = [
        f"{row[key] / MB:,.0f} MB {word}"
        for key, word in (("disk_bytes", "disk"), ("memory_bytes", "memory"))
        if row.get(key)
    ]
    used = "".join(f"  <- {job}" for job in row.get("used_for", ()))
    text = f"  {row['state']:<8} {name:<28} {', '.join(sizes)}{used}"
    style = STYLES.get(row["state"])
    about = [row.get("good_for"), row.get("licence"), row.get("board"), row.get("next")]
    said = "; ".join(str(part) for part in about if part)
    return [(text, style), *([(f"           {said}", "dim")] if said else [])]


# --- use --------------------------------------------------------------------------------------


def use(options: argparse.Namespace) -> int:
    """armlabd models use NAME: asks for the swap and waits until it is done or has failed."""
    client = client_of(options)
    answer = client.request("GET", "/models")
    if not answer.ok:
        return _refused(options, answer.body)
    choice = choice_of(options.name, options.job, answer.body["models"])
    asked = client.request("PUT", f"/models/{options.job}", choice)
    if not asked.ok:
        return _refused(options, asked.body)
    part = _waited(options, client)
    if part is None:
        return REFUSED
    if options.json:
        as_json(part)
    failed = bool(part["last_swap"]) or part["state"] in ("failed", "absent")
    if not options.json:
        say(_job_line(options.job, part), "red" if failed else "green")
    if failed and not options.json:
        complain(part["last_swap"] or part["next"])
    return REFUSED if failed else OK


def choice_of(name: str, job: str, listed: list[dict[str, Any]]) -> dict[str, str]:
    """What a name means: a word, BACKEND:MODEL, or a model that one backend has. Raises WrongUse.

    A tag may hold a colon itself, so a name that is listed counts before BACKEND:MODEL.
    """
    if name in (*WORDS[job], DEFAULT) and name not in ("ollama", "smolvlm"):
        return {"backend": name}
    having = {row["backend"] for row in listed if name in (row["model"], _untagged(row["model"]))}
    backend, _, model = name.partition(":")
    if len(having) == 1:
        return {"backend": having.pop(), "model": name}
    if backend in ("ollama", "smolvlm") and model:
        return {"backend": backend, "model": model}
    if name.startswith("/"):
        return {"backend": "smolvlm", "model": name}
    words = ", ".join(word for word in (*WORDS[job], DEFAULT) if word not in ("ollama", "smolvlm"))
    if having:
        raise WrongUse(f"Several backends have {name}. Write {' or '.join(sorted(having))}:{name}.")
    raise WrongUse(
        f"No backend has {name!r}. 'armlabd models list' shows what there is; {words} and "
        "BACKEND:MODEL are possible too."
    )


def _untagged(model: str) -> str:
    return model.removesuffix(":latest")


def _waited(options: argparse.Namespace, client: Client) -> dict[str, Any] | None:
    """The job once nothing is on its way any more; None when the daemon refuses to tell."""
    last = ""
    while True:
        answer = client.request("GET", "/models")
        if not answer.ok:
            _refused(options, answer.body)
            return None
        part: dict[str, Any] = answer.body[options.job]
        if options.no_wait or not part["swapping_to"]:
            return part
        line = f"{options.job}: {part['swapping_to']} is loaded"
        if line != last and not options.json:
            say(line + " ...")
        last = line
        time.sleep(POLL_S)


def _refused(options: argparse.Namespace, body: Mapping[str, Any]) -> int:
    if options.json:
        as_json(body)
    else:
        complain(error_of(body))
    return REFUSED


# --- fetch ------------------------------------------------------------------------------------


def fetch(options: argparse.Namespace) -> int:
    """armlabd models fetch NAME: a folder from its repository, or a tag through Ollama."""
    try:
        config = load_config(options.config)
    except ConfigError as error:
        complain(str(error))
        return USAGE
    catalog = read_catalog(options.catalog)
    if catalog.fault:
        complain(catalog.fault)
    entry = catalog.find("smolvlm", options.name)
    try:
        told = _fetch_folder(options, config, entry) if entry else _pull(options, config, catalog)
    except ModelError as error:
        return _refused(options, {"code": str(error.code), "error": error.sentence})
    except KeyboardInterrupt:
        complain("Broken off. Fetch again and it goes on.")
        return REFUSED
    if options.json:
        as_json(told)
    else:
        say(f"{options.name} is here. Use it with: armlabd models use {options.name}", "green")
    return OK


def _fetch_folder(options: argparse.Namespace, config: Config, entry: Entry) -> dict[str, Any]:
    from armlabd.inference.fetch import fetch as fetch_folder  # it brings huggingface_hub in

    store = Store(store_folder(options.state))
    say_unless_json(options, f"{entry.id}: {entry.repository}, licence {entry.licence}")
    with Meter(quiet=options.json) as meter:
        pinned = fetch_folder(
            entry,
            store,
            variants_of(config, options.variant),
            meter.show,
            endpoint=options.endpoint,
            update=options.update,
        )
    folder = str(store.folder_of(entry.id))
    return {"model": entry.id, "folder": folder, "revision": pinned.revision, "files": pinned.files}


def store_folder(state: Path | None) -> Path:
    """The folder of models of a local daemon; real and virtual arm share it."""
    return models_folder(state_folder(state, simulated=False), simulated=False)


def variants_of(config: Config, chosen: str | None) -> dict[str, str]:
    """Which file of each graph: as chosen, else as the daemon will load them."""
    own = config.planner.smolvlm
    if chosen:
        return dict.fromkeys(GRAPHS, chosen)
    special = {EMBEDDING: own.embed_variant, SEEING: own.vision_variant}
    return {graph: special.get(graph) or own.variant for graph in GRAPHS}


def _pull(options: argparse.Namespace, config: Config, catalog: Catalog) -> dict[str, Any]:
    entry = catalog.find("ollama", options.name)
    if entry is not None:
        say_unless_json(options, f"{entry.id}: through Ollama, licence {entry.licence}")
    own = config.planner.ollama
    refuse_remote(own.url, options.name, own.allow_remote)
    asyncio.run(_pulled(own.url, options.name, quiet=options.json))
    return {"model": options.name, "backend": "ollama"}


async def _pulled(url: str, model: str, quiet: bool) -> None:
    wire = OllamaWire(url)
    try:
        with Meter(quiet) as meter:
            async with aclosing(ollama_list.pull(wire, model)) as lines:
                async for line in lines:
                    meter.show(line.status, line.completed, line.total)
    finally:
        await wire.close()


def say_unless_json(options: argparse.Namespace, text: str) -> None:
    """A line for people; other programs get one JSON answer at the end."""
    if not options.json:
        say(text)
