"""LangGraph's public front ends in a browser against a gateway.

Each runs if an environment variable has the address at which a build of it is served:
`THALWEG_AGENT_CHAT_UI=http://localhost:3000`, `THALWEG_DEEP_AGENTS_UI=…`. With `THALWEG_PICTURES`
the pictures of the documentation are drawn into that folder.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server_tests.browser import front_end_world, live_world
from server_tests.gateway import worlds
from server_tests.serving import Served, gateway

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is absent")

from playwright.sync_api import Browser, Page, expect

expect.set_options(timeout=60_000)  # a busy machine
VARIABLES = {"chat": "THALWEG_AGENT_CHAT_UI", "deep": "THALWEG_DEEP_AGENTS_UI"}
pytestmark = [pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    origins = [os.environ[name].rstrip("/") for name in VARIABLES.values() if name in os.environ]
    home = tmp_path_factory.mktemp("front")
    made = front_end_world.settings(home, keys=worlds.KEYS, cors_origins=origins)
    with gateway(made) as found:
        yield found
        live_world.GO_ON.set()


Open = Callable[[str], Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open the page of a front end; its model waits at the word `stop`."""
    live_world.GO_ON.clear()
    with browser.new_context(viewport={"width": 1280, "height": 860}) as context:

        def open_page(which: str) -> Page:
            if VARIABLES[which] not in os.environ:
                pytest.skip(f"{VARIABLES[which]} is not set")
            page = context.new_page()
            page.goto(os.environ[VARIABLES[which]])
            return page

        yield open_page
        live_world.GO_ON.set()


def send(page: Page, words: str) -> None:
    """Type a message once the front end takes one, and send it."""
    page.locator("textarea").last.fill(words)
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    page.keyboard.press("Enter")


def draw(page: Page, name: str) -> None:
    if folder := os.environ.get("THALWEG_PICTURES"):
        page.screenshot(path=Path(folder) / name, animations="disabled")


def test_agent_chat_ui_shows_asks_reloads_edits_and_regenerates(
    opened: Open, served: Served
) -> None:
    page = opened("chat")
    page.get_by_label("Deployment URL").fill(served.url)
    page.get_by_label("Assistant / Graph ID").fill("agent")
    page.locator("#apiKey").fill("ada-s-key")
    page.get_by_role("button", name="Continue").click()

    send(page, "Plan a report on rivers.")
    expect(page.get_by_text("Tool Result:")).to_have_count(2)
    expect(page.get_by_text("Done with 'plan")).to_be_visible()
    draw(page, "agent-chat-ui.png")

    send(page, "Correct the Havel.")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Done with 'correct")).to_be_visible()

    send(page, "Dictate it.")
    expect(page.get_by_text("word word word")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Done with 'correct")).to_be_visible()
    live_world.GO_ON.set()
    expect(page.get_by_text("Dictate it.")).to_be_visible()
    page.wait_for_timeout(1_000)
    page.reload()
    expect(page.get_by_text("until here.")).to_be_visible()

    answer = page.locator(".group.mr-auto").last
    answer.hover()
    answer.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("2 / 2")).to_be_attached()
    request = page.locator(".group.ml-auto").last
    request.hover()
    request.get_by_role("button", name="Edit").click()
    request.locator("textarea").fill("Say it.")
    request.locator("textarea").press("Control+Enter")
    expect(page.get_by_text("Done with 'say it'.")).to_be_visible()
    expect(page.get_by_text("Dictate it.")).to_have_count(0)


def test_deep_agents_ui_shows_tasks_files_subagents_and_joins_a_run(
    opened: Open, served: Served
) -> None:
    page = opened("deep")
    page.get_by_label("Deployment URL").fill(served.url)
    page.get_by_label("Assistant ID").fill("agent")
    page.locator("#langsmithApiKey").fill("ada-s-key")
    page.get_by_role("button", name="Save").click()

    send(page, "Plan a report on rivers.")
    expect(page.get_by_text("Done with 'plan")).to_be_visible()
    page.get_by_text("Task 2 of 3").click()
    expect(page.get_by_text("Draw the map")).to_be_visible()
    page.get_by_text("Files (State)").click()
    page.get_by_role("button", name="/rivers.md").click()
    expect(page.get_by_role("dialog").get_by_text("Havel: 325 km")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Close").click()

    send(page, "Correct the Havel.")
    page.get_by_role("button", name="edit_file").click()
    expect(page.get_by_text("Approval Required")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.get_by_text("Files (State)")).to_be_visible()
    draw(page, "deep-agents-ui.png")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Done with 'correct")).to_be_visible()
    page.get_by_text("Files (State)").click()
    page.get_by_role("button", name="/rivers.md").click()
    expect(page.get_by_role("dialog").get_by_text("Havel: 334 km")).to_be_visible()
    page.keyboard.press("Escape")

    send(page, "Ask a colleague.")
    expect(page.get_by_text("The Havel is 334 km long.")).to_be_visible()
    expect(page.get_by_text("Done with 'ask")).to_be_visible()

    send(page, "Dictate it.")
    expect(page.get_by_text("word word word")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_text("word word word")).to_be_visible()
    live_world.GO_ON.set()
    expect(page.get_by_text("until here.")).to_be_visible()

    live_world.GO_ON.clear()
    send(page, "Dictate it.")
    expect(page.get_by_text("word word word")).to_have_count(2)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    live_world.GO_ON.set()
    page.wait_for_timeout(1_000)
    page.reload()
    expect(page.get_by_text("The answer was cut off here")).to_be_visible()
