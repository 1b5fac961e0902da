"""The scene in plain words: for a person, a log line, or a language model's prompt."""

from __future__ import annotations

from armlabd.perceive.scene import Scene, SceneObject


def describe(scene: Scene) -> str:
    """A few short sentences: what lies where (metres, degrees), what is unclear or refused."""
    parts = [_seen(scene.objects)]
    parts += [
        f"There are {len(items)} of {label}; say which one."
        for label, items in scene.ambiguous.items()
    ]
    parts += [f"Not used: {one.claim.label}. {' '.join(one.reasons)}" for one in scene.rejected]
    parts += [dispute.sentence for dispute in scene.disputed]
    parts += scene.notes
    return " ".join(parts)


def _seen(objects: tuple[SceneObject, ...]) -> str:
    if not objects:
        return "No objects are seen."
    return "Seen: " + "; ".join(_place(item) for item in objects) + "."


def _place(item: SceneObject) -> str:
    turned = f", turned {item.yaw_deg:+.0f} degrees" if abs(item.yaw_deg) >= 1 else ""
    return f"{item.label} at x {item.x:.3f} m, y {item.y:+z.3f} m{turned}"
