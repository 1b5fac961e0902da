"""A model that is shown the table, asked what it sees, and never waited for too long.

What it answers is an `Opinion`, never an object of the scene. A model that is absent, loads, is
slow, fails or talks nonsense costs at most the patience, and then is left alone for a while; the
look goes on with the colours and says why. Pictures go to the backend that runs on this board,
cut to the table.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from armlabd.clock import Clock
from armlabd.inference.backend import Answer, Ask, Backend, Finish, ModelError, Warmth
from armlabd.perceive import ask
from armlabd.perceive.boxes import FORMATS, NAMES_ONLY, Shown, show
from armlabd.perceive.compare import Opinion, judge_all
from armlabd.perceive.encode import encode_png
from armlabd.perceive.scene import SceneSettings, claim_rules
from armlabd.perceive.view import View
from armlabd.perceive.vlm import ClaimError, parse_claims, parse_counts

log = logging.getLogger(__name__)

PATIENCE_S = 20.0  # a board needs 2 to 4 s for the picture and 30 tokens a second after it
REST_S = 30.0  # after a failure it is not asked for so long; doubled for each one after it
MOST_REST_S = 480.0
MAX_TOKENS = 768  # MOST_SEEN objects of some thirty tokens each
_COLOURS = "The colours alone are used."


@dataclass(frozen=True, slots=True)
class Looker:
    """A model that may be shown pictures, and how it writes boxes (`boxes.FORMATS` or "none")."""

    backend: Backend
    box_format: str


@dataclass(slots=True)
class _Rest:
    """Until when a model is left alone, and why."""

    model: str = ""
    until_s: float = 0.0
    next_s: float = REST_S
    why: str = ""


class ModelEye:
    """Asks the model in use, whichever that is at the moment."""

    def __init__(
        self,
        looker: Callable[[], Looker | None],
        settings: SceneSettings,
        clock: Clock,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._looker, self._settings, self._clock = looker, settings, clock
        self._patience_s = patience_s
        self._rest = _Rest()
        self._warming: asyncio.Task[None] | None = None
        self._warmed: Backend | None = None  # whom `_warming` loads

    def status(self) -> dict[str, Any] | None:
        """Which model looks too, and what keeps it from doing so; None without one."""
        looker = self._looker()
        if looker is None:
            return None
        resting = self._resting(looker.backend.model)
        return {
            "model": looker.backend.model,
            "boxes": looker.box_format,
            "state": "resting" if resting else "ready",
            "next": resting,
        }

    async def opinion(self, view: View) -> Opinion | None:
        """What the model makes of the table; with a `note` when nothing; None without a model."""
        looker = self._looker()
        if looker is None:
            return None
        model = looker.backend.model
        resting = self._resting(model)
        if resting:
            return Opinion(model, note=resting)
        try:
            found = await self._asked(looker, view)
        except TimeoutError:
            return self._failed(model, self._why_late())
        except (ModelError, ClaimError) as error:
            return self._failed(model, str(error))
        except Exception:
            log.exception("the model %s could not be asked: a fault of armlabd itself", model)
            return self._failed(model, "A fault of armlabd itself; see its log.")
        self._rest = _Rest()
        return found

    async def close(self) -> None:
        """Wait for no model to load any more."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)

    async def _asked(self, looker: Looker, view: View) -> Opinion:
        async with asyncio.timeout(self._patience_s):
            await self._warm(looker.backend)
            shown = await asyncio.to_thread(_shown, view, looker.box_format)
            question = await asyncio.to_thread(self._question, shown, looker.box_format)
            answer = await looker.backend.answer(question)
        return self._read(answer, looker, shown, view)

    async def _warm(self, backend: Backend) -> None:
        """Loading goes on when the look has no more patience: the next one finds it loaded."""
        if (await backend.state()).warmth is Warmth.WARM:
            return
        if self._warming is None or self._warming.done() or self._warmed is not backend:
            await self.close()  # of a model that is no longer in use
            self._warmed = backend
            self._warming = asyncio.create_task(backend.warm(), name="vision warms up")
            self._warming.add_done_callback(_forget)
        await asyncio.shield(self._warming)

    def _question(self, shown: Shown, box_format: str) -> Ask:
        labels = self._labels()
        image = encode_png(shown.image)
        if box_format == NAMES_ONLY:
            prompt, schema = ask.count_prompt(labels), ask.count_schema(labels)
        else:
            prompt, schema = ask.box_prompt(labels, shown), ask.box_schema(labels, shown)
        return Ask(ask.SYSTEM, prompt, schema, (image,), MAX_TOKENS, self._patience_s)

    def _read(self, answer: Answer, looker: Looker, shown: Shown, view: View) -> Opinion:
        model = looker.backend.model
        told = _told(answer)
        if answer.finish is Finish.LENGTH:
            raise ClaimError("The answer was cut off before its end.")
        if looker.box_format == NAMES_ONLY:
            counts = parse_counts(answer.text, self._labels())
            return Opinion(model, counts=counts, told=told)
        claims = parse_claims(answer.text, model, shown.undo)
        rules = claim_rules(view.table, self._settings)
        return Opinion(model, judge_all(claims, view.homography, rules), told=told)

    def _labels(self) -> list[str]:
        return [kind.label for kind in self._settings.objects]

    def _resting(self, model: str) -> str:
        """Why this model is not asked now; empty when it may be."""
        rest, now_s = self._rest, self._clock.monotonic()
        if rest.model != model or now_s >= rest.until_s:
            return ""
        return f"{model} is asked again in {rest.until_s - now_s:.0f} s: {rest.why}"

    def _failed(self, model: str, why: str) -> Opinion:
        rest_s = self._rest.next_s if self._rest.model == model else REST_S
        until_s = self._clock.monotonic() + rest_s
        self._rest = _Rest(model, until_s, min(2 * rest_s, MOST_REST_S), why)
        log.warning("%s has no part in the look: %s", model, why)
        return Opinion(model, note=f"{model} has no part in this look: {why} {_COLOURS}")

    def _why_late(self) -> str:
        if self._warming is not None and not self._warming.done():
            return f"It was not loaded within {self._patience_s:g} s; loading goes on."
        return f"It did not answer within {self._patience_s:g} s."


def _shown(view: View, box_format: str) -> Shown:
    form = FORMATS["pixels" if box_format == NAMES_ONLY else box_format]
    return show(view.table.image, view.part, form)


def _told(answer: Answer) -> Mapping[str, Any]:
    """What a run's trace keeps of an answer."""
    return {
        "text": answer.text[:2000],
        "prompt_tokens": answer.prompt_tokens,
        "output_tokens": answer.output_tokens,
        "load_s": round(answer.load_s, 3),
        "prompt_s": round(answer.prompt_s, 3),
        "output_s": round(answer.output_s, 3),
    }


def _forget(warming: asyncio.Task[None]) -> None:
    """Whoever waited has the exception; a loading that nobody waits for any more has none."""
    if not warming.cancelled():
        warming.exception()
