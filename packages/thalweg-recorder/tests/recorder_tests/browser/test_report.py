"""The report in a real browser: it works, by keyboard too, on a phone, and asks for nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from recorder_tests.unit.lab.replay.runs import HOSTILE, a_run
from thalweg_recorder.replay.figures import figures_of
from thalweg_recorder.replay.report import write_report
from thalweg_recorder.replay.results import ReplayRun

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is absent")

from playwright.sync_api import Browser, Page, expect


@pytest.fixture
def report(tmp_path: Path) -> str:
    """Write a report of two recordings, one of them hostile, and return its address."""
    policies = ("thalweg", "deepagents", "none")
    runs = [a_run(policy) for policy in policies]
    runs += [a_run(policy, trajectory=HOSTILE, text=HOSTILE * 3) for policy in policies]
    runs = [replace(run, unrecoverable_bytes=9_000) for run in runs]
    write_report(runs, path := tmp_path / "report.html")
    return path.as_uri()


@pytest.fixture
def page(browser: Browser, report: str) -> Iterator[Page]:
    """Open the report; anything it complains about or asks for fails the test."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report)
    yield page
    page.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [report]


def test_choosing_a_call_shows_its_request(page: Page) -> None:
    """By number, and by a click on a chart."""
    rows = page.locator(".outline tbody tr:not(.cache-end)")
    page.get_by_label("Call", exact=True).fill("1")
    page.get_by_label("Call", exact=True).press("Enter")
    expect(rows).to_have_count(1)

    page.get_by_label("Call", exact=True).fill("4")
    page.get_by_label("Call", exact=True).press("Enter")
    expect(rows).to_have_count(7)
    expect(page.locator(".outline")).to_contain_text("abcdefghijklmnop")

    page.locator("#tokens-chart svg").click(position={"x": 1, "y": 100})
    expect(rows).to_have_count(1)


def test_the_address_leads_to_the_call(page: Page) -> None:
    """It follows what is chosen, and what it is changed to is chosen."""
    page.get_by_label("Recording", exact=True).select_option(index=1)
    page.get_by_label("Policy", exact=True).select_option(label="deepagents")
    page.get_by_label("Call", exact=True).fill("4")
    page.get_by_label("Call", exact=True).press("Enter")
    assert page.url.endswith("#recording=2&policy=deepagents&call=4")

    page.evaluate("location.hash = 'recording=1&policy=thalweg&call=2'")
    expect(page.get_by_label("Call", exact=True)).to_have_value("2")
    expect(page.locator("#policy-select option:checked")).to_have_text("thalweg")
    page.evaluate("location.hash = 'recording=9&policy=nobody&call=x'")
    expect(page.get_by_label("Call", exact=True)).to_have_value("2")


def test_a_report_opens_at_the_call_of_its_address(browser: Browser, report: str) -> None:
    """A shared link opens the report at its call."""
    page = browser.new_page()
    page.goto(f"{report}#recording=2&policy=deepagents&call=4")
    expect(page.get_by_label("Call", exact=True)).to_have_value("4")
    expect(page.locator("#policy-select option:checked")).to_have_text("deepagents")
    page.close()


def test_the_edits_for_one_call_are_one_row(browser: Browser, tmp_path: Path) -> None:
    """It has their sums, and opens into a row for each."""
    run = a_run("thalweg")
    made = [replace(call, edits=call.edits * 2) if call.turn == 2 else call for call in run.calls]
    write_report([replace(run, calls=tuple(made))], tmp_path / "report.html")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    rows = page.locator(".edits tbody tr:visible")
    opener = page.get_by_role("button", name="The 2 edits for call 2")

    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("1,800")
    opener.click()
    expect(rows).to_have_count(4)
    opener.click()
    expect(rows).to_have_count(2)
    page.close()


def test_the_keyboard_alone_reaches_everything(page: Page) -> None:
    """Tab to the chart, go to an edit, read it, and open its contents."""
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    chart = page.get_by_role("slider", name="Tokens per call")
    for _ in range(40):
        page.keyboard.press("Tab")
        if chart.evaluate("chart => chart === document.activeElement"):
            break
    page.keyboard.press("Home")
    expect(chart).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    expect(chart).to_have_attribute("aria-valuenow", "5")
    spoken = chart.get_attribute("aria-valuetext") or ""
    assert "Compact #0–6, the request would not fit: 3,000 → 300" in spoken
    expect(page.locator("#tip")).to_contain_text("3,000 → 300")

    opener = page.get_by_role("button", name="What is sent instead, Compact for call 5")
    for _ in range(40):
        page.keyboard.press("Tab")
        if opener.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("pre:visible")).to_have_text("<thread-record>hello</thread-record>")


