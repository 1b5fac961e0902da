"""What the page shows is what the daemon read, with its age; old things look old."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

from browsing import SECOND_MS, headline
from harness import RealArm, real_arm
from playwright.sync_api import Page, expect
from slow_door import slow_door


def age_s(page: Page) -> float:
    found = re.match(r"([\d.]+) (s|min) old", page.inner_text("#age"))
    assert found is not None, page.inner_text("#age")
    return float(found[1]) * (60 if found[2] == "min" else 1)


def test_case_69_a_silent_daemon_greys_the_page_until_it_speaks(
    open_page: Any, arm: RealArm
) -> None:
    page = open_page()
    headline(page, "READY")
    expect(page.locator("body")).not_to_have_class(re.compile("gone"))
    assert arm.daemon is not None
    os.kill(arm.daemon.pid, signal.SIGSTOP)
    try:
        headline(page, "NO ANSWER")
        expect(page.locator("body")).to_have_class(re.compile("gone"))
        expect(page.locator("#age")).to_contain_text("not how it is now")
        expect(page.locator("#goal-send")).to_be_disabled()
        expect(page.locator("#stop")).to_be_enabled()
        assert age_s(page) > 2.4
    finally:
        os.kill(arm.daemon.pid, signal.SIGCONT)
    expect(page.locator("body")).not_to_have_class(re.compile("gone"))
    expect(page.locator("#goal-send")).to_be_enabled()


def test_case_69_a_tab_that_slept_shows_its_age_then_what_is_so(
    open_page: Any, arm: RealArm
) -> None:
    page = open_page()
    headline(page, "READY")
    session = page.context.new_cdp_session(page)
    session.send("Page.setWebLifecycleState", {"state": "frozen"})
    arm.client.request("POST", "/stop")
    page.wait_for_timeout(3 * SECOND_MS)
    session.send("Page.setWebLifecycleState", {"state": "active"})
    headline(page, "STOPPED")
    expect(page.locator("#why-cause")).to_contain_text("asked by the key")


def test_case_69_a_laptop_that_slept_for_hours_believes_no_old_answer(
    open_page: Any, arm: RealArm
) -> None:
    with slow_door(arm.client.url) as door:
        page = open_page(door.address)
        headline(page, "READY")
        door.hangs = lambda method, path: path != "/stop"
        page.evaluate("() => { const now = Date.now; Date.now = () => now() + 3 * 3600e3; }")
        headline(page, "NO ANSWER")
        expect(page.locator("#age")).to_contain_text("3 h old")
        expect(page.locator("#goal-send")).to_be_disabled()
        arm.client.request("POST", "/stop")
        door.hangs = lambda method, path: False
        door.released.set()
        headline(page, "STOPPED")


def test_case_69_an_answer_that_was_overtaken_is_passed_over(open_page: Any, arm: RealArm) -> None:
    page = open_page()
    headline(page, "READY")
    old = arm.status()
    arm.client.request("POST", "/stop")
    headline(page, "STOPPED")
    page.route("**/status", lambda route: route.fulfill(json=old))
    page.wait_for_timeout(3 * SECOND_MS)
    assert "STOPPED" in page.inner_text("#headline") or "NO ANSWER" in page.inner_text("#headline")
    headline(page, "NO ANSWER")  # for such answers make nothing new
    page.unroute("**/status")
    headline(page, "STOPPED")


def test_case_69_a_new_daemon_makes_everything_new(open_page: Any, arm: RealArm) -> None:
    with real_arm() as other, slow_door("") as door:
        other.start()
        door.target = other.client.url
        page = open_page(door.address)
        headline(page, "STOPPED")
        other.clear()
        headline(page, "READY")
        other.end()
        headline(page, "NO ANSWER")
        other.start()
        door.target = other.client.url
        expect(page.locator("body")).not_to_have_class(re.compile("gone"))
        headline(page, "READY")


def test_case_70_the_page_shows_what_is_and_not_what_was_asked(
    open_page: Any, arm: RealArm
) -> None:
    page = open_page()
    headline(page, "READY")
    lie = {"ok": True, "message": "Stopped.", "written": True, "confirmed": 6, "of": 6}
    page.route("**/stop", lambda route: route.fulfill(json=lie))
    page.click("#stop")
    expect(page.locator("#stop-said")).to_contain_text("Stopped.")
    page.wait_for_timeout(3 * SECOND_MS)
    headline(page, "READY")
    page.unroute("**/stop")
    arm.client.request("POST", "/stop")  # somebody else
    headline(page, "STOPPED")
    page.route("**/stop/clear", lambda route: route.fulfill(json={"ok": True}))
    page.click("#clear-ask")
    page.click("#clear-yes")
    page.wait_for_timeout(3 * SECOND_MS)
    headline(page, "STOPPED")
    arm.clear()
    headline(page, "READY")
