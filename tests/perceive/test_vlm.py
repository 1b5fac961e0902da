from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.perceive.claims import Claim
from armlabd.perceive.vlm import (
    MAX_COUNT,
    MAX_LABEL,
    MAX_OBJECTS,
    MAX_TEXT,
    ClaimError,
    parse_claims,
    parse_counts,
)

GOOD = {"label": "red block", "box": [204, 200, 239, 235]}


def answer(*items: object) -> str:
    return json.dumps({"objects": list(items)})


def test_a_good_answer_becomes_claims_also_within_other_words() -> None:
    claims = parse_claims("Here it is:\n```json\n" + answer(GOOD) + "\n``` Done.")
    assert claims == (Claim("red block", (204.0, 200.0, 239.0, 235.0), "model"),)


def test_an_empty_list_is_an_answer() -> None:
    assert parse_claims('{"objects": []}') == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I see a red block.", "no JSON object"),
        ('{"objects": "red block"}', "no list"),
        ('{"objects": [{"label": "red block"}]}', "lacks a box"),
        ('{"objects": [{"label": "red block", "box": [1, 2, 3,]}]}', "invalid JSON"),
    ],
)
def test_the_textbooks_four_bad_answers_have_four_reasons(text: str, reason: str) -> None:
    with pytest.raises(ClaimError, match=reason):
        parse_claims(text)


@pytest.mark.parametrize(
    "side", ["true", "false", '"12"', "null", "NaN", "Infinity", "-Infinity", "1e999", "[1]"]
)
def test_a_box_of_anything_but_finite_numbers_is_refused(side: str) -> None:
    with pytest.raises(ClaimError):
        parse_claims(f'{{"objects": [{{"label": "red block", "box": [1, 2, 3, {side}]}}]}}')


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_too_large_for_a_float_is_refused(digits: int) -> None:
    text = '{"objects": [{"label": "red block", "box": [1, 2, 3, %s]}]}' % ("9" * digits)
    with pytest.raises(ClaimError):
        parse_claims(text)


@pytest.mark.parametrize("box", [[], [1, 2, 3], [1, 2, 3, 4, 5], {"0": 1}, "1234", None, 7])
def test_a_box_of_another_shape_is_refused(box: object) -> None:
    with pytest.raises(ClaimError, match="Object 2 lacks a box"):
        parse_claims(answer(GOOD, {"label": "red block", "box": box}))


@pytest.mark.parametrize("label", ["", "  ", 7, True, None, ["red"], "a\nb", "x" * (MAX_LABEL + 1)])
def test_a_label_that_is_no_short_text_is_refused(label: object) -> None:
    with pytest.raises(ClaimError, match="lacks a label"):
        parse_claims(answer({**GOOD, "label": label}))


@pytest.mark.parametrize("item", [7, "red block", None, [1, 2, 3, 4], True])
def test_an_item_that_is_no_object_is_refused(item: object) -> None:
    with pytest.raises(ClaimError, match="Object 1 is not an object"):
        parse_claims(answer(item))


def test_the_number_of_objects_is_bounded_and_the_bound_is_inside() -> None:
    assert len(parse_claims(answer(*[GOOD] * MAX_OBJECTS))) == MAX_OBJECTS
    with pytest.raises(ClaimError, match="at most"):
        parse_claims(answer(*[GOOD] * (MAX_OBJECTS + 1)))


def test_long_and_deep_answers_are_refused() -> None:
    with pytest.raises(ClaimError):
        parse_claims(answer(GOOD) + " " * MAX_TEXT)
    with pytest.raises(ClaimError):
        parse_claims('{"objects":' + "[" * 30_000 + "]" * 30_000 + "}")


def test_a_box_is_put_back_and_keeps_what_speaks_against_it() -> None:
    (claim,) = parse_claims(answer(GOOD), "m", lambda box: ((1.0, 2.0, 3.0, 4.0), ("off",)))
    assert claim == Claim("red block", (1.0, 2.0, 3.0, 4.0), "m", faults=("off",))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({"red block": 1}, "every name"),
        ({"red block": 1, "blue block": 0, "hand": 1}, "every name"),
        ([1, 2], "every name"),
        ({"red block": True, "blue block": 0}, "no whole number"),
        ({"red block": 1.0, "blue block": 0}, "no whole number"),
        ({"red block": "1", "blue block": 0}, "no whole number"),
        ({"red block": -1, "blue block": 0}, "no whole number"),
        ({"red block": MAX_COUNT + 1, "blue block": 0}, "no whole number"),
    ],
)
def test_counts_of_anything_but_whole_numbers_for_every_name_are_refused(
    counts: object, reason: str
) -> None:
    with pytest.raises(ClaimError, match=reason):
        parse_counts(json.dumps({"counts": counts}), ["red block", "blue block"])


def test_counts_at_both_ends_are_an_answer() -> None:
    text = json.dumps({"counts": {"red block": 0, "blue block": MAX_COUNT}})
    counts = parse_counts(text, ["red block", "blue block"])
    assert dict(counts) == {"red block": 0, "blue block": MAX_COUNT}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)
ITEMS = st.fixed_dictionaries(
    {}, optional={"label": JSON_VALUES, "box": st.lists(JSON_VALUES, max_size=5) | JSON_VALUES}
)
ANSWERS = st.one_of(
    st.text(),
    JSON_VALUES.map(json.dumps),
    st.lists(ITEMS | JSON_VALUES, max_size=4).map(lambda items: json.dumps({"objects": items})),
    st.text(alphabet='{}[]":,objects01 eE.-', max_size=60),
)


@settings(max_examples=150, deadline=None)
@given(ANSWERS)
def test_any_text_gives_well_formed_claims_or_a_claim_error(text: str) -> None:
    try:
        claims = parse_claims(text)
    except ClaimError as error:
        assert str(error)  # noqa: PT017 (either ending is right)
        return
    for claim in claims:
        assert isinstance(claim.label, str)
        assert claim.label
        assert all(type(side) is float and math.isfinite(side) for side in claim.box)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-700, 700) | st.floats(-700, 700), min_size=4, max_size=4))
def test_every_finite_box_passes_the_form_unchanged(box: list[float]) -> None:
    (claim,) = parse_claims(answer({"label": "red block", "box": box}))
    assert list(claim.box) == box
