from __future__ import annotations

import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from armlabd.config.model import Config
from armlabd.perceive.annotate import annotate
from armlabd.perceive.claims import Claim
from armlabd.perceive.describe import describe
from armlabd.perceive.scene import Scene, SceneSettings, observe
from armlabd.table import ObjectKind


def yaw_apart_deg(a: float, b: float) -> float:
    return abs((a - b + 45) % 90 - 45)


def worst_of(scene: Scene, blocks: tuple) -> tuple[float, float]:
    """Worst position error in mm and yaw error in degrees; each block must be seen once."""
    errors = []
    for block in blocks:
        (found,) = scene.find(block.label)
        mm = 1000 * float(np.hypot(found.x - block.x, found.y - block.y))
        errors.append((mm, yaw_apart_deg(found.yaw_deg, block.yaw_deg)))
    mms, degs = zip(*errors, strict=True)
    return max(mms), max(degs)


def test_blocks_of_the_flat_textbook_picture_are_within_half_a_millimetre(
    draw: SimpleNamespace,
) -> None:
    scene = observe(draw.frame(draw.textbook()), draw.FLAT)
    mm, deg = worst_of(scene, draw.TEXTBOOK)
    assert mm <= 0.5
    assert deg < 1
    assert not scene.rejected
    assert not scene.ambiguous


@pytest.mark.parametrize(
    "shades", [(0.65, 0.5), (0.9, 0.8), (0.2, 0.2), (1.0, 1.0)],
    ids=["usual", "hardly darker", "nearly black", "no darker"],
)  # fmt: skip
def test_raised_blocks_are_measured_whatever_light_falls_on_their_sides(
    draw: SimpleNamespace, shades: tuple[float, float]
) -> None:
    rng = np.random.default_rng(5)
    for seed in range(8):
        blocks = draw.random_blocks(rng)
        scene = observe(draw.frame(draw.raised(blocks, seed, shades)), draw.RAISED)
        mm, deg = worst_of(scene, blocks)
        assert mm < 1.5
        assert deg < 4


def test_without_the_height_correction_the_bar_would_be_missed(draw: SimpleNamespace) -> None:
    picture = draw.raised((draw.Block("red block", 0.20, 0.12),))
    scene = observe(draw.frame(picture), draw.FLAT)
    seen_y = [item.y for item in scene.objects] + [one.point[1] for one in scene.rejected]
    assert len(seen_y) == 1
    assert seen_y[0] - 0.12 > 0.004


@pytest.mark.parametrize("size_m", [0.02, 0.045])
def test_other_sizes_of_block_are_measured_too(draw: SimpleNamespace, size_m: float) -> None:
    kinds = tuple(ObjectKind(k.label, k.hue, size_m) for k in SceneSettings().objects)
    blocks = (draw.Block("red block", 0.12, 0.13, 40), draw.Block("blue block", 0.27, -0.1, -20))
    picture = draw.raised(blocks, size_m=size_m)
    mm, deg = worst_of(observe(draw.frame(picture), SceneSettings(objects=kinds)), blocks)
    assert mm < 1.5
    assert deg < 4


@pytest.mark.parametrize("spoil", ["dim", "blurred", "jpeg", "gradient"])
def test_poor_pictures_are_measured_too(draw: SimpleNamespace, spoil: str) -> None:
    blocks = (draw.Block("red block", 0.12, 0.13, 40), draw.Block("green block", 0.27, -0.1, -20))
    picture = draw.raised(blocks)
    ramp = np.linspace(0.6, 1.0, 640)[None, :, None]
    spoiled = {
        "dim": lambda: (picture * 0.5).astype(np.uint8),
        "blurred": lambda: cv2.GaussianBlur(picture, (5, 5), 1.5),
        "jpeg": lambda: cv2.imdecode(cv2.imencode(".jpg", picture, [1, 60])[1], 1),
        "gradient": lambda: (picture * ramp).astype(np.uint8),
    }[spoil]()
    mm, deg = worst_of(observe(draw.frame(spoiled), draw.RAISED), blocks)
    assert mm < 1.5
    assert deg < 4


