"""The page during a run: words as they come, questions, stopping, subagents, a lost connection."""

from collections.abc import Iterator

import pytest

from server_tests.browser import live_world
from server_tests.gateway import worlds
from server_tests.serving import Served, gateway

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is absent")

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

expect.set_options(timeout=60_000)  # a busy machine
WAITS = "The agent waits for you"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("live")
    with gateway(live_world.settings(home, keys=worlds.KEYS)) as found:
        yield found
        live_world.GO_ON.set()


@pytest.fixture
def context(browser: Browser, served: Served) -> Iterator[BrowserContext]:
    """Open a browser that has signed in; its model waits at the word `stop`."""
    live_world.GO_ON.clear()
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.add_init_script("sessionStorage['thalweg-token'] ??= 'ada-s-key'")
        page = context.new_page()
        page.goto(f"{served.url}/#/new")
        yield context
        live_world.GO_ON.set()


def send(page: Page, words: str) -> None:
    page.get_by_label("Message", exact=True).fill(words)
    page.keyboard.press("Enter")


def written(page: Page) -> Locator:
    """Return the answer that is being written."""
    return page.locator(".live .message.open .text")


@pytest.mark.nightly
def test_two_tabs_show_an_answer_as_it_is_written(context: BrowserContext) -> None:
    (page,) = context.pages
    send(page, "dictate something")
    expect(written(page)).to_contain_text("word word word")
    other = context.new_page()
    other.goto(page.url)
    expect(written(other)).to_contain_text("word word word")

    live_world.GO_ON.set()

    for tab in (page, other):
        expect(tab.locator(".virtual .message")).to_have_count(2)
        expect(tab.locator(".virtual .message").last).to_contain_text("about 1 requests")
        expect(tab.locator(".live .message")).to_have_count(0)
    send(other, "and this")
    expect(page.locator(".virtual .message")).to_have_count(4)


def test_a_stopped_answer_is_kept_and_marked(context: BrowserContext) -> None:
    (page,) = context.pages
    notes = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Rivers"}
    page.get_by_label("Files", exact=True).set_input_files(notes)  # type: ignore[arg-type]  # a dict
    send(page, "dictate something")
    expect(written(page)).to_contain_text("word word word")
    expect(page.locator(".composer .tag")).to_have_text("notes.md")

    page.get_by_role("button", name="Stop").click()

    expect(page.get_by_text("The answer was cut off here")).to_be_visible()
    expect(page.get_by_role("button", name="Continue it")).to_be_visible()


@pytest.mark.nightly
def test_an_approval_survives_a_reload_and_is_given(context: BrowserContext) -> None:
    (page,) = context.pages
    send(page, "use shout hello")
    expect(page.get_by_role("heading", name=WAITS)).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Edit").click()
    arguments = page.get_by_label("Arguments as JSON")
    arguments.fill("no JSON")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".approval .bad")).to_contain_text("no JSON object")

    arguments.fill('{"words": "good morning"}')
    page.get_by_role("button", name="Edit").click()

    expect(page.locator(".message.tool")).to_contain_text("good morning")
    expect(page.get_by_text("The tool said")).to_be_visible()
    expect(page.get_by_role("heading", name=WAITS)).to_have_count(0)


def test_a_subagent_has_a_lane_of_its_own(context: BrowserContext) -> None:
    (page,) = context.pages
    send(page, "remember the river")
    expect(page.get_by_text("The tool said: The river")).to_be_visible()

    page.get_by_text("What the subagent did").click()

    expect(page.locator(".lane .message")).to_contain_text("1,233 km")


@pytest.mark.nightly
def test_a_run_goes_on_after_a_lost_connection_and_an_expired_token(
    context: BrowserContext, served: Served
) -> None:
    (page,) = context.pages
    send(page, "dictate something")
    expect(written(page)).to_contain_text("word word word")
    context.set_offline(True)  # new connections fail; the old ones are cut here
    for connection in list(served.server.server_state.connections):
        connection.transport.abort()
    expect(page.locator(".status")).to_contain_text("The connection was lost")
    context.set_offline(False)
    expect(page.locator(".status")).to_contain_text("at work")
    page.evaluate("sessionStorage.setItem('thalweg-token', 'expired')")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("Key or token").fill("ada-s-key")
    page.get_by_role("button", name="Open").click()
    expect(written(page)).to_contain_text("word word word")

    live_world.GO_ON.set()

    expect(page.locator(".virtual .message").last).to_contain_text("about 1 requests")


@pytest.mark.nightly
def test_a_failed_run_has_its_reason(context: BrowserContext) -> None:
    (page,) = context.pages

    send(page, "fail now")

    expect(page.get_by_role("alert")).to_contain_text("The run failed")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
