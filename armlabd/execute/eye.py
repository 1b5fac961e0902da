"""The daemon's sight: one camera, its last scene, and looks that never block the event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from armlabd.clock import Clock
from armlabd.perceive.camera import Camera, Frame
from armlabd.perceive.encode import encode_jpeg, encode_png
from armlabd.perceive.errors import SightError
from armlabd.perceive.scene import Scene, SceneSettings, observe
from armlabd.verdict import Code, Verdict


class Eye:
    """Takes pictures one at a time, in a thread, and keeps the last scene."""

    def __init__(self, camera: Camera, settings: SceneSettings, clock: Clock) -> None:
        self._camera, self._settings, self._clock = camera, settings, clock
        self._lock = asyncio.Lock()
        self.scene: Scene | None = None
        self.seen: Frame | None = None  # the picture that `scene` was read from

    @property
    def frame(self) -> Frame | None:
        """The last picture that was believed, with or without markers in it."""
        return self._camera.last

    def status(self) -> dict[str, Any]:
        """The camera's part of the status."""
        return self._camera.status()

    async def look(self) -> Verdict:
        """A new picture as a scene. NO_CAMERA or NO_MARKERS with what to do."""
        async with self._lock:
            try:
                seen, scene = await asyncio.to_thread(self._observe)
            except SightError as error:
                return Verdict.refused(error.code, error.sentence)
            except OSError as error:
                sentence = f"The camera cannot be read: {error}. Check it, then look again."
                return Verdict.refused(Code.NO_CAMERA, sentence)
            self.seen, self.scene = seen, scene
        return Verdict(Code.OK, "", scene.as_dict(self._clock.monotonic()))

    async def jpeg(self) -> bytes | None:
        """The last believed picture; None before the first."""
        frame = self.frame
        return None if frame is None else await asyncio.to_thread(encode_jpeg, frame.image)

    async def png(self, frame: Frame | None) -> bytes | None:
        """A picture without loss, for a run's folder."""
        return None if frame is None else await asyncio.to_thread(encode_png, frame.image)

    def close(self) -> None:
        """Let go of the camera."""
        self._camera.close()

    def _observe(self) -> tuple[Frame, Scene]:
        frame = self._camera.grab()
        return frame, observe(frame, self._settings)
