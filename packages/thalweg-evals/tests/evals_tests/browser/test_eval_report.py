"""The report of an evaluation in a real browser: by mouse, by keyboard, on a phone, on paper."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evals_tests.evals.report.trials import CODE, a_result, a_trace, an_evaluation, hostile
from thalweg_evals.report import write_report
from thalweg_evals.results import Result
from thalweg_evals.trace import Trace

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is absent")

from playwright.sync_api import Browser, Page, expect


@contextmanager
def opened(browser: Browser, results: Sequence[Result], path: Path) -> Iterator[Page]:
    """Open a report; anything it complains about or asks for fails the test."""
    write_report(results, path)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Open the report of two subjects."""
    with opened(browser, an_evaluation(), tmp_path / "report.html") as page:
        yield page


@pytest.fixture
def hostile_page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Open a report in which every text tries to be more than text."""
    with opened(browser, hostile(), tmp_path / "hostile.html") as page:
        yield page


def open_first_failure(page: Page) -> None:
    """Open it, and all of its messages."""
    page.locator("button.failure").first.click()
    for button in page.locator("button.message").all():
        button.click()


def test_two_runs_are_in_colour_and_all_others_grey(page: Page) -> None:
    """Each compaction of the two is marked; the window and the trigger are lines."""
    chart = page.locator("#figure-chart")
    expect(chart.locator("path.pick:not(.mark)")).to_have_count(2)
    expect(chart.locator("path.ghost:not(.lit)")).to_have_count(3)
    expect(chart.locator("path.mark")).to_have_count(4)
    expect(chart).to_contain_text("trigger 2,000")
    expect(chart).to_contain_text("window 8,000")

    page.get_by_label("Probe", exact=True).first.select_option(label="tone")
    expect(chart.locator("path.pick:not(.mark)")).to_have_count(1)
    expect(chart.locator("path.ghost:not(.lit)")).to_have_count(0)


def test_a_run_is_highlighted_by_its_name(page: Page) -> None:
    """In place of the other, and both change places where it was the other."""
    first, second = (page.get_by_label(f"Highlighted run {k}") for k in (1, 2))
    expect(first).to_have_value("0")
    was = second.input_value()

    first.select_option(was)
    expect(page.get_by_label("Highlighted run 2")).to_have_value("0")
    first.select_option("1")
    expect(page.locator(".picked").first).to_contain_text("2 compactions")


def test_a_click_highlights_the_nearest_run(browser: Browser, tmp_path: Path) -> None:
    """A hovered run is named before; the run that was highlighted longer ago is replaced."""
    results = [
        replace(a_result(number=k), trace=a_trace(sizes=(size, size, size)))
        for k, size in enumerate((5_000, 3_000, 1_000), start=1)
    ]
    with opened(browser, results, tmp_path / "three.html") as page:
        picture = page.locator("#figure-chart svg")
        picture.hover(position={"x": 300, "y": 324})
        expect(page.locator("#tip")).to_contain_text("#31,000 tokens")
        expect(page.locator("#tip")).to_contain_text("passed; click to highlight")

        picture.click(position={"x": 300, "y": 324})
        expect(page.get_by_label("Highlighted run 1")).to_have_value("2")
        expect(page.get_by_label("Highlighted run 2")).to_have_value("1")


def test_the_keyboard_alone_reads_the_figure(page: Page) -> None:
    """Page Down moves to the next compaction, and its text is announced and shown."""
    chart = page.get_by_role("slider", name="Tokens over time")
    for _ in range(40):
        page.keyboard.press("Tab")
        if chart.evaluate("chart => chart === document.activeElement"):
            break
    page.keyboard.press("PageDown")

    expect(chart).to_have_attribute("aria-valuenow", "4")
    assert "700 tokens, compacted from 2,900" in (chart.get_attribute("aria-valuetext") or "")
    expect(page.locator("#tip")).to_contain_text("compacted from 2,900")
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()


def test_along_turns_the_requests_of_one_share_its_room(page: Page) -> None:
    """The scale is the user's turns then."""
    page.get_by_label("Along").select_option("turn")

    expect(page.locator("#figure-chart")).to_contain_text("the user's turn")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuemax", "7")


def test_the_table_says_what_passed_what_was_not_tried_and_who_judged(page: Page) -> None:
    """With the difference to the first subject."""
    rows = page.get_by_role("table", name="What passed").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("100 % 3 of 3")
    expect(rows.nth(1)).to_contain_text("0 % 0 of 3")
    expect(rows.nth(1)).to_contain_text("\N{MINUS SIGN}100 points")
    expect(rows.nth(2)).to_contain_text("not offered")
    expect(rows.nth(3)).to_contain_text("judged")
    expect(rows.nth(3)).to_contain_text("1 untested")


