"""The daemon's sight: one camera, its last scene, and looks that never block the event loop."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from armlabd.clock import Clock
from armlabd.perceive.camera import Camera, Frame
from armlabd.perceive.compare import Opinion, compared
from armlabd.perceive.encode import encode_jpeg, encode_png
from armlabd.perceive.errors import SightError
from armlabd.perceive.model_eye import ModelEye
from armlabd.perceive.scene import Scene, SceneSettings
from armlabd.perceive.view import View, view
from armlabd.verdict import Code, Verdict


class Eye:
    """Takes pictures one at a time, in a thread, and keeps the last scene.

    `model`, if given, is asked by `consult` only: a look is always the colours', at once.
    """

    def __init__(
        self,
        camera: Camera,
        settings: SceneSettings,
        clock: Clock,
        model: ModelEye | None = None,
    ) -> None:
        self._camera, self._settings, self._clock, self._model = camera, settings, clock, model
        self._lock = asyncio.Lock()
        self.view: View | None = None  # the last look that went well
        self._no_markers = ""  # why the last picture could not be measured

    @property
    def scene(self) -> Scene | None:
        """What the last look that went well made of its picture."""
        return None if self.view is None else self.view.scene

    @property
    def frame(self) -> Frame | None:
        """The last picture that was believed, whole, with or without markers in it."""
        return self._camera.last

    def status(self) -> dict[str, Any]:
        """The camera's part of the status, and the model's that looks too."""
        looker = None if self._model is None else self._model.status()
        return {**self._camera.status(), "markers": self._markers(), "model": looker}

    def _markers(self) -> dict[str, Any]:
        """How well they fitted in the last look, or why it could not measure."""
        if self._no_markers:
            return {"state": "not_seen", "next": self._no_markers}
        if self.view is None:
            return {"state": "not_looked", "next": ""}
        fit = self.view.homography
        worst_mm, apart_mm = round(1000 * fit.worst_m, 2), round(1000 * fit.apart_m, 2)
        return {"state": "seen", "worst_mm": worst_mm, "apart_mm": apart_mm, "next": ""}

    async def look(self) -> Verdict:
        """A new picture as a scene. NO_CAMERA or NO_MARKERS with what to do."""
        seen = await self._see()
        if isinstance(seen, Verdict):
            return seen
        taken_s = round(seen.scene.taken_s, 3)
        return Verdict(
            Code.OK, "", {**seen.scene.as_dict(self._clock.monotonic()), "taken_s": taken_s}
        )

    async def consult(self, first: View) -> tuple[View, Opinion | None] | Verdict:
        """A look, with a model's opinion of it and a second look after that.

        Without a model it is that look as it is. A Verdict when the second look failed.
        Cancelling it ends what a model generates.
        """
        opinion = None if self._model is None else await self._model.opinion(first)
        if opinion is None:
            return first, None
        second = first if opinion.note else await self._see()
        if isinstance(second, Verdict):
            return second
        return replace(second, scene=compared(first.scene, second.scene, opinion)), opinion

    async def jpeg(self, frame: Frame | None = None) -> bytes | None:
        """This picture, else the last believed one, whole; None before the first."""
        frame = frame or self.frame
        return None if frame is None else await asyncio.to_thread(encode_jpeg, frame.image)

    async def png(self, seen: View | None) -> bytes | None:
        """A look's picture without loss, for a run's folder: the table and nothing around it."""
        return None if seen is None else await asyncio.to_thread(encode_png, seen.table.image)

    async def close(self) -> None:
        """Let go of the camera, and of a model that loads."""
        if self._model is not None:
            await self._model.close()
        self._camera.close()

    async def _see(self) -> View | Verdict:
        async with self._lock:
            try:
                seen = await asyncio.to_thread(self._observe)
            except SightError as error:
                if error.code is Code.NO_MARKERS:
                    self._no_markers = error.sentence
                return Verdict.refused(error.code, error.sentence)
            except OSError as error:
                sentence = f"The camera cannot be read: {error}. Check it, then look again."
                return Verdict.refused(Code.NO_CAMERA, sentence)
            self.view, self._no_markers = seen, ""
        return seen

    def _observe(self) -> View:
        return view(self._camera.grab(), self._settings)
