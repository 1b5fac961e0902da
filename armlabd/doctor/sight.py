"""Camera and markers: does a picture come, and how well do the tags in it fit their places?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from armlabd.doctor.report import Check, finding, ok, skipped
from armlabd.doctor.subject import Subject, daemon_pid
from armlabd.perceive.errors import CameraError

if TYPE_CHECKING:
    from armlabd.perceive.camera import Frame

MOST_MM, MOST_APART_MM = 3.0, 5.0  # perceive/markers refuses more (a test compares)
USUAL_APART_MM = 2.0  # tags that lie where the guide says, cut and laid with care
GUIDE = "armlabd markers prints them with a guide: lay each at its place, flat and uncovered."
LOOK = "armlabd call look"


def sight_checks(subject: Subject) -> tuple[Check, Check]:
    """The camera's check and the markers'. A running daemon is asked, its camera not opened."""
    if subject.status is not None:
        return _of_daemon(subject, subject.status.get("camera") or {})
    if daemon_pid(subject.state, subject.roots.proc) is not None:
        return _not_looked(
            "The daemon has it and shows its status to a key only: set ARM_OPERATOR_KEY."
        )
    config = subject.config.camera
    if subject.simulated or config.source == "sim":
        return _not_looked("The virtual camera is seen once the daemon runs.")
    if config.source in ("none", ""):
        return _no_camera()
    camera = subject.make_camera(config)
    try:
        frame = camera.grab()
    except CameraError as error:
        steps = "Do what the sentence says, then ask again."
        return finding("camera", error.sentence, steps), _no_picture()
    finally:
        camera.close()
    return ok("camera", f"{config.source} gives a picture."), _in_frame(subject, frame)


def _of_daemon(subject: Subject, camera: Mapping[str, Any]) -> tuple[Check, Check]:
    if camera.get("state") == "none":
        return _no_camera()
    if camera.get("state") == "failed":
        step = f"Do what the sentence says, then: {LOOK}"
        return finding("camera", str(camera.get("next")), step), _no_picture()
    used = "" if camera.get("state") == "ready" else " No picture was asked for yet."
    check = ok("camera", f"{camera.get('source')} is in use by the daemon.{used}")
    live = subject.live() if subject.keep is not None else None
    if live is not None:
        from armlabd.perceive.camera import frame_of

        try:
            return check, _in_frame(subject, frame_of(live, str(camera.get("source"))))
        except CameraError as error:
            return finding("camera", error.sentence), _no_picture()
    return check, _told_markers(camera.get("markers") or {})


def _in_frame(subject: Subject, frame: Frame) -> Check:
    """Measure a picture, and keep it with what is seen in it if somebody wants it."""
    from armlabd.perceive.annotate import annotate_look
    from armlabd.perceive.encode import encode_png
    from armlabd.perceive.errors import MarkerError
    from armlabd.perceive.scene import SceneSettings, measure

    settings = SceneSettings.from_config(subject.config)
    if subject.keep is not None:
        subject.keep(encode_png(annotate_look(frame, settings)))
    try:
        found = measure(frame, settings)
    except MarkerError as error:
        return finding("markers", error.sentence, GUIDE)
    return _fit(1000 * found.worst_m, 1000 * found.apart_m)


def _told_markers(told: Mapping[str, Any]) -> Check:
    """What the daemon's last look said of the markers."""
    if told.get("state") == "not_seen":
        return finding("markers", str(told.get("next")), GUIDE, LOOK)
    worst_mm, apart_mm = told.get("worst_mm"), told.get("apart_mm")
    if not isinstance(worst_mm, int | float) or not isinstance(apart_mm, int | float):
        return skipped("markers", f"Nobody has looked yet: {LOOK}")
    return _fit(float(worst_mm), float(apart_mm))


def _fit(worst_mm: float, apart_mm: float) -> Check:
    """Both errors with what is allowed; one that is larger than usual is told, but no fault."""
    sentence = (
        f"All four are seen. Reprojection error {worst_mm:.1f} mm at the worst corner (at most "
        f"{MOST_MM:g}); each lies within {apart_mm:.1f} mm of where the others put it (at most "
        f"{MOST_APART_MM:g})."
    )
    better = "" if apart_mm <= USUAL_APART_MM else " Measure between them: 2 mm can be reached."
    return ok("markers", sentence + better)


def _not_looked(why: str) -> tuple[Check, Check]:
    return skipped("camera", why), skipped("markers", "The camera has to be seen first.")


def _no_camera() -> tuple[Check, Check]:
    none = finding(
        "camera",
        "None is set: tool calls work, sentences about blocks do not.",
        "Write [camera] source into config.toml.",
    )
    return none, _no_picture()


def _no_picture() -> Check:
    return skipped("markers", "The camera has to work first.")
