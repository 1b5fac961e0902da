"""A browser in front of a real daemon with the virtual arm. Without chromium all is skipped."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "real"))
sys.path.insert(0, str(Path(__file__).parent))

from browsing import CHROMIUM, DESK, PATIENCE_MS, type_key
from harness import FAST, OPERATOR_KEY, RealArm, real_arm, wait_until
from playwright.sync_api import Browser, Page, expect, sync_playwright

from armlabd.bench.processes import prompt

expect.set_options(timeout=PATIENCE_MS)

BUTTON = '[stop.button]\nrequired = true\nboard = "sim"\nrelease_s = 0.05\n'
OpenPage = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("real")
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="chromium is not installed"))


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for this folder, ended with it: its event loop must not meet those of other tests.

    It gives way to the arm, which has its cycle of 10 ms to keep: by its scheduling policy, because
    as root Chromium raises its own priority again.
    """
    polite = tmp_path_factory.mktemp("browser") / "chromium"
    politely = "chrt --idle 0" if shutil.which("chrt") else "nice -n 19"
    polite.write_text(f'#!/bin/sh\nexec {politely} {CHROMIUM} "$@"\n')
    polite.chmod(0o700)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=polite, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def one_arm() -> Iterator[RealArm]:
    with real_arm(FAST + BUTTON) as arm:
        arm.start()
        with prompt(arm.pid_of("armlabd.sim")):  # servos do not wait for a busy browser
            yield arm


@pytest.fixture
def arm(one_arm: RealArm) -> RealArm:
    """The arm, cleared and without a run."""
    run = one_arm.status()["run"]
    if run is not None:
        one_arm.client.request("DELETE", f"/runs/{run['id']}", timeout_s=60.0)
    wait_until(lambda: one_arm.client.request("POST", "/stop/clear", {}).ok, "it can be cleared")
    return one_arm


@pytest.fixture
def open_page(browser: Browser, arm: RealArm) -> Iterator[OpenPage]:
    """Open the page with a key typed in; at the end nothing was thrown in it or refused to it."""
    faults: list[str] = []
    contexts = []

    def opened(url: str = "", key: str = OPERATOR_KEY, size: Any = DESK, **more: Any) -> Page:
        context = browser.new_context(viewport=size, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if _is_fault(said) else None)
        page.goto(url or arm.client.url)
        if key:
            type_key(page, key)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _is_fault(said: Any) -> bool:
    """Not the browser's own line about an answer that refuses."""
    return said.type in ("error", "warning") and "Failed to load resource" not in said.text
