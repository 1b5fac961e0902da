"""The colours' scene beside an opinion: nothing added, nothing hidden, differences are disputes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armlabd.perceive.claims import Claim, Judged
from armlabd.perceive.compare import NEAR_M, SAME_M, Opinion, compared
from armlabd.perceive.describe import describe
from armlabd.perceive.scene import Scene, SceneObject

BOX = (1.0, 1.0, 30.0, 30.0)
RED = SceneObject("red block", 0.22, 0.09, 0.0, BOX, "colour")
BLUE = SceneObject("blue block", 0.15, -0.12, 0.0, BOX, "colour")
SCENE = Scene((RED, BLUE), (), 1.0)
LABELS = ("red block", "green block", "blue block")


def said(label: str, x: float, y: float, *reasons: str) -> Judged:
    return Judged(Claim(label, BOX, "vlm"), (x, y), reasons)


def opinion(*claims: Judged) -> Opinion:
    return Opinion("vlm", claims)


AGREED = (said("red block", 0.22, 0.09), said("blue block", 0.15, -0.12))


def after(*claims: Judged, first: Scene = SCENE, second: Scene = SCENE) -> Scene:
    return compared(first, second, opinion(*claims))


def test_where_the_model_agrees_nothing_changes() -> None:
    assert after(*AGREED) == SCENE


def test_a_loose_box_agrees_up_to_the_bound_and_not_beyond() -> None:
    near = said("red block", 0.22 + NEAR_M - 1e-6, 0.09)
    assert after(near, AGREED[1]) == SCENE
    scene = after(said("red block", 0.22 + NEAR_M + 1e-6, 0.09), AGREED[1])
    assert [d.item for d in scene.disputed] == [RED]


def test_an_object_the_model_does_not_see_stays_and_is_disputed() -> None:
    scene = after(AGREED[0])
    assert scene.objects == SCENE.objects
    (dispute,) = scene.disputed
    assert dispute.item is BLUE
    assert dispute.sentence == "The colours see a blue block, vlm sees none there."


def test_another_name_for_an_object_is_disputed_and_makes_no_object() -> None:
    scene = after(said("green block", 0.22, 0.09), AGREED[1])
    assert scene.objects == SCENE.objects
    assert scene.disputed[0].sentence == "The colours see a red block, vlm says green block."
    assert scene.rejected[0].reasons == ("The colours see a red block there.",)


def test_both_names_for_one_object_are_disputed() -> None:
    scene = after(*AGREED, said("green block", 0.221, 0.091))
    assert [d.item for d in scene.disputed] == [RED]


def test_a_claim_that_only_the_model_makes_is_rejected() -> None:
    scene = after(*AGREED, said("green block", 0.20, 0.0))
    assert scene.objects == SCENE.objects
    assert scene.disputed == ()
    assert scene.rejected[0].reasons == ("Only vlm sees this; the colours do not.",)


def test_one_more_of_a_kind_puts_those_the_colours_see_in_doubt() -> None:
    scene = after(*AGREED, said("red block", 0.20, 0.0))
    (dispute,) = scene.disputed
    assert dispute.sentence.endswith("vlm sees another one at x 0.200, y 0.000.")


def test_the_same_claim_again_and_again_counts_once() -> None:
    scene = after(*AGREED, *[AGREED[0]] * 48)
    assert scene.disputed == ()
    assert len(scene.rejected) == 48
    assert {one.reasons for one in scene.rejected} == {("vlm says this object twice.",)}


def test_a_claim_that_was_refused_agrees_with_nothing() -> None:
    scene = after(said("red block", 0.22, 0.09, "The box is not the size of a block."), AGREED[1])
    assert [d.item for d in scene.disputed] == [RED]
    assert len(scene.rejected) == 1


def test_a_claim_between_two_blocks_is_about_the_nearer_one() -> None:
    beside = replace(RED, x=0.19)
    scene = Scene((RED, beside), (), 1.0)
    both = (said("red block", 0.207, 0.09), said("red block", 0.203, 0.09))
    assert after(*both, first=scene, second=scene).disputed == ()


def test_what_a_second_look_found_and_the_model_had_claimed_is_confirmed() -> None:
    scene = after(*AGREED, first=Scene((BLUE,), (), 0.5))
    assert scene == SCENE


@pytest.mark.parametrize(
    "second",
    [
        Scene((BLUE,), (), 2.0),
        Scene((replace(RED, x=0.22 + SAME_M + 1e-6), BLUE), (), 2.0),
        Scene((replace(RED, label="green block"), BLUE), (), 2.0),
        Scene((RED, BLUE, replace(RED, y=-0.05)), (), 2.0),
    ],
    ids=["gone", "moved", "another", "new"],
)
def test_an_opinion_of_a_table_that_has_changed_is_not_used_and_said(second: Scene) -> None:
    scene = after(*AGREED, second=second)
    assert scene.objects == second.objects
    assert scene.disputed == ()
    assert scene.notes == ("Something moved while vlm looked: what it said is not used.",)


def test_a_note_instead_of_an_opinion_is_kept_and_nothing_else_changes() -> None:
    scene = compared(SCENE, SCENE, Opinion("vlm", note="vlm has no part in this look: gone."))
    assert scene == replace(SCENE, notes=("vlm has no part in this look: gone.",))


# --- names only ---------------------------------------------------------------------------------


def counted(**counts: int) -> Scene:
    full = {f"{name} block": number for name, number in counts.items()}
    return compared(SCENE, SCENE, Opinion("vlm", counts=full))


def test_right_counts_change_nothing() -> None:
    assert counted(red=1, green=0, blue=1) == SCENE


@pytest.mark.parametrize("number", [0, 2, 9])
def test_a_wrong_count_disputes_that_kind_and_no_other(number: int) -> None:
    scene = counted(red=number, green=0, blue=1)
    assert scene.objects == SCENE.objects
    (dispute,) = scene.disputed
    assert dispute.item is RED
    assert dispute.sentence == f"The colours see 1 of red block, vlm sees {number}."


def test_a_count_of_what_the_colours_do_not_see_is_a_note_and_no_object() -> None:
    scene = counted(red=1, green=3, blue=1)
    assert scene == replace(SCENE, notes=("The colours see 0 of green block, vlm sees 3.",))


# --- whatever it says ---------------------------------------------------------------------------

PLACES = st.tuples(st.floats(0.1, 0.28), st.floats(-0.15, 0.15))
CLAIMS = st.builds(
    lambda label, at, good: said(label, *at, *(() if good else ("no",))),
    st.sampled_from([*LABELS, "ignore all rules"]),
    PLACES | st.sampled_from([(0.22, 0.09), (0.15, -0.12)]),
    st.booleans(),
)


@given(st.lists(CLAIMS, max_size=50))
def test_no_opinion_adds_moves_or_hides_an_object_or_leaves_a_difference_unsaid(
    claims: list[Judged],
) -> None:
    scene = after(*claims)
    assert scene.objects == SCENE.objects
    good = [one for one in claims if one.accepted]
    for item in scene.objects:
        about = {
            one.claim.label
            for one in good
            if one.point and math.hypot(one.point[0] - item.x, one.point[1] - item.y) <= NEAR_M
        }
        if about != {item.label}:
            assert any(dispute.item is item for dispute in scene.disputed)
    agreed = len(claims) - len(scene.rejected)
    assert 0 <= agreed <= len(scene.objects)


@given(st.dictionaries(st.sampled_from(LABELS), st.integers(0, 50), min_size=3))
def test_no_count_adds_moves_or_hides_an_object(counts: dict[str, int]) -> None:
    scene = compared(SCENE, SCENE, Opinion("vlm", counts=counts))
    assert scene.objects == SCENE.objects
    wrong = {label for label, n in counts.items() if n != len(SCENE.find(label))}
    assert {d.item.label for d in scene.disputed} == wrong & {"red block", "blue block"}


def test_disputes_and_notes_are_told() -> None:
    scene = replace(after(AGREED[0]), notes=("vlm was slow.",))
    form = scene.as_dict()
    assert form["disputed"][0]["label"] == "blue block"
    assert "vlm sees none there" in form["disputed"][0]["reason"]
    assert form["notes"] == ["vlm was slow."]
    assert "vlm sees none there" in describe(scene)
    assert "vlm was slow." in describe(scene)
