"""The report is one file, its data cannot become script, and equal runs have equal bytes."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder_tests.unit.lab.replay.runs import HOSTILE, a_run
from thalweg.errors import ConfigError
from thalweg_recorder.pages import as_data_block
from thalweg_recorder.replay.payload import TEXT_CHARS, payload
from thalweg_recorder.replay.report import render_report, write_report
from thalweg_recorder.replay.results import OutlineLine

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def data_of(page: str) -> dict[str, Any]:
    """Read the data of a page as a browser finds it: up to the first end of the element."""
    found = DATA.search(page)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def lines_of(data: dict[str, Any], run: dict[str, Any], call: int) -> list[OutlineLine]:
    """Read the request of a call back from the stretches."""
    stretches = run["outlines"][run["calls"]["outline"][call]]
    numbers = [
        n for k in range(0, len(stretches), 2) for n in range(stretches[k], sum(stretches[k:k + 2]))
    ]  # fmt: skip
    texts = data["texts"]
    rows = [data["lines"][n] for n in numbers[: run["calls"]["length"][call]]]
    return [
        OutlineLine(at, texts[who], tokens, texts[shown], texts[head], texts[handle])
        for at, who, tokens, shown, head, handle in rows
    ]


def test_hostile_text_stays_data() -> None:
    """A recording that tries to close the element, or to open a comment, changes nothing."""
    page = render_report([a_run(text=HOSTILE, trajectory=HOSTILE)])

    assert page.count("</script>") == render_report([a_run()]).count("</script>")
    assert data_of(page)["trajectories"][0]["name"] == HOSTILE
    assert "<!--" not in page
    page.encode()


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_survives_the_data_block(text: str) -> None:
    """Any text is read back unchanged, and no tag can begin inside."""
    block = as_data_block([text])

    assert json.loads(block) == [text]
    assert "<" not in block
    block.encode()


def test_the_page_points_to_nothing_outside() -> None:
    """Without its data, the page names no address but that of the SVG namespace."""
    page = DATA.sub("", render_report([a_run()]))

    assert set(re.findall(r"https?://[^\s\"'`)]*", page)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page) == ["data:,", "#main"]
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_page_lets_run_only_its_own_script_and_style() -> None:
    """The policy names the digests of the content of the page, and allows nothing else."""
    page = render_report([a_run()])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy
    assert script
    assert style

    assert policy[1].startswith("default-src 'none'")
    for kind, text in (("script-src", script[1]), ("style-src", style[1])):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1]


def test_no_script_makes_markup_out_of_text() -> None:
    """Texts of a recording are set as text, wherever they are shown."""
    page = DATA.sub("", render_report([]))

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)


def test_equal_runs_give_equal_pages() -> None:
    assert render_report([a_run(), a_run("none")]) == render_report([a_run(), a_run("none")])


def test_every_request_reads_back_from_the_payload() -> None:
    """Sharing lines between outlines loses none of them, and changes no order."""
    runs = [a_run("none"), a_run(), a_run("deepagents")]
    data = json.loads(as_data_block(payload(runs)))

    for run, written in zip(runs, data["trajectories"][0]["runs"], strict=True):
        for k, call in enumerate(run.calls):
            expected = run.outlines[call.outline][: call.length]
            assert tuple(lines_of(data, written, k)) == expected


def test_lines_are_written_once() -> None:
    """Runs of one recording share the lines of what they show alike."""
    one, two = payload([a_run()]), payload([a_run(), a_run("deepagents")])

    assert len(one["lines"]) == len(two["lines"]) == 10


def test_the_bills_of_the_calls_add_up_to_the_cost_of_the_table() -> None:
    """The chart ends at the figure that the table has."""
    run = replace(a_run(), usd_per_million=5_000.0)
    written = payload([run])["trajectories"][0]["runs"][0]

    assert sum(written["calls"]["bill"]) == pytest.approx(run.bill.total)
    assert written["row"]["cells"][0] == "$75.00"
    assert written["totals"]["bill"]["total"] == written["row"]["cost"] == 75.0


def test_a_text_without_end_is_shortened_and_says_so() -> None:
    """One huge preview does not make the page huge."""
    data = payload([a_run(text="x" * 100_000)])

    shortened = [text for text in data["texts"] if text.endswith("more characters]")]
    assert shortened
    assert all(len(text) < TEXT_CHARS + 50 for text in shortened)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """The old report is replaced, the new one is there, and nothing else."""
    path = tmp_path / "report.html"
    path.write_text("old")

    write_report([a_run()], path)

    assert path.read_text(encoding="utf-8") == render_report([a_run()])
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["missing/report.html", "folder", "file/report.html"])
def test_a_path_that_cannot_be_written_is_told_in_one_sentence(tmp_path: Path, name: str) -> None:
    """No incomplete file remains."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")

    with pytest.raises(ConfigError, match=r"--html .*cannot be written") as caught:
        write_report([a_run()], tmp_path / name)

    assert "\n" not in str(caught.value)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"
