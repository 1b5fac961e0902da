"""What the tests of the page share: sizes, typing a key, waiting for words, counting requests."""

from __future__ import annotations

import shutil
from typing import Any

from harness import OPERATOR_KEY, RealArm
from playwright.sync_api import Page, expect

CHROMIUM = shutil.which("chromium")
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}
PATIENCE_MS = 30_000  # other jobs share the machine, and nothing here measures time
SECOND_MS = 300  # in which a second request would be seen, were there one


def type_key(page: Page, key: str = OPERATOR_KEY) -> None:
    page.fill("#key", key)
    page.click("#key-form button")


def headline(page: Page, words: str) -> None:
    expect(page.locator("#headline")).to_contain_text(words)


def requests_of(page: Page, method: str, path: str) -> list[str]:
    """A list that grows by one with each such request from now on."""
    seen: list[str] = []

    def note(request: Any) -> None:
        if request.method == method and request.url.endswith(path):
            seen.append(request.url)

    page.on("request", note)
    return seen


def stops_on_record(arm: RealArm) -> int:
    """How many stops the daemon was asked for."""
    return sum(row["tool"] == "stop" for row in arm.audit())


def box_of(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Left, top, right, bottom in pixels of the window."""
    box = page.locator(selector).bounding_box()
    assert box is not None, selector
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]
