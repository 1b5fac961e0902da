"""Which models plan and look, and swapping them while the daemon runs.

Whoever plans asks `ModelHouse.planner`, which stays the same object (`switch`). A swap gives the
memory of the old model back first, then loads the new one; when that fails the old one stays. None
of it is waited for by a stop, by status, or by the start of the daemon.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from armlabd.config import Config
from armlabd.daemon.backends import Backends
from armlabd.daemon.choice import PLANNER, VISION, Choice, ChoiceFile, read_choice
from armlabd.daemon.model_list import ModelList
from armlabd.daemon.seat import NOT_READY, Seat
from armlabd.daemon.switch import Switch
from armlabd.gate.ledger import Ledger
from armlabd.gate.roles import Caller
from armlabd.gate.tools import ToolTable
from armlabd.inference.backend import ModelError
from armlabd.inference.catalog import Catalog, read_catalog
from armlabd.inference.store import Store
from armlabd.perceive.model_eye import Looker
from armlabd.plan.model import ModelPlanner
from armlabd.plan.planner import Planner
from armlabd.plan.rules import RulesPlanner
from armlabd.verdict import Code, Verdict

log = logging.getLogger(__name__)
WATCH_S = 2.0  # between two looks at what a model is doing
Tools = Callable[[], ToolTable]


def models_folder(state: Path, simulated: bool) -> Path:
    """Where models lie. Real and virtual arm share them: they say nothing of either."""
    return (state.parent if simulated else state) / "models"


class ModelHouse:
    """The models of this daemon: who plans, who looks, what there is, and swapping."""

    def __init__(
        self,
        config: Config,
        state: Path,
        *,
        folder: Path | None = None,
        ledger: Ledger | None = None,
        tools: Tools | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        self._config, self._ledger, self._tools = config, ledger, tools
        self._file = ChoiceFile(state)
        store = Store(folder or models_folder(state, simulated=False))
        self._backends = Backends(config, store, catalog or read_catalog())
        self._rules = RulesPlanner()
        self._seats = {
            PLANNER: Seat(PLANNER, Choice("rules")),
            VISION: Seat(VISION, Choice("none")),
        }
        self.planner = Switch(self._rules)
        self._list = ModelList(config, self._backends, self._seats)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def vision(self) -> Looker | None:
        """The model that is shown pictures; None while it is swapped, or when there is none."""
        seat = self._seats[VISION]
        if seat.backend is None or seat.wanted is not None:
            return None
        return Looker(seat.backend, self._backends.box_format(seat.choice))

    async def start(self) -> None:
        """Take what is chosen and load it in the background. Raises nothing, waits for none."""
        candidates = {job: self._chosen(job) for job in self._seats}
        for seat in self._seats.values():
            first, *others = candidates[seat.job]
            if others:
                seat.wanted = first
                self.planner.hold()  # until it is known which of them is there
                seat.swap = self._spawn(self._decide(seat, (first, *others)))
            else:
                self._sit(seat, first)
        if any(choice.model for choices in candidates.values() for choice in choices):
            self._spawn(self._begin())

    async def close(self) -> None:
        """End what belongs to models."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._backends.close()

    # --- telling ----------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The planner's part of the status: who plans, since when whose choice, what to do."""
        seat = self._seats[PLANNER]
        told = seat.told()
        return {
            **told,
            "name": self.planner.name,
            "configured": self._config.planner.backend,
            "note": self.planner.note,
            "next": told["next"] or self._file.fault,
        }

    async def listed(self) -> dict[str, Any]:
        """What can be used, what is loaded, absent, cold, loading, warm, failed."""
        for seat in self._seats.values():
            if seat.wanted is None:
                await self._look(seat)
        return {
            "planner": self.status(),
            "vision": self._seats[VISION].told(),
            **await self._list.read(),
        }

    # --- swapping ---------------------------------------------------------------------------

    async def use(self, job: str, body: Mapping[str, Any], caller: Caller) -> Verdict:
        """Begin a swap, or say why not. It goes on after the answer; GET /models tells how far."""
        verdict = await self._use(job, body)
        if self._ledger is not None:
            wanted = f"{body.get('backend')!r:.60} {body.get('model', '')!r:.200}"
            brief = Verdict(verdict.code, verdict.sentence)
            await self._ledger.act(caller, f"use model for {job}", wanted, brief)
        return verdict

    async def _use(self, job: str, body: Mapping[str, Any]) -> Verdict:
        read = read_choice(job, body)
        if isinstance(read, Verdict):
            return read
        choice = read or self._configured(job)[0]
        seat = self._seats[job]
        try:
            await self._backends.check(job, choice, await self._given_back(seat, choice))
        except ModelError as error:
            return Verdict.refused(error.code, error.sentence)
        if self._closing:
            return Verdict.refused(Code.BUSY, "armlabd is ending. Start it again, then choose.")
        await self._end_swap(seat)
        seat.wanted, seat.failure, seat.unkept = choice, "", ""
        seat.swap = self._spawn(self._swap(seat, choice, read is not None))
        return Verdict(Code.OK, f"{choice} is taken into use.", {job: seat.told()})

    async def _given_back(self, seat: Seat, choice: Choice) -> int:
        """Bytes that a swap frees before the new model is loaded."""
        old = seat.backend
        if old is None or seat.choice == choice or self._is_shared(seat):
            return 0
        return (await old.state()).memory_bytes or 0

    async def _end_swap(self, seat: Seat) -> None:
        """A newer choice takes the place of one that is still on its way."""
        while seat.swap is not None and not seat.swap.done():
            seat.swap.cancel()
            await asyncio.gather(seat.swap, return_exceptions=True)

    async def _swap(self, seat: Seat, choice: Choice, by_person: bool) -> None:
        planning = seat.job == PLANNER
        if planning:
            self.planner.hold()
        planner: Planner | None = None
        try:
            await self._make_room(seat, choice)
            backend = self._backends.get(choice)
            if backend is not None:
                await backend.warm()
            seat.take(choice, backend, by_person)
            planner = self._planner_of(choice)
            kept = choice if by_person else None
            seat.unkept = await asyncio.to_thread(self._file.keep, seat.job, kept)
        except ModelError as error:
            seat.failure = f"{choice} was not taken into use: {error.sentence}"
            log.warning("%s %s stays.", seat.failure, seat.choice)
        finally:
            seat.wanted = None
            if planning:
                self.planner.go_on(planner)
        await self._settle(seat)

    async def _make_room(self, seat: Seat, choice: Choice) -> None:
        """The old model's memory is given back first. One that cannot be asked holds up nobody."""
        old = seat.backend
        if old is None or old is self._backends.get(choice) or self._is_shared(seat):
            return
        try:
            await old.unload()
        except ModelError as error:
            log.warning("%s could not be unloaded: %s", seat.choice, error.sentence)

    async def _settle(self, seat: Seat) -> None:
        """After a swap: nobody keeps a model that is not used, and the old one is loaded again."""
        await self._backends.keep_only(one.backend for one in self._seats.values())
        self._watch()
        if seat.failure:
            await self._warm(seat)
        await self._look(seat)

    def _sit(self, seat: Seat, choice: Choice) -> None:
        """At the start: nobody has the job yet."""
        by_person = self._file.of(seat.job) is not None
        seat.take(choice, self._backends.get(choice), by_person)
        if seat.job == PLANNER:
            self.planner.go_on(self._planner_of(choice))

    def _planner_of(self, choice: Choice) -> Planner:
        backend = self._backends.get(choice)
        if backend is None:
            return self._rules
        by_tools = self._config.planner.form == "tools" and self._tools is not None
        tools = self._tools() if by_tools and self._tools is not None else None
        answer_s = self._backends.answer_s(choice)
        return ModelPlanner(backend, self._rules, tools=tools, answer_s=answer_s)

    def _is_shared(self, seat: Seat) -> bool:
        others = (one for one in self._seats.values() if one is not seat)
        return any(one.backend is seat.backend for one in others)

    # --- the start, and watching ----------------------------------------------------------------

    def _chosen(self, job: str) -> tuple[Choice, ...]:
        """What a person chose, else what the settings allow, the first one first."""
        kept = self._file.of(job)
        return self._configured(job) if kept is None else (kept,)

    def _configured(self, job: str) -> tuple[Choice, ...]:
        if job == VISION:
            return (Choice(self._config.vision.backend, self._config.vision.model),)
        planner = self._config.planner
        named = {"ollama": planner.ollama.model, "smolvlm": planner.smolvlm.model}
        if planner.backend == "auto":
            found = tuple(Choice(backend, model) for backend, model in named.items() if model)
            return found or (Choice("rules"),)
        return (Choice(planner.backend, named.get(planner.backend, "")),)

    async def _begin(self) -> None:
        self._watch()
        for seat in self._seats.values():
            if seat.wanted is None:
                await self._warm(seat)
                await self._look(seat)

    async def _decide(self, seat: Seat, candidates: tuple[Choice, ...]) -> None:
        """Take the first of several that is there; only planning has several."""
        planner: Planner | None = None
        try:
            choice = await self._first_here(candidates)
            seat.take(choice, self._backends.get(choice), by_person=False)
            planner = self._planner_of(choice)
        finally:
            seat.wanted = None
            self.planner.go_on(planner)
        await self._backends.keep_only(one.backend for one in self._seats.values())
        await self._begin()

    async def _first_here(self, candidates: tuple[Choice, ...]) -> Choice:
        """The first one whose model is there; else the first, for which the rules stand in."""
        for choice in candidates:
            backend = self._backends.get(choice)
            if backend is not None and (await backend.state()).warmth not in NOT_READY:
                return choice
        return candidates[0]

    async def _warm(self, seat: Seat) -> None:
        """Load it, as far as it goes: what went wrong its state tells."""
        if seat.backend is None:
            return
        try:
            await seat.backend.warm()
        except ModelError as error:
            log.warning("%s is not ready: %s", seat.choice, error.sentence)

    def _watch(self) -> None:
        """Look at the models from time to time, once there are any."""
        if any(task.get_name() == "model watch" for task in self._tasks):
            return
        if self._any_model():
            self._spawn(self._watching(), "model watch")

    def _any_model(self) -> bool:
        return any(seat.backend is not None for seat in self._seats.values())

    async def _watching(self) -> None:
        while self._any_model():
            for seat in self._seats.values():
                if seat.wanted is None:
                    await self._look_again(seat)
            await asyncio.sleep(WATCH_S)

    async def _look_again(self, seat: Seat) -> None:
        """A model that was missing and is there now (`ollama pull`) is loaded without a word."""
        await self._look(seat)
        if seat.is_back:
            seat.missed = False
            await self._warm(seat)
            await self._look(seat)

    async def _look(self, seat: Seat) -> None:
        backend = seat.backend
        state = None if backend is None else await backend.state()
        if seat.backend is backend:
            seat.saw(state)

    def _spawn(self, work: Any, name: str = "models") -> asyncio.Task[None]:
        task = asyncio.create_task(self._guarded(work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _guarded(self, work: Any) -> None:
        """A fault of ours in here is told in the log and ends nothing else."""
        try:
            await work
        except Exception:
            log.exception("a task for models failed: a fault of armlabd itself")
