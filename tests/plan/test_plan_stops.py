"""Which sentences mean stop: decided at the door, so in doubt it stops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armlabd.plan.stops import means_stop

STOPS = (
    "stop",
    "Stop!",
    "STOP!!!",
    "  stop  ",
    "stop it now",
    "stop right now please",
    "please stop",
    "stop the arm",
    "stop moving",
    "stop, the block fell",
    "stop putting the block there",
    "no no no stop",
    "oh no, stop it",
    "wait, stop",
    "I said stop",
    "can you stop moving please",
    "the arm must stop",
    "make it stop",
    "you have to stop",
    "put the red block in the bin. STOP!",
    "put it down, stop!",
    "halt",
    "Freeze!",
    "abort",
    "e-stop",
    "E STOP",
    "estop now",
    "emergency stop",
    "emergency!",
    "hit the emergency stop",
    "press the e-stop",
    "don't move",
    "do not move",
    "hold still",
    "stand still",
    "torque off",
    "s t o p",
    "stooooop",
    "STOPP",
    "stpo",
    "sotp",
    "stp",
    "ＳＴＯＰ",
    "stop\nplease",
)
NO_STOPS = (
    "",
    "   ",
    "put the block at the stop",
    "put the red block next to the bus stop",
    "go to the stop",
    "put it in the bin, then stop",
    "put it in the bin and then stop",
    "don't stop",
    "do not stop",
    "never stop",
    "please do not stop",
    "clear the stop",
    "is the e-stop pressed?",
    "where is the stop button",
    "why did you stop",
    "is the arm stopped",
    "the top block",
    "pick up the top one",
    "step",
    "shop",
    "go home",
    "let go",
    "hold the red block",
    "open the gripper",
    "non-stop",
    "put the red block in the bin",
    "move the red block to x 0.2, y 0.1",
)


@pytest.mark.parametrize("sentence", STOPS)
def test_it_means_stop(sentence: str) -> None:
    assert means_stop(sentence)


@pytest.mark.parametrize("sentence", NO_STOPS)
def test_it_does_not_mean_stop(sentence: str) -> None:
    assert not means_stop(sentence)


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_text_is_answered(text: str) -> None:
    assert means_stop(text) in (True, False)


@settings(max_examples=100)
@given(st.sampled_from(("stop", "halt", "freeze", "abort")), st.text(max_size=40))
def test_a_sentence_that_begins_with_a_stop_word_is_a_stop(word: str, rest: str) -> None:
    assert means_stop(f"{word} {rest}")


def test_a_stop_in_front_of_an_endless_text_is_still_a_stop() -> None:
    assert means_stop("stop " + "x " * 100_000)