def test_two_blocks_of_one_label_are_both_listed_and_called_ambiguous(
    draw: SimpleNamespace,
) -> None:
    blocks = (draw.Block("red block", 0.14, -0.09, 33), draw.Block("red block", 0.25, 0.09, -20))
    scene = observe(draw.frame(draw.raised(blocks)), draw.RAISED)
    assert len(scene.objects) == 2
    assert list(scene.ambiguous) == ["red block"]
    assert {round(item.x, 2) for item in scene.ambiguous["red block"]} == {0.14, 0.25}
    assert "2 of red block" in describe(scene)


def test_two_blocks_that_touch_at_a_corner_are_told_apart(draw: SimpleNamespace) -> None:
    blocks = (draw.Block("red block", 0.2, 0.05, 0), draw.Block("red block", 0.2, 0.0905, 45))
    scene = observe(draw.frame(draw.raised(blocks)), draw.RAISED)
    assert len(scene.ambiguous["red block"]) == 2


def test_two_blocks_side_by_side_are_never_taken_for_one(draw: SimpleNamespace) -> None:
    blocks = (draw.Block("red block", 0.2, 0.05), draw.Block("red block", 0.2, 0.0802))
    scene = observe(draw.frame(draw.raised(blocks)), draw.RAISED)
    assert len(scene.objects) != 1


def paint(picture: np.ndarray, shape: str, at: tuple[int, int]) -> None:
    red = (0, 0, 255)
    (u, v) = at
    if shape == "pen":
        cv2.rectangle(picture, (u - 8, v - 35), (u + 8, v + 35), red, -1)
    elif shape == "disc":
        cv2.circle(picture, at, 20, red, -1)
    elif shape == "sheet":
        cv2.rectangle(picture, (u - 60, v - 60), (u + 60, v + 60), red, -1)
    else:
        cv2.rectangle(picture, (u - 6, v - 6), (u + 6, v + 6), red, -1)


@pytest.mark.parametrize("shape", ["pen", "disc", "sheet", "crumb"])
def test_red_things_that_are_no_blocks_are_rejected_with_a_reason(
    draw: SimpleNamespace, shape: str
) -> None:
    picture = draw.empty_table()
    paint(picture, shape, (320, 240))
    scene = observe(draw.frame(draw.with_noise(picture)), draw.RAISED)
    assert not scene.objects
    assert scene.rejected
    assert all("not the size of a block" in " ".join(one.reasons) for one in scene.rejected)


def test_specks_below_100_pixels_are_noise(draw: SimpleNamespace) -> None:
    picture = draw.empty_table()
    cv2.rectangle(picture, (316, 236), (324, 244), (0, 0, 255), -1)
    scene = observe(draw.frame(draw.with_noise(picture)), draw.RAISED)
    assert not scene.objects
    assert not scene.rejected


def test_a_half_hidden_block_is_rejected_not_mismeasured(draw: SimpleNamespace) -> None:
    picture = draw.raised((draw.Block("red block", 0.2, 0.0),))
    picture[200:280, 322:400] = (60, 60, 60)
    scene = observe(draw.frame(picture), draw.RAISED)
    assert not scene.objects
    assert "partly hidden" in scene.rejected[0].reasons[0]


def test_a_block_outside_the_area_is_listed_as_rejected_with_its_place(
    draw: SimpleNamespace,
) -> None:
    scene = observe(draw.frame(draw.raised((draw.Block("blue block", 0.31, 0.0),))), draw.RAISED)
    (rejected,) = scene.as_dict(1.0)["rejected"]
    assert (rejected["x"], rejected["y"]) == pytest.approx((0.31, 0.0), abs=0.001)
    assert "outside the area" in rejected["reasons"][0]
    assert "Not used: blue block" in describe(scene)


