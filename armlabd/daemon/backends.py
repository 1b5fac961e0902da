"""From the settings and a choice to a model backend; whether the choice can be used at all.

One backend serves both jobs when they use the same model. Nothing heavy is imported: the models
live in a server or in a worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from armlabd.config import Config
from armlabd.daemon.choice import VISION, Choice
from armlabd.inference import memory
from armlabd.inference import ollama_errors as errors
from armlabd.inference.backend import Backend, ModelError
from armlabd.inference.catalog import Catalog
from armlabd.inference.folder import look_at
from armlabd.inference.ollama import Ollama, OllamaSettings
from armlabd.inference.ollama_list import Tag, find, loaded_models, tags
from armlabd.inference.ollama_names import full_name, is_here, refuse_remote, remote_model
from armlabd.inference.ollama_wire import OllamaWire
from armlabd.inference.settings import EMBEDDING, SEEING, WorkerSettings, spare_cores
from armlabd.inference.smolvlm import SmolVlm
from armlabd.inference.store import Store
from armlabd.verdict import Code

MIB = 1 << 20
OVERHEAD = 400 * MIB  # of a server's runner and a small window, beside the weights
ABLE = {"completion": "plan", "vision": "see"}


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes that a model takes in memory; `loaded`: it is there already."""

    bytes: int
    loaded: bool = False


class Backends:
    """Makes backends, shares them, and closes those that nobody uses."""

    def __init__(self, config: Config, store: Store, catalog: Catalog) -> None:
        self._config, self.store, self.catalog = config, store, catalog
        self._made: dict[Choice, Backend] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._wire = OllamaWire(config.planner.ollama.url)

    def get(self, choice: Choice) -> Backend | None:
        """The backend of a choice; None for rules and none."""
        if not choice.model:
            return None
        key = _key(choice)
        if key not in self._made:
            ollama = choice.backend == "ollama"
            self._made[key] = (
                Ollama(self._ollama(choice.model))
                if ollama
                else SmolVlm(self.worker_settings(choice.model))
            )
        return self._made[key]

    async def keep_only(self, used: Iterable[Backend | None]) -> None:
        """Close every backend but these; whoever is cancelled meanwhile leaves none half closed."""
        kept = [backend for backend in used if backend is not None]
        unused = {key: one for key, one in self._made.items() if one not in kept}
        for key in unused:
            del self._made[key]
        self._ending |= {asyncio.create_task(one.close()) for one in unused.values()}
        await asyncio.shield(self._ended())

    async def _ended(self) -> None:
        ending = set(self._ending)
        await asyncio.gather(*ending, return_exceptions=True)
        self._ending -= ending

    async def close(self) -> None:
        """Close all of them."""
        await self.keep_only(())
        await self._wire.close()

    def answer_s(self, choice: Choice) -> float:
        """The limit on one answer."""
        planner = self._config.planner
        ollama = choice.backend == "ollama"
        return planner.ollama.answer_timeout_s if ollama else planner.smolvlm.answer_timeout_s

    def box_format(self, choice: Choice) -> str:
        """How the model writes boxes: as configured, else as the catalog says, else none."""
        wanted = self._config.vision.box_format
        if wanted != "auto":
            return wanted
        entry = self.catalog.find(choice.backend, choice.model)
        return "none" if entry is None else entry.box_format

    def worker_settings(self, model: str) -> WorkerSettings:
        """What the model worker is told."""
        own = self._config.planner.smolvlm
        given = {EMBEDDING: own.embed_variant, SEEING: own.vision_variant}
        return WorkerSettings(
            folder=str(self.store.folder_of(model)),
            model=model,
            variant=own.variant,
            variants={graph: variant for graph, variant in given.items() if variant},
            threads=own.threads or spare_cores(),
            providers=own.providers,
            tiles=own.tiles,
            window=own.window,
            load_s=own.load_timeout_s,
            idle_unload_s=own.idle_unload_s,
        )

    def _ollama(self, model: str) -> OllamaSettings:
        own = self._config.planner.ollama
        return OllamaSettings(
            own.url,
            model,
            window=own.num_ctx,
            load_s=own.load_timeout_s,
            keep_alive_s=own.keep_alive_s,
            allow_remote=own.allow_remote,
        )

    # --- can it be used -----------------------------------------------------------------------

    async def check(self, job: str, choice: Choice, freed_bytes: int) -> None:
        """Raises ModelError: not here, not able, elsewhere, or too large for what is free.

        `freed_bytes` are given back by the model that it takes the place of.
        """
        if not choice.model:
            return
        ollama = choice.backend == "ollama"
        need = await (self._check_tag(job, choice) if ollama else self._check_folder(job, choice))
        here = not ollama or is_here(self._config.planner.ollama.url)
        free = memory.available()
        if need.loaded or not here or free is None or need.bytes <= free + freed_bytes:
            return
        raise ModelError(
            Code.MODEL_MEMORY,
            f"{choice} needs about {need.bytes // MIB} MiB of memory; {free // MIB} MiB are free "
            f"and {freed_bytes // MIB} MiB are given back by the model before it. Choose a smaller "
            "one (armlabd models list), or end other programs.",
        )

    async def _check_tag(self, job: str, choice: Choice) -> Need:
        own = self._config.planner.ollama
        refuse_remote(own.url, choice.model, own.allow_remote)
        tag = find(await tags(self._wire), choice.model)
        if tag is None:
            raise errors.absent(choice.model)
        if tag.remote and not own.allow_remote:
            raise remote_model(choice.model)
        wanted = "vision" if job == VISION else "completion"
        if tag.abilities and wanted not in tag.abilities:
            raise _unable(choice, wanted, tag.abilities)
        loaded = find(await loaded_models(self._wire), choice.model)
        return Need(self.need_of_tag(tag), loaded is not None)

    def need_of_tag(self, tag: Tag) -> int:
        """What a tag takes in memory: the larger of the catalog's figure and its weights' size."""
        entry = self.catalog.find("ollama", tag.name)
        listed = 0 if entry is None else entry.memory_mb * 1_000_000
        return max(listed, tag.bytes + OVERHEAD)

    async def _check_folder(self, job: str, choice: Choice) -> Need:
        settings = self.worker_settings(choice.model)
        folder = await asyncio.to_thread(look_at, settings)
        if job == VISION and not folder.sees:
            raise _unable(choice, "vision", ("completion",))
        made = self._made.get(_key(choice))
        held = None if made is None else (await made.state()).memory_bytes
        return Need(memory.needed(folder, settings), loaded=bool(held))


def _key(choice: Choice) -> Choice:
    ollama = choice.backend == "ollama"
    return Choice(choice.backend, full_name(choice.model)) if ollama else choice


def _unable(choice: Choice, wanted: str, abilities: tuple[str, ...]) -> ModelError:
    return ModelError(
        Code.NO_MODEL,
        f"{choice} is no model for this: it can {', '.join(abilities)}, and {wanted} is needed. "
        "Choose another (armlabd models list).",
    )
