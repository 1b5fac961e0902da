"""`armlabd bench model`: what a model in its worker costs, and how soon it lets go.

Without a folder, a model with SmolVLM-256M's shape and int8 weights by chance is made first: sizes,
times and memory are those of the real one, only its plans are nonsense.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from armlabd.bench import bars, stops
from armlabd.bench.figures import Bar, Figure
from armlabd.bench.modelasks import ENDLESS, GOALS, plan_ask
from armlabd.bench.processes import BenchError, Place, place
from armlabd.bench.report import Machine, Report, Section
from armlabd.bench.rig import Rig
from armlabd.inference import memory
from armlabd.inference.backend import Answer, Ask, ModelError
from armlabd.inference.folder import look_at, variants_of
from armlabd.inference.settings import DECODER, EMBEDDING, SEEING, WorkerSettings
from armlabd.inference.smolvlm import SmolVlm
from armlabd.perceive.encode import encode_png

CANCELS: Final = 60
STOPS: Final = 200
SINGLE: Final = 6  # goals that are planned token by token too: they take four times as long
LONGEST_S: Final = 600.0
NS_PER_MS: Final = 1e6
PREFERRED: Final = ("int8", "quantized", "q4")  # the first that is there, else plain


@dataclass
class _Found:
    """What was measured."""

    load_s: list[float] = field(default_factory=list)
    held: dict[str, float] = field(default_factory=dict)  # MiB by moment
    forced: list[Answer] = field(default_factory=list)
    single: list[Answer] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)  # % of the token time
    pictures: list[Answer] = field(default_factory=list)
    told_ms: list[float] = field(default_factory=list)
    cancels_ms: list[float] = field(default_factory=list)


def measure(count: int = 0, folder: Path | None = None) -> Report:
    """The whole bench; `count` plans and cancels (0 = all goals and 60), on a folder or a made one.

    Needs the libraries of models; without a folder also `onnx` (armlabd[dev]).
    """
    machine = Machine.now()
    with place() as here:
        try:
            return asyncio.run(_measured(here, machine, count, folder or _made(here.folder)))
        except (BenchError, ModelError, OSError) as error:
            return Report("model", machine, (), (str(error),))


def _made(folder: Path) -> Path:
    """A model of SmolVLM-256M's shape. Raises BenchError without the library that writes it."""
    try:
        from armlabd.bench.models_made import save_model
        from armlabd.bench.shapes import SMOLVLM_256M
    except ImportError as error:
        raise BenchError(
            f"The library that writes models is missing ({error}): pip install 'armlabd[dev]', or "
            "name a model with --folder."
        ) from error
    return save_model(folder / "model", SMOLVLM_256M, int8=True)


async def _measured(here: Place, machine: Machine, count: int, folder: Path) -> Report:
    found = _Found()
    failures: list[str] = []
    goals = GOALS[:count] if count > 0 else GOALS
    settings = _settings(folder)
    async with _model(settings, found) as backend:
        sees = bool((await backend.state()).facts["sees"])
        await _plans(backend, goals, found)
        if sees:
            await _pictures(backend, found)
        await _cancels(backend, count or CANCELS, sees, found)
        need = memory.needed(look_at(settings), settings) / memory.MIB
        found.held["estimate before loading"] = need
        stopping = await _stops(here, backend, count or STOPS, failures)
        await _unloaded(backend, found)
    async with _model(_settings(folder, forced=False), found) as backend:
        found.single = [await backend.answer(plan_ask(goal)) for goal in goals[:SINGLE]]
    notes = (
        f"Model: {folder.name}, {', '.join(sorted(set(_variants(settings).values())))}; "
        f"{settings.threads} thread(s), niced; peak memory is the kernel's own figure (VmHWM).",
        "A cancel counts from the call to the worker's word that it has ended.",
    )
    sections = (*_sections(found, sees), *stopping)
    return Report("model", machine, sections, tuple(failures), notes)


def _settings(folder: Path, *, forced: bool = True) -> WorkerSettings:
    """The folder's variants: int8 where it is there."""
    plain = WorkerSettings(str(folder), folder.name)
    place = folder / "onnx" if (folder / "onnx").is_dir() else folder
    chosen = {}
    for graph in (DECODER, EMBEDDING, SEEING):
        there = variants_of(place, graph)
        chosen[graph] = next((one for one in PREFERRED if one in there), plain.variant)
    return WorkerSettings(str(folder), folder.name, variants=chosen, forced=forced)


def _variants(settings: WorkerSettings) -> dict[str, str]:
    return {graph: settings.variants.get(graph, settings.variant) for graph in settings.variants}


@contextlib.asynccontextmanager
async def _model(settings: WorkerSettings, found: _Found) -> AsyncIterator[SmolVlm]:
    backend = SmolVlm(settings)
    started_s = time.monotonic()
    try:
        await backend.warm()
        found.load_s.append(time.monotonic() - started_s)
        found.held.setdefault("after loading", _resident(backend))
        yield backend
    finally:
        await backend.close()


def _resident(backend: SmolVlm) -> float:
    return (memory.resident(backend.pid or 0) or 0) / memory.MIB


