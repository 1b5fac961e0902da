"""Using the page: keys and roles, a goal, its steps, a question, the picture; for everybody."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import DESK, PHONE, headline, requests_of, type_key
from harness import AGENT_KEY, OPERATOR_KEY, RealArm, wait_until
from playwright.sync_api import Page, expect

from armlabd.cli.client import Answer

HOSTILE = "<img src=x onerror=alert(1)> & <b>block</b>"


def out_of_the_picture(arm: RealArm) -> None:
    """The arm hides nothing, so that a goal need not move it first.

    A browser next to it may keep the virtual servos from answering in time: then it is lost.
    """
    said: list[Answer] = []

    def looked() -> bool:
        arm.client.request("POST", "/stop/clear", {})
        said.append(answer := arm.call("look"))
        return answer.ok

    try:
        wait_until(looked, "the arm looked", 40.0)
    except AssertionError as error:
        raise AssertionError(f"{error}; {said[-3:]} {arm.status()['arm']['joints_deg']}") from error


def given(page: Page, goal: str) -> bool:
    """Type a goal and send it with Enter; False when it was refused."""
    page.fill("#goal", goal)
    page.press("#goal", "Enter")
    expect(page.locator("#goal-said")).not_to_have_text("…")
    return page.inner_text("#goal-said") == ""


def test_a_goal_its_steps_its_question_and_the_answer(open_page: Any, arm: RealArm) -> None:
    out_of_the_picture(arm)
    page = open_page()
    headline(page, "READY")
    goals = requests_of(page, "POST", "/goals")
    tries = 1
    while not given(page, "put the yellow block in the bin"):
        tries += 1  # the servos were not all heard just then
        assert tries <= 20, page.inner_text("#goal-said")
    expect(page.locator("#question-text")).to_contain_text("no yellow block")
    headline(page, "WAITING FOR YOU")
    expect(page.locator("#run-goal")).to_contain_text("put the yellow block in the bin")
    assert len(goals) == tries
    page.locator("#question-options button", has_text="green block").click()
    expect(page.locator("#question")).to_be_hidden()
    expect(page.locator("#steps li.done").first).to_be_visible()
    expect(page.locator("#run")).to_contain_text(re.compile("above the green block|servos stopped"))
    expect(page.locator("#run-state")).to_contain_text("Ended")
    expect(page.locator("#cancel")).to_be_hidden()


def test_a_run_is_cancelled_where_it_is_shown(open_page: Any, arm: RealArm) -> None:
    out_of_the_picture(arm)
    page = open_page()
    goal = {"goal": "put the yellow block in the bin"}
    wait_until(lambda: arm.client.request("POST", "/goals", goal).ok, "somebody else's goal")
    headline(page, "WAITING FOR YOU")
    page.click("#cancel")
    expect(page.locator("#run-state")).to_contain_text("Ended: cancelled")
    expect(page.locator("#cancel")).to_be_hidden()
    expect(page.locator("#question")).to_be_hidden()


def test_what_is_refused_says_why_where_it_was_asked(open_page: Any, arm: RealArm) -> None:
    page = open_page()
    arm.client.request("POST", "/stop")
    headline(page, "STOPPED")
    page.fill("#goal", "put the red block in the bin")
    page.click("#goal-send")
    expect(page.locator("#goal-said")).to_contain_text("stopped")
    expect(page.locator("#goal")).to_have_value("put the red block in the bin")


def test_the_picture_with_its_claims_and_its_age(open_page: Any, arm: RealArm) -> None:
    out_of_the_picture(arm)
    page = open_page()
    expect(page.locator("#claims li.seen", has_text="red block")).to_be_visible()
    expect(page.locator("#picture-age")).to_contain_text("s old")
    label = page.get_attribute("#picture", "aria-label")
    assert label is not None
    assert "red block (seen)" in label
    box = arm.client.request("GET", "/scene").body["objects"][0]["box"]
    corner = page.evaluate(
        "([x, y]) => [...document.getElementById('picture').getContext('2d')"
        ".getImageData(x, y, 1, 1).data]",
        [round(box[0]), round((box[1] + box[3]) / 2)],
    )
    assert corner[1] > 150 > corner[0]  # a green line where the box is


CLAIMS = {
    "ok": True,
    "objects": [
        {"label": "red block", "x": 0.2, "y": 0.1, "yaw_deg": 0, "box": [200, 200, 240, 240]},
        {"label": "red block", "x": 0.2, "y": 0.0, "yaw_deg": 0, "box": [300, 200, 340, 240]},
        {"label": "blue block", "x": 0.1, "y": 0.0, "yaw_deg": 0, "box": [300, 300, 340, 340]},
    ],
    "rejected": [{"label": HOSTILE, "box": [10, 10, 20, 20], "reasons": ["Too small.", HOSTILE]}],
    "ambiguous": [{"label": "red block", "candidates": []}],
    "disputed": [
        {"label": "blue block", "box": [300, 300, 340, 340], "reason": "A model says cup."}
    ],
    "notes": [HOSTILE],
    "age_s": 0.1,
    "taken_s": 0.0,
}


def test_what_is_not_believed_says_why_and_no_words_become_code(
    open_page: Any, arm: RealArm
) -> None:
    out_of_the_picture(arm)
    page = open_page(key="")
    page.route("**/scene", lambda route: route.fulfill(json={**CLAIMS, "taken_s": taken_s(arm)}))
    type_key(page)
    for kind, words in {
        "unclear": "several red block: x 0.200, y 0.100",
        "disputed": "disputed blue block: x 0.100, y 0.000 m. A model says cup.",
        "rejected": f"not believed {HOSTILE}: Too small. {HOSTILE}",
    }.items():
        expect(page.locator(f"#claims li.{kind}").first).to_contain_text(words)
    page.fill("#goal", HOSTILE)
    page.click("#goal-send")
    expect(page.locator("#run-goal")).to_contain_text(HOSTILE)
    assert page.locator("img, script:not([src])").count() == 0


def taken_s(arm: RealArm) -> float:
    """Of a look made now: the picture that the page fetches next is that of this look."""
    taken: float = arm.client.request("GET", "/scene").body["taken_s"]
    return taken


def test_an_agent_gives_goals_and_clears_with_an_operators_key_used_once(
    open_page: Any, arm: RealArm
) -> None:
    page = open_page(key=AGENT_KEY)
    headline(page, "READY")
    page.click("#stop")
    page.click("#clear-ask")
    page.fill("#clear-key", "no such key")
    page.click("#clear-yes")
    expect(page.locator("#clear-said")).to_contain_text("X-API-Key")
    page.click("#clear-ask")
    expect(page.locator("#clear-key")).to_have_value("")
    page.fill("#clear-key", OPERATOR_KEY)
    page.click("#clear-yes")
    headline(page, "READY")
    assert OPERATOR_KEY not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    expect(page.locator("#parts-list")).to_contain_text("agent")


def test_a_key_is_this_tabs_alone_and_a_wrong_one_is_said(open_page: Any, arm: RealArm) -> None:
    page = open_page(key="wrong-key-0001")
    expect(page.locator("#key-said")).to_contain_text("wrong or was revoked")
    headline(page, "NO KEY YET")
    type_key(page)
    headline(page, "READY")
    page.reload()
    headline(page, "READY")
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    other = page.context.new_page()
    other.goto(arm.client.url)
    headline(other, "NO KEY YET")
    page.click("#forget")
    headline(page, "NO KEY YET")
    assert page.evaluate("sessionStorage.length") == 0


def test_case_71_name_and_address_of_the_board_both_open_the_page(
    open_page: Any, arm: RealArm
) -> None:
    for name in ("127.0.0.1", "localhost"):
        page = open_page(arm.client.url.replace("127.0.0.1", name))
        headline(page, "READY")
        page.click("#stop")  # its Origin is that name too
        headline(page, "STOPPED")
        arm.clear()


@pytest.mark.parametrize(
    ("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"]
)
def test_everybody_can_use_it(open_page: Any, arm: RealArm, size: Any, scheme: str) -> None:
    page = open_page(size=size, color_scheme=scheme, bypass_csp=True)
    arm.client.request("POST", "/stop")
    headline(page, "STOPPED")
    page.click("#clear-ask")
    expect(page.locator("#clear-no")).to_be_focused()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
