"""What can keep the house from seeing: a cause code and a sentence with a remedy."""

from __future__ import annotations

from armlabd.verdict import Code


class SightError(Exception):
    """There is no scene. `code` is the cause, `sentence` says what, what is allowed, what to do."""

    def __init__(self, code: Code, sentence: str) -> None:
        self.code, self.sentence = code, sentence
        super().__init__(sentence)


class CameraError(SightError):
    """No usable picture. The code is always NO_CAMERA."""

    def __init__(self, sentence: str) -> None:
        super().__init__(Code.NO_CAMERA, sentence)


class MarkerError(SightError):
    """The picture cannot be measured: the markers are not all there. The code is NO_MARKERS."""

    def __init__(self, sentence: str) -> None:
        super().__init__(Code.NO_MARKERS, sentence)