def test_a_block_at_a_named_place_is_still_an_object(draw: SimpleNamespace) -> None:
    scene = observe(draw.frame(draw.raised((draw.Block("red block", 0.20, -0.10),))), draw.RAISED)
    assert len(scene.find("red block")) == 1


def test_a_models_claims_are_judged_by_the_same_rules(draw: SimpleNamespace) -> None:
    claims = [
        Claim("red block", (204, 200, 239, 235), "model"),
        Claim("blue block", (650, 300, 700, 350), "model"),
        Claim("teapot", (301, 224, 341, 260), "model"),
    ]
    scene = observe(draw.frame(draw.textbook()), draw.FLAT, claims)
    assert [(item.label, item.source) for item in scene.objects] == [("red block", "model")]
    assert [one.claim.label for one in scene.rejected] == ["blue block", "teapot"]


def test_the_json_form_has_the_designs_keys(draw: SimpleNamespace) -> None:
    blocks = (draw.Block("red block", 0.14, -0.09), draw.Block("red block", 0.25, 0.09))
    scene = observe(draw.frame(draw.raised(blocks), taken_s=10.0), draw.RAISED)
    form = json.loads(json.dumps(scene.as_dict(now_s=10.25), allow_nan=False))
    assert set(form) == {"objects", "rejected", "ambiguous", "disputed", "notes", "age_s"}
    assert set(form["objects"][0]) == {"label", "x", "y", "yaw_deg", "box", "source"}
    assert form["ambiguous"][0]["label"] == "red block"
    assert len(form["ambiguous"][0]["candidates"]) == 2
    assert form["age_s"] == 0.25


def test_every_yaw_shown_is_in_the_half_open_range(draw: SimpleNamespace) -> None:
    for yaw in (-45.0, 44.99, 45.0, 89.0):
        blocks = (draw.Block("red block", 0.2, 0.05, yaw),)
        scene = observe(draw.frame(draw.raised(blocks)), draw.RAISED)
        shown = scene.as_dict()["objects"][0]["yaw_deg"]
        assert -45 < shown <= 45
        assert yaw_apart_deg(shown, yaw) < 4


def test_an_empty_table_is_described_as_empty(draw: SimpleNamespace) -> None:
    scene = observe(draw.frame(draw.with_noise(draw.empty_table())), draw.RAISED)
    assert describe(scene) == "No objects are seen."


def test_the_settings_come_from_the_config() -> None:
    config = Config.model_validate(
        {
            "camera": {"x": 0.21, "height_m": 0.5},
            "perceive": {"block_height_m": 0.0},
            "workspace": {"x_max": 0.25},
        }
    )
    settings = SceneSettings.from_config(config)
    assert (settings.lens.x, settings.lens.height_m) == (0.21, 0.5)
    assert settings.block_height_m == 0
    assert settings.area.x_max == 0.25
    assert SceneSettings.from_config(Config()) == SceneSettings()


def test_the_annotated_picture_is_a_copy_with_green_and_red(draw: SimpleNamespace) -> None:
    blocks = (draw.Block("blue block", 0.2, 0.05), draw.Block("blue block", 0.31, 0.0))
    frame = draw.frame(draw.raised(blocks))
    before = frame.image.copy()
    shown = annotate(frame, observe(frame, draw.RAISED))
    assert np.array_equal(frame.image, before)
    for colour in ((0, 160, 0), (0, 0, 220)):
        assert np.any(np.all(shown == colour, axis=2))


def test_an_annotation_beyond_the_picture_does_no_harm(draw: SimpleNamespace) -> None:
    claims = [
        Claim("red block", (-1e9, -5, 1e12, 9e9), "model"),
        Claim("red block", (float("nan"), 1, 2, 3), "model"),
        Claim("red block", (630, 470, 639, 479), "model"),
    ]
    frame = draw.frame(draw.textbook())
    scene = observe(frame, draw.FLAT, claims)
    assert annotate(frame, scene).shape == frame.image.shape
