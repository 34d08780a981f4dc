"""A real browser for the tests of pages; they skip where there is none."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Start the browser of the machine.

    Not for longer than a module: while it is there, its loop of events runs in this thread, and
    no other test could begin one.
    """
    why = "the Python package playwright is absent"
    api = pytest.importorskip("playwright.sync_api", reason=why)
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-sync", *quiet]
        )
        yield browser
        browser.close()