def test_a_number_of_failures_leads_to_them(page: Page) -> None:
    """And what was untested to why."""
    page.get_by_role("button", name="Show 3 failures of other in needle").click()
    expect(page.locator("#failures-about")).to_contain_text("3 trials failed")
    expect(page.locator("#failures select").nth(1)).to_have_value("1")

    page.get_by_role("button", name="Show 1 untested trial of other in tone").click()
    expect(page.locator("#failures-body")).to_contain_text("nothing was compacted")


def test_a_failure_shows_its_request_and_what_left_it(page: Page) -> None:
    """The missing code is marked where it occurs, and traced where it does not."""
    open_first_failure(page)
    body = page.locator(".failure-body:visible")

    expect(body).to_contain_text("request 7")
    expect(body.locator(".trails")).to_contain_text(
        f"{CODE} stood in requests 1\N{EN DASH}3, and does not stand in this one: "
        "it left with the compaction at request 4."
    )
    expect(body).to_contain_text("What was sent: 4 messages")
    expect(body.locator("pre").last).to_have_text("I do not know it.")
    expect(body.get_by_text("read_page", exact=True).first).to_be_visible()
    body.get_by_role("button", name="Show this run in the figure").click()
    expect(page.get_by_label("Highlighted run 1")).to_have_value("0")
    expect(page.locator("#figure-chart path.mark")).to_have_count(4)


def test_what_it_took_is_told_by_probe_and_subject(page: Page) -> None:
    """Dollars are first, for models with prices."""
    table = page.locator("#costs-body")
    expect(table).to_contain_text("$0.004")
    page.get_by_label("Figure").select_option(label="Tokens sent")
    expect(table).to_contain_text("11,600")
    expect(table.get_by_role("row").nth(2)).to_contain_text("\N{EN DASH}")


def test_hostile_texts_are_shown_as_they_are(hostile_page: Page) -> None:
    """Their words are there, their script never ran."""
    open_first_failure(hostile_page)

    expect(hostile_page.locator("#failures-body")).to_contain_text("<img src=x onerror=alert(1)>")
    assert hostile_page.title() == "1 probe, 1 subject \N{EN DASH} Thalweg evaluation"
    assert hostile_page.locator("main img, main script").count() == 0


@pytest.mark.parametrize("width", [320, 360, 768])
def test_a_narrow_page_never_scrolls_sideways(page: Page, hostile_page: Page, width: int) -> None:
    """Tables scroll inside; hostile texts break."""
    for one in (page, hostile_page):
        one.set_viewport_size({"width": width, "height": 780})
        open_first_failure(one)
        assert one.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_shows_the_figure_and_the_terms(page: Page) -> None:
    """Failures are listed there; requests remain where they can be opened."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    expect(page.locator("#figure-chart svg")).to_have_attribute("width", "760")
    expect(page.locator(".failure-body:visible")).to_have_count(0)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(page.locator("details[open]")).to_have_count(0)


ODD = {
    "nothing sent": [replace(a_result(), trace=Trace(), request=None)],
    "one request": [replace(a_result("a", "failed"), trace=a_trace(sizes=(900,)), request=0)],
    "only not offered": [a_result(verdict="not offered")],
    "unknown prices": [replace(a_result(), cost=None)],
    "own triggers": [a_result(trigger=None), a_result("other", trigger=0.1)],
    "two windows": [a_result(), replace(a_result(number=2), window=1_000)],
    "failed before a request": [replace(a_result("a", "failed"), trace=Trace(), request=None)],
}


@pytest.mark.parametrize("results", ODD.values(), ids=ODD)
def test_an_odd_evaluation_is_drawn_without_complaint(
    browser: Browser, tmp_path: Path, results: list[Result]
) -> None:
    """For any trials, every section of the page has content."""
    with opened(browser, results, tmp_path / "odd.html") as page:
        if page.locator("button.failure").count():
            open_first_failure(page)
        page.locator("#figure-chart").hover()
        drawn = page.locator("main").inner_html()
        assert not [word for word in ("NaN", "Infinity", "undefined") if word in drawn]


def test_an_empty_report_says_so(browser: Browser, tmp_path: Path) -> None:
    """No trial is no error."""
    with opened(browser, [], tmp_path / "empty.html") as page:
        expect(page.locator("#subtitle")).to_have_text("No trial is in this report.")