async def _plans(backend: SmolVlm, goals: Sequence[str], found: _Found) -> None:
    for goal in goals:
        answer = await backend.answer(plan_ask(goal))
        found.forced.append(answer)
        found.shares.append(100 * backend.mask_s / max(answer.output_s, 1e-9))


async def _pictures(backend: SmolVlm, found: _Found) -> None:
    """One tile: a 640 x 480 picture."""
    image = np.random.default_rng(0).integers(0, 255, (480, 640, 3), dtype=np.uint8)
    for goal in GOALS[:3]:
        found.pictures.append(await backend.answer(plan_ask(goal, (encode_png(image),))))
    peak = memory.peak(backend.pid or 0) or 0
    found.held["peak with one tile"] = peak / memory.MIB


async def _cancels(backend: SmolVlm, count: int, sees: bool, found: _Found) -> None:
    """Questions taken back at any moment: while reading the prompt, seeing, writing."""
    moments = random.Random(1)
    image = np.zeros((480, 640, 3), np.uint8)
    for number in range(count):
        images = (encode_png(image),) if sees and number % 2 else ()
        task = asyncio.create_task(backend.answer(_endless(images)))
        await asyncio.sleep(moments.uniform(0.0, 2.0))
        asked_ns = time.monotonic_ns()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        found.told_ms.append((time.monotonic_ns() - asked_ns) / NS_PER_MS)
        await backend.warm()  # it is free again
        found.cancels_ms.append((time.monotonic_ns() - asked_ns) / NS_PER_MS)
    if backend.pid is None:
        raise BenchError("A cancelled question cost the worker: it did not let go in time.")


def _endless(images: tuple[bytes, ...] = ()) -> Ask:
    """A question whose answer goes on for a thousand tokens."""
    text = "Write on and on. " * 40
    return Ask("", text, ENDLESS, images, max_tokens=1000, answer_s=LONGEST_S)


async def _stops(
    here: Place, backend: SmolVlm, count: int, failures: list[str]
) -> tuple[Section, ...]:
    """Stops by HTTP at a daemon while the model writes without end."""
    try:
        rig = Rig(here, "arm").ready()
    except (BenchError, OSError) as error:
        failures.append(f"Stops while generating: {error}")
        return ()
    writing = asyncio.create_task(_write_on(backend))
    try:
        with rig.door() as door, rig.world() as world:
            made = await asyncio.to_thread(stops.by_http, count, door, world)
    except (BenchError, OSError) as error:
        failures.append(f"Stops while generating: {error}")
        return ()
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        rig.end()
    frame = "POST /stop to last byte of the torque-off frame"
    figures = [
        Figure.of(frame, "ms", made.frame_ms, bars.STOP_BY_HTTP_STRESS_MS, "p99"),
        Figure.of("stops neither seen nor confirmed", "", [made.failed], bars.STOPS_FAILED),
    ]
    return (Section("Stops while a model generates", tuple(figures)),)


async def _write_on(backend: SmolVlm) -> None:
    while True:
        await backend.answer(_endless())


async def _unloaded(backend: SmolVlm, found: _Found) -> None:
    """What is given back when the worker is ended."""
    pid, before = backend.pid or 0, memory.available() or 0
    await backend.unload()
    found.held["after unloading"] = (memory.resident(pid) or 0) / memory.MIB
    found.held["free memory gained by unloading"] = (
        (memory.available() or 0) - before
    ) / memory.MIB


# --- the report


def _sections(found: _Found, sees: bool) -> tuple[Section, ...]:
    sections = [Section("Plans", _plan_figures(found))]
    if sees:
        tokens = [float(answer.prompt_tokens) for answer in found.pictures]
        seconds = [answer.prompt_s for answer in found.pictures]
        seen = (
            Figure.of("prompt with one tile", "tokens", tokens),
            Figure.of("prompt with one tile", "s", seconds),
        )
        sections.append(Section("One picture", seen))
    letting_go = (
        Figure.of("cancel to the asker's return", "ms", found.told_ms),
        Figure.of("cancel to let go", "ms", found.cancels_ms, bars.CANCEL_MS, "p99"),
    )
    return (*sections, Section("Letting go", letting_go), Section("Memory", _memory(found)))


def _plan_figures(found: _Found) -> tuple[Figure, ...]:
    steps = [100 * answer.steps / answer.output_tokens for answer in found.forced]
    per_token = [1000 * answer.output_s / answer.output_tokens for answer in found.single]
    return (
        Figure.of("load", "s", found.load_s),
        Figure.of("prompt", "s", [answer.prompt_s for answer in found.forced]),
        Figure.of("plan, forced tokens in one step", "s", [a.output_s for a in found.forced]),
        Figure.of("plan, token by token", "s", [a.output_s for a in found.single]),
        Figure.of("token by token", "ms/token", per_token),
        Figure.of("model steps of 100 tokens", "", steps, bars.MODEL_STEPS_PERCENT),
        Figure.of("mask and grammar", "% of token time", found.shares, bars.MASK_PERCENT),
    )


def _memory(found: _Found) -> tuple[Figure, ...]:
    held: dict[str, Bar] = {
        "peak with one tile": bars.MODEL_MIB,
        "after unloading": bars.MODEL_LEFT_MIB,
    }
    return tuple(
        Figure.of(moment, "MiB", [amount], held.get(moment))
        for moment, amount in found.held.items()
    )
