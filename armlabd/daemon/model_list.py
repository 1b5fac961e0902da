"""GET /models: what this board can use, from the server, the folder of models and the catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from armlabd.config import Config
from armlabd.daemon.backends import ABLE, Backends
from armlabd.daemon.choice import Choice
from armlabd.daemon.seat import Seat
from armlabd.inference import ollama_list
from armlabd.inference.backend import ModelError, Warmth
from armlabd.inference.catalog import Entry
from armlabd.inference.ollama_list import Tag
from armlabd.inference.ollama_names import full_name, is_cloud, refuse_remote
from armlabd.inference.ollama_wire import OllamaWire

REFUSED = "refused"  # runs elsewhere


class ModelList:
    """Reads anew each time: what was pulled or fetched meanwhile is there."""

    def __init__(self, config: Config, backends: Backends, seats: Mapping[str, Seat]) -> None:
        self._ollama, self._backends, self._seats = config.planner.ollama, backends, seats

    async def read(self) -> dict[str, Any]:
        """Servers, models, and what is wrong with the catalog."""
        ollama, of_ollama = await self._server()
        folders = await asyncio.to_thread(self._folders)
        models = [self._with_use(row) for row in (*of_ollama, *folders)]
        rules = {"backend": "rules", "model": "", "state": "warm", "can": ["plan"]}
        rules["good_for"] = "plain English sentences; needs no model"
        rules["used_for"] = [s.job for s in self._seats.values() if s.choice.backend == "rules"]
        catalog = self._backends.catalog.fault
        return {"models": [rules, *models], "ollama": ollama, "catalog": catalog}

    # --- Ollama -----------------------------------------------------------------------------

    async def _server(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What the server says of itself, and its models with those of the catalog."""
        told: dict[str, Any] = {"url": self._ollama.url}
        wire = OllamaWire(self._ollama.url)
        try:
            refuse_remote(self._ollama.url, "", self._ollama.allow_remote)
            version, tags, loaded = await asyncio.gather(
                ollama_list.version(wire), ollama_list.tags(wire), ollama_list.loaded_models(wire)
            )
        except ModelError as error:
            gone = {**told, "state": "gone", "version": "", "next": error.sentence}
            return gone, self._absent("ollama", set())
        finally:
            await wire.close()
        warm = {full_name(one.name): one for one in loaded}
        rows = [self._tag(tag, warm.get(full_name(tag.name))) for tag in tags]
        here = {full_name(tag.name) for tag in tags}
        up = {**told, "state": "up", "version": version, "next": ""}
        return up, [*rows, *self._absent("ollama", here)]

    def _tag(self, tag: Tag, loaded: Tag | None) -> dict[str, Any]:
        entry = self._backends.catalog.find("ollama", tag.name)
        row = {
            **_known(entry),
            "backend": "ollama",
            "model": tag.name,
            "state": str(Warmth.COLD if loaded is None else Warmth.WARM),
            "disk_bytes": tag.bytes,
            "memory_bytes": loaded.bytes if loaded else self._backends.need_of_tag(tag),
            "digest": tag.digest,
            "details": " ".join(filter(None, (tag.family, tag.parameters, tag.quantization))),
            "next": "",
        }
        if tag.abilities:
            row["can"] = [word for ability, word in ABLE.items() if ability in tag.abilities]
        if (tag.remote or is_cloud(tag.name)) and not self._ollama.allow_remote:
            row |= {"state": REFUSED, "next": "It runs elsewhere: choose a local model."}
        return row

    # --- folders ----------------------------------------------------------------------------

    def _folders(self) -> list[dict[str, Any]]:
        """The folders of this board, and the catalog's that are not here."""
        store = self._backends.store
        here = set(store.folders())
        rows = [self._folder(name) for name in sorted(here)]
        used = {s.choice.model for s in self._seats.values() if s.choice.backend == "smolvlm"}
        named = sorted(name for name in used if name.startswith("/"))  # they lie elsewhere
        rows += [self._folder(name) for name in named]
        return [*rows, *self._absent("smolvlm", here)]

    def _folder(self, name: str) -> dict[str, Any]:
        store = self._backends.store
        entry = self._backends.catalog.find("smolvlm", name)
        pinned = store.pinned(name)
        return {
            **_known(entry),
            "backend": "smolvlm",
            "model": name,
            "state": str(Warmth.COLD),
            "disk_bytes": store.bytes_of(name),
            "revision": None if pinned is None else pinned.revision,
            "next": "",
        }

    # --- both -------------------------------------------------------------------------------

    def _absent(self, backend: str, here: set[str]) -> list[dict[str, Any]]:
        catalog = self._backends.catalog.entries
        missing = (one for one in catalog if one.backend == backend and one.id not in here)
        return [
            {
                **_known(entry),
                "backend": backend,
                "model": entry.id,
                "state": str(Warmth.ABSENT),
                "next": f"armlabd models fetch {entry.id}",
            }
            for entry in missing
        ]

    def _with_use(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row with the jobs that the model does, and how it is doing them."""
        same = [s for s in self._seats.values() if _same(s.choice, row)]
        used = {**row, "used_for": [seat.job for seat in same]}
        states = [seat.state for seat in same if seat.state is not None]
        if states and row["state"] != REFUSED:
            used |= {"state": str(states[0].warmth), "detail": states[0].detail}
        return used


def _known(entry: Entry | None) -> dict[str, Any]:
    return {} if entry is None else entry.as_dict()


def _same(choice: Choice, row: Mapping[str, Any]) -> bool:
    if choice.backend != row["backend"] or not choice.model:
        return False
    ollama = choice.backend == "ollama"
    name = full_name(choice.model) if ollama else choice.model
    return name == (full_name(str(row["model"])) if ollama else row["model"])
