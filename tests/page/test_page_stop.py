"""The stop of the page: one press, one request, no question, whatever else goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from browsing import DESK, PHONE, SECOND_MS, box_of, headline, requests_of, stops_on_record
from harness import RealArm
from playwright.sync_api import Page, expect
from slow_door import slow_door

OTHERS = 3  # requests that the page has under way besides a stop; a browser sends six at once
APART_PX = 24  # a fingertip's slip

PRESSES: dict[str, Callable[[Page], None]] = {
    "click": lambda page: page.click("#stop"),
    "slipped off": lambda page: _press_and_slip(page),
    "enter": lambda page: page.press("#stop", "Enter"),
    "space": lambda page: page.press("#stop", " "),
    "escape": lambda page: page.keyboard.press("Escape"),
    "escape held": lambda page: _hold(page),
    "escape while typing": lambda page: page.press("#goal", "Escape"),
    "assistive": lambda page: page.evaluate("document.getElementById('stop').click()"),
}


def _hold(page: Page) -> None:
    for _ in range(5):  # the second and later ones are repeats of the keyboard
        page.keyboard.down("Escape")
    page.keyboard.up("Escape")


def _press_and_slip(page: Page) -> None:
    left, top, _, bottom = box_of(page, "#stop")
    page.mouse.move(left + 10, top + 10)
    page.mouse.down()
    page.mouse.move(left + 10, bottom + 80)
    page.mouse.up()


def test_case_8_one_press_is_one_request_at_once(open_page: Any, arm: RealArm) -> None:
    page = open_page()
    asked = requests_of(page, "POST", "/stop")
    for number, (name, press) in enumerate(PRESSES.items(), 1):
        headline(page, "READY")
        before = stops_on_record(arm)
        press(page)
        headline(page, "STOPPED")
        page.wait_for_timeout(SECOND_MS)
        assert (len(asked), stops_on_record(arm)) == (number, before + 1), name
        expect(page.locator("#stop-said")).to_contain_text("confirmed")
        arm.clear()


def test_case_8_a_finger_on_a_phone(open_page: Any, arm: RealArm) -> None:
    page = open_page(size=PHONE, has_touch=True, is_mobile=True)
    asked = requests_of(page, "POST", "/stop")
    headline(page, "READY")
    page.tap("#stop")
    headline(page, "STOPPED")
    page.wait_for_timeout(SECOND_MS)
    assert len(asked) == 1


def test_case_6_a_stop_asks_nothing_and_a_clear_asks_first(open_page: Any, arm: RealArm) -> None:
    page = open_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    clears = requests_of(page, "POST", "/stop/clear")
    headline(page, "READY")
    expect(page.locator("#clear-ask")).to_be_hidden()
    page.click("#stop")
    headline(page, "STOPPED")
    page.wait_for_timeout(SECOND_MS)
    expect(page.locator("#clear")).to_be_hidden()
    page.click("#clear-ask")
    expect(page.locator("#clear-cause")).to_contain_text("asked by the key 'ARM_OPERATOR_KEY'")
    assert clears == []
    page.click("#clear-no")
    expect(page.locator("#clear")).to_be_hidden()
    assert (clears, arm.status()["stopped"]) == ([], True)
    page.click("#clear-ask")
    page.click("#clear-yes")
    headline(page, "READY")
    expect(page.locator("#stop-said")).to_be_empty()
    assert (len(clears), dialogs) == (1, [])


def test_case_6_the_stop_works_while_the_page_asks_about_clearing(
    open_page: Any, arm: RealArm
) -> None:
    page = open_page()
    page.click("#stop")
    page.click("#clear-ask")
    before = stops_on_record(arm)
    page.click("#stop")
    expect(page.locator("#clear")).to_be_hidden()
    expect(page.locator("#stop-said")).to_contain_text("confirmed")
    assert stops_on_record(arm) == before + 1
    assert arm.status()["stopped"]


def test_a_pressed_button_is_told_and_clearing_waits_until_it_can_be(
    open_page: Any, arm: RealArm
) -> None:
    page = open_page()
    headline(page, "READY")
    expect(page.locator("#badges")).to_contain_text("stop button: unproven")
    (arm.state / "button").write_text("1")
    headline(page, "STOPPED")
    expect(page.locator("#badges")).to_contain_text("stop button: pressed")
    expect(page.locator("#why-not")).to_contain_text("release it first")
    expect(page.locator("#clear-ask")).to_be_disabled()
    (arm.state / "button").write_text("0")
    expect(page.locator("#clear-ask")).to_be_enabled()
    expect(page.locator("#why-not")).to_be_hidden()
    page.click("#clear-ask")
    (arm.state / "button").write_text("1")  # the stop is the same, but it cannot be cleared now
    expect(page.locator("#clear")).to_be_hidden()
    (arm.state / "button").write_text("0")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_case_7_the_stop_stays_in_its_place_away_from_all_else(
    open_page: Any, arm: RealArm, size: Any
) -> None:
    page = open_page(size=size)
    headline(page, "READY")
    place = box_of(page, "#stop")
    left, top, right, bottom = place
    assert (right - left, bottom - top) >= (120, 80)
    arm.client.request("POST", "/stop")
    page.click("#clear-ask")
    height = page.evaluate("document.getElementById('main').scrollHeight")
    for offset in range(0, height, 60):
        page.evaluate("y => { document.getElementById('main').scrollTop = y; }", offset)
        assert box_of(page, "#stop") == place
        assert page.evaluate(NEAREST) >= APART_PX, f"scrolled by {offset} px"
    page.click("#stop")
    expect(page.locator("#stop-said")).to_contain_text("confirmed")
    assert box_of(page, "#stop") == place
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


# The distance in pixels from the stop to the nearest visible part of any other control.
NEAREST = """() => {
  const stop = document.getElementById("stop").getBoundingClientRect();
  const window_ = document.getElementById("main").getBoundingClientRect();
  const gap = (a1, a2, b1, b2) => Math.max(0, b1 - a2, a1 - b2);
  let nearest = Infinity;
  for (const other of document.querySelectorAll("button:not(#stop), input, a, summary")) {
    const box = other.getBoundingClientRect();
    const top = Math.max(box.top, window_.top), bottom = Math.min(box.bottom, window_.bottom);
    if (box.width === 0 || bottom <= top) continue;
    const dx = gap(stop.left, stop.right, box.left, box.right);
    nearest = Math.min(nearest, Math.hypot(dx, gap(stop.top, stop.bottom, top, bottom)));
  }
  return nearest;
}"""


def test_case_8_a_stop_goes_out_while_everything_else_hangs(open_page: Any, arm: RealArm) -> None:
    with slow_door(arm.client.url) as door:
        page = open_page(door.address)
        headline(page, "READY")
        door.hangs = lambda method, path: path != "/stop"
        page.fill("#goal", "put the red block in the bin")
        page.click("#goal-send")
        page.wait_for_function("document.getElementById('goal-said').textContent !== ''")
        before = stops_on_record(arm)
        page.click("#stop")
        expect(page.locator("#stop-said")).to_contain_text("confirmed")
        assert stops_on_record(arm) == before + 1
        headline(page, "NO ANSWER")  # what hangs is given up, and asked again
        page.click("#stop")
        page.wait_for_timeout(SECOND_MS)
        assert stops_on_record(arm) == before + 2
        assert 1 <= door.most_hanging <= OTHERS


def test_a_stop_that_nobody_confirms_is_not_shown_as_one(open_page: Any, arm: RealArm) -> None:
    with slow_door(arm.client.url) as door:
        page = open_page(door.address)
        headline(page, "READY")
        door.hangs = lambda method, path: path == "/stop"
        page.click("#stop")
        expect(page.locator("#stop-said")).to_contain_text("Stop sent")
        headline(page, "READY")
        expect(page.locator("#stop-said")).to_contain_text("NOT CONFIRMED")
        expect(page.locator("#stop-said")).to_contain_text("switch of the servo supply")
        headline(page, "READY")


def test_a_stop_without_a_key_says_that_nothing_was_stopped(open_page: Any, arm: RealArm) -> None:
    page = open_page(key="")
    asked = requests_of(page, "POST", "/stop")
    headline(page, "NO KEY YET")
    page.click("#stop")
    expect(page.locator("#stop-said")).to_contain_text("NOT STOPPED")
    assert asked == []
