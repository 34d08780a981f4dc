"""The page by mouse and keyboard, over a thread of an agent and over a recorded session."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from server_tests.browser import page_world
from server_tests.gateway import worlds
from server_tests.serving import Served, gateway

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is absent")

from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

expect.set_options(timeout=60_000)  # a busy machine
AXE = Path(__file__).parents[3] / "page/node_modules/axe-core/axe.min.js"
SCREENS = (
    "/",
    "/?q=checkout",
    "/memory",
    "/gateway",
    "/thread/cutover",
    "/thread/cutover/request",
    "/thread/cutover/changes",
    f"/thread/{page_world.RECORDED}",
    f"/thread/{page_world.RECORDED}/request",
    f"/thread/{page_world.RECORDED}/changes",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("page") / "home"
    page_world.make_archive(home)
    with gateway(worlds.settings(home), owner=page_world.OWNER) as found:
        yield found


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """Open the page; a complaint of the browser or a request elsewhere fails the test."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    elsewhere: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((served.url, "blob:")):
            elsewhere.append(request.url)

    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", note)
    page.goto(f"{served.url}/")
    yield page
    page.close()
    assert complaints == []
    assert elsewhere == []


def test_a_word_finds_a_thread_with_its_passage(page: Page) -> None:
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("row", name=page_world.TITLE)).to_contain_text("Claude Code")

    page.keyboard.press("/")
    page.keyboard.type("primary key")

    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator(".passage mark").first).to_have_text("primary")
    page.get_by_role("link", name=page_world.CUTOVER).click()
    expect(page.locator(".message.target")).to_contain_text("no primary key")