def test_a_hostile_recording_is_shown_as_it_is(page: Page) -> None:
    """Its words are there, its script never ran."""
    page.get_by_label("Recording", exact=True).select_option(index=1)

    expect(page.locator("#recording-title")).to_contain_text("</script>")
    expect(page.locator(".outline")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.title() == "2 recordings – Thalweg replay"
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize("width", [320, 360, 768])
def test_a_narrow_page_never_scrolls_sideways(page: Page, width: int) -> None:
    """Tables stack, or scroll inside; hostile text breaks."""
    page.set_viewport_size({"width": width, "height": 780})
    for recording in (0, 1):
        page.get_by_label("Recording", exact=True).select_option(index=recording)
        for button in page.locator(".opener").all():
            button.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_was_predicted_stands_beside_what_came_of_it(page: Page) -> None:
    """Change by change, and all together; a change leads to its request."""
    table = page.get_by_role("table", name="Predicted and realised savings under thalweg")
    row = table.get_by_role("row").nth(2)
    expect(row).to_contain_text("\N{MINUS SIGN}310after 2 calls")
    expect(row).to_contain_text("0after 5 calls")
    expect(table.get_by_role("row").last).to_contain_text("+890")
    words = page.locator("#savings-body")
    expect(words).to_contain_text("1 of 2 changes paid for themselves")
    expect(words).to_contain_text("70 of what that costs is for tokens over the window")

    row.get_by_role("button").click()
    expect(page.get_by_label("Call", exact=True)).to_have_value("5")
    page.get_by_label("Policy", exact=True).select_option(label="none")
    expect(words).to_contain_text("none sent every message whole")


def test_a_policy_can_be_hidden(page: Page) -> None:
    """A hidden policy's line disappears from every chart and comes back."""
    lines = page.locator("#tokens-chart path.series:not(.mark)")
    expect(lines).to_have_count(3)
    page.get_by_label("deepagents").uncheck()
    expect(lines).to_have_count(2)
    page.get_by_label("deepagents").check()
    expect(lines).to_have_count(3)


def test_paper_shows_what_the_page_folds_away(page: Page) -> None:
    """Before printing everything opens; afterwards the page is as it was."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    expect(page.locator("pre:visible")).to_have_count(2)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(page.locator("pre:visible")).to_have_count(0)
    expect(page.locator("details[open]")).to_have_count(0)


ODD = {
    "no call": [replace(a_run(), calls=(), outlines=((),))],
    "one call": [replace(a_run(), calls=a_run().calls[:1])],
    "two windows": [a_run(), replace(a_run(), window=16_000, limit=14_000)],
    "unknown prices": [replace(a_run(), tariff="of my own")],
    "many policies": [a_run(f"policy {k}") for k in range(12)],
}


@pytest.mark.parametrize("runs", ODD.values(), ids=ODD)
def test_an_odd_report_is_drawn_without_complaint(
    browser: Browser, tmp_path: Path, runs: list[ReplayRun]
) -> None:
    """For any replay, every section of the page has content."""
    write_report(runs, path := tmp_path / "odd.html")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())

    expect(page.locator("#notes-body")).to_contain_text("line 3")
    page.locator("#cost-chart").hover()
    assert complaints == []
    assert "NaN" not in page.content()
    assert "undefined" not in page.locator("main").inner_text()
    page.close()


def test_an_empty_report_says_so(browser: Browser, tmp_path: Path) -> None:
    """No run is no error."""
    write_report([], path := tmp_path / "empty.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    expect(page.locator("#subtitle")).to_have_text("No run is in this report.")
    page.close()


def test_the_page_shows_the_figures_of_the_terminal(browser: Browser, tmp_path: Path) -> None:
    """Cells, the end of the curve and the sums of all recordings; costs are in dollars."""
    runs = [
        replace(a_run(policy, trajectory=name), usd_per_million=5_000.0, is_whole=True)
        for name in ("a", "b")
        for policy in ("thalweg", "none")
    ]
    write_report(runs, path := tmp_path / "report.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())

    def row(section: str, policy: str) -> list[str]:
        rows = page.locator(section).get_by_role("table").first.get_by_role("row")
        cells = rows.filter(has=page.get_by_role("rowheader", name=policy)).get_by_role("cell")
        return [text.removesuffix(" (a problem)") for text in cells.all_text_contents()]

    figures = figures_of(runs)
    assert row("#recording-totals", "thalweg") == [figure.text(runs[:1]) for figure in figures]
    assert row("#overview-body", "none") == [f.text(runs[1::2]) for f in figures]
    expect(page.locator("#cost-chart")).to_contain_text(f"thalweg {figures[0].text(runs[:1])}")
    expect(page.locator("#cost-chart")).to_contain_text(f"none {figures[0].text(runs[1:2])}")
    expect(page.locator("#savings-body")).to_contain_text("they saved $4.45 of input")
    assert "units" not in page.locator("main").inner_text()
    page.close()