def test_a_message_shows_whether_it_is_in_the_context(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/#/thread/cutover?at=0")

    first = page.locator(".message").first
    expect(first).to_contain_text(page_world.CUTOVER)
    expect(first.get_by_role("img")).to_have_accessible_name(re.compile("not in the context"))


def test_words_are_pinned_and_released(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/#/thread/cutover?at=0")
    first = page.locator(".message").first
    first.get_by_role("button", name="Pin", exact=True).click()
    expect(first.locator(".pinned")).to_have_attribute("title", re.compile(page_world.CUTOVER))

    first.get_by_role("button", name="Unpin").click()

    expect(first.locator(".pinned")).to_have_count(0)


def test_the_filters_and_the_marks_of_the_list_lead_to_their_threads(
    page: Page, served: Served
) -> None:
    page.get_by_label("Agent").select_option("Claude Code")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("agent=claude-code"))

    page.get_by_role("link", name="3 requests lost").click()

    expect(page.locator("#lost li")).to_have_count(3)
    page.go_back()
    expect(page.get_by_label("Agent")).to_have_value("claude-code")
    page.get_by_role("navigation").get_by_role("link", name="Threads").click()
    expect(page.locator("tbody tr")).to_have_count(2)

    page.goto(f"{served.url}/#/?agent=claude-code&limit=0")  # the filter has no field of that name
    expect(page.locator("tbody tr")).to_have_count(1)


def test_the_keyboard_chooses_a_call_and_the_original_is_one_click_away(
    page: Page, served: Served
) -> None:
    page.goto(f"{served.url}/#/thread/cutover/request")
    number = page.get_by_role("spinbutton")
    expect(number).to_have_value("16")

    page.locator("body").press("ArrowLeft")
    expect(number).to_have_value("15")

    number.fill("1")
    number.press("Enter")
    expect(page.locator(".difference")).to_have_text("The first request of the thread.")
    expect(page.locator(".sent")).to_have_count(1)
    expect(page.locator(".sent")).to_contain_text(page_world.CUTOVER)


def test_a_compaction_has_its_price_and_is_undone(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/#/thread/cutover/changes")
    change = page.locator(".change.compaction").first
    expect(change).to_contain_text(re.compile(r"reading it again costs \$[\d.]+ a call"))
    expect(change).to_contain_text(re.compile(r"predicted.*\$"))
    change.get_by_role("button", name="Before and after").click()
    expect(change.locator("pre")).to_contain_text(page_world.CUTOVER)
    change.get_by_role("button", name="What was removed").click()
    expect(page.get_by_role("dialog")).to_contain_text("read_file")
    page.keyboard.press("Escape")

    change.get_by_role("button", name="Undo").click()

    expect(page.locator(".change.undo")).to_have_count(1)
    expect(page.get_by_role("status")).to_contain_text("Undone")


def test_lost_requests_of_a_recorded_session_are_named_and_given_back(
    browser: Browser, served: Served
) -> None:
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(f"{served.url}/#/thread/{page_world.RECORDED}")
        expect(page.locator(".lost-note")).to_contain_text("3 of 6 requests")
        page.get_by_role("link", name="Show them").click()
        expect(page.locator("#lost li").first).to_contain_text("Request 0")
        expect(page.locator(".change.compaction")).to_contain_text("The window was full.")

        page.get_by_role("button", name="Copy for the agent").click()

        expect(page.get_by_role("status")).to_contain_text("3 requests copied")
        assert "Request 2" in page.evaluate("navigator.clipboard.readText()")


def test_no_screen_is_wider_than_a_phone(browser: Browser, served: Served) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        for screen in SCREENS:
            shown(page, served, screen)
            assert page.evaluate("document.documentElement.scrollWidth") == 390, screen


def shown(page: Page, served: Served, screen: str) -> None:
    """Open a screen, and wait until its data are there."""
    page.goto(f"{served.url}/#{screen}")
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".loading, [aria-busy]")).to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("is_dark", [False, True])
def test_axe_has_no_objection(browser: Browser, served: Served, is_dark: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    if not AXE.exists():
        pytest.skip("axe-core is absent; python -m scripts.page --check installs it")
    scheme: Literal["dark", "light"] = "dark" if is_dark else "light"
    with browser.new_context(color_scheme=scheme, bypass_csp=True) as context:
        page = context.new_page()
        page.add_init_script(path=AXE)
        for screen in SCREENS:
            shown(page, served, screen)
            assert violations(page) == [], screen


def violations(page: Page) -> list[str]:
    """Return what axe-core objects to, with the first element of each."""
    found = page.evaluate("axe.run()")["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.slow
def test_a_thread_of_ten_thousand_messages_scrolls_without_blank_rows(
    browser: Browser, tmp_path: Path
) -> None:
    page_world.make_long_thread(tmp_path)
    with gateway(worlds.settings(tmp_path), owner=page_world.OWNER) as served:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{served.url}/#/thread/long?at=5000")
        expect(page.locator(".message.target")).to_contain_text("Message 5000.")
        for _ in range(20):
            page.mouse.wheel(0, 4_000)
            page.wait_for_timeout(50)
        expect(page.locator(".message[aria-busy]")).to_have_count(0)
        expect(page.locator(".message").nth(2)).to_be_visible()
        assert page.locator(".message").count() < 60
        page.keyboard.press("End")
        expect(page.get_by_text("Message 9999.").first).to_be_visible()
        page.close()


@pytest.fixture
def locked(browser: Browser, tmp_path: Path) -> Iterator[tuple[Served, BrowserContext]]:
    """Serve a gateway that asks for a key."""
    settings = worlds.settings(tmp_path, keys=worlds.KEYS)
    with gateway(settings) as served, browser.new_context() as context:
        yield served, context


def test_the_token_leaves_the_address_and_a_wrong_one_is_asked_for_again(
    locked: tuple[Served, BrowserContext],
) -> None:
    served, context = locked
    page = context.new_page()
    page.goto(f"{served.url}/#token=expired")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.url == f"{served.url}/#/"

    page.get_by_label("Key or token").fill("ada-s-key")
    page.get_by_role("button", name="Open").click()

    expect(page.get_by_role("heading", name="Threads")).to_be_visible()
    expect(page.locator(".empty")).to_contain_text("no threads yet")
