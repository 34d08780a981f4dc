"""The report of an evaluation: its data, what it holds and what it omits."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals_tests.evals.report.trials import CODE, HOSTILE, a_result, a_trace, an_evaluation, hostile
from thalweg.errors import ConfigError
from thalweg_evals.report import failures, render_report, write_report
from thalweg_evals.report.rendering import payload
from thalweg_evals.results import Result
from thalweg_evals.trace import Trace

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def data_of(results: list[Result]) -> dict[str, Any]:
    """Read the data of a page as a browser finds it: up to the first end of the element."""
    found = DATA.search(render_report(results))
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def texts_of(data: dict[str, Any], request: dict[str, Any]) -> list[str]:
    """Read the texts of a request back from the pools."""
    return [data["texts"][data["messages"][k][3]] for k in request["messages"]]


def test_hostile_texts_stay_data() -> None:
    """A model that tries to close the element, or to open a comment, changes nothing."""
    page = render_report(hostile())

    assert page.count("</script>") == render_report([]).count("</script>")
    assert "<!--" not in page
    assert data_of(hostile())["trials"][0]["subject"] == HOSTILE
    page.encode()


def test_no_script_makes_markup_out_of_text() -> None:
    """And the page names no address but that of the SVG namespace."""
    page = DATA.sub("", render_report(an_evaluation()))

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)
    assert set(re.findall(r"https?://[^\s\"'`)]*", page)) == {"http://www.w3.org/2000/svg"}


def test_equal_results_give_equal_pages() -> None:
    """So that a page can be compared with the one before."""
    assert render_report(an_evaluation()) == render_report(an_evaluation())


def test_a_rate_is_of_what_was_tested_and_compared_with_the_first_subject() -> None:
    """Not offered and untested count neither way, and are reported."""
    (table,) = data_of(an_evaluation())["rates"]
    needle, trail, tone = table["rows"]

    assert table["subjects"] == ["thalweg", "other"]
    first, second = needle["cells"]
    assert (first["passed"], first["rate"][0], first["gap"]) == (3, 1.0, None)
    assert (second["failed"], second["rate"][0], second["gap"]) == (3, 0.0, [-1.0, -1.0, -1.0, 3])
    assert 0 < first["rate"][1] < 1 == first["rate"][2]
    assert (trail["cells"][1]["absent"], trail["cells"][1]["rate"]) == (1, None)
    assert (tone["cells"][1]["untested"], tone["cells"][1]["gap"]) == (1, None)
    assert [cell["judged"] for cell in tone["cells"]] == [1, 0]
    assert table["all"][0]["passed"] == 5


def test_each_model_and_trigger_has_a_table_of_its_own_by_rising_trigger() -> None:
    """The subjects' own trigger is last."""
    results = [a_result(trigger=trigger) for trigger in (None, 0.85, 0.1)]

    assert [table["trigger"] for table in payload(results)["rates"]] == [0.1, 0.85, None]


def test_a_failure_is_told_with_its_request_whole() -> None:
    """Each message once, however many requests have it."""
    data = data_of([a_result("other", "failed", number=number) for number in (1, 2)])
    (_, one), (_, other) = data["failures"]

    last = a_trace().requests[-1]
    assert texts_of(data, one["request"]) == [said.text for said in last.messages]
    assert one["request"]["messages"] == other["request"]["messages"]
    assert one["request"]["place"] == 6
    assert data["texts"][data["messages"][one["request"]["answer"]][3]] == "I do not know it."
    assert len(data["messages"]) == 5


def test_what_a_verdict_names_is_traced_through_the_requests() -> None:
    """The code was in the first three; the answer was never shown and is not sought."""
    (_, failure) = data_of([a_result("other", "failed")])["failures"][0]

    assert failure["sought"] == [[CODE, [[0, 2]], False]]


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("QX-1234 was not told", ["QX-1234"]),
        ("the file src/notes.md is missing", ["src/notes.md"]),
        ("`publish` was called for 'the ferry'", ["publish", "the ferry"]),
        ("4711 is wrong; 12 of 3 are right", ["4711"]),
        ("nothing was compacted", []),
        ("`read_page` was not called", []),
    ],
)
def test_quoted_words_codes_and_paths_are_what_a_verdict_names(why: str, words: list[str]) -> None:
    """Other words are language."""
    traced = a_trace(" ".join(words))
    (_, failure) = data_of([replace(a_result("other", "failed"), why=why, trace=traced)])[
        "failures"
    ][0]

    assert [word for word, _, _ in failure["sought"]] == words


def test_only_failures_bring_requests_with_them() -> None:
    """Of what passed, the sizes are enough."""
    data = payload([a_result()])

    assert data["texts"] == data["messages"] == data["failures"] == []
    assert data["trials"][0]["line"]["drops"] == [(3, 2_900), (6, 2_700)]


def test_a_page_that_would_be_too_large_keeps_a_failure_of_each_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before it holds a second of the same."""
    monkeypatch.setattr(failures, "PAGE_CHARS", 300)
    results = [
        a_result(subject, "failed", number=k, text=f"{k}" * 200)
        for k, subject in enumerate(("other", "other", "third"))
    ]
    held = [one["request"]["messages"] is not None for _, one in payload(results)["failures"]]

    assert held == [True, False, True]


def test_a_line_breaks_where_another_thread_goes_on() -> None:
    """And a smaller request of another thread is no compaction."""
    trace = a_trace(sizes=(900, 1_900, 600, 2_000))
    trace.requests[2] = replace(trace.requests[2], thread="second")

    line = payload([replace(a_result(), trace=trace)])["trials"][0]["line"]

    assert (line["starts"], line["drops"]) == ([2, 3], [])


def test_what_no_request_shows_is_told_without_one() -> None:
    """An agent that could not even begin failed, too."""
    failed = replace(a_result("other", "failed"), trace=Trace(), request=None)

    assert payload([failed])["failures"] == [[0, {"sought": [], "request": None}]]


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A folder is no file."""
    write_report(an_evaluation(), path := tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == render_report(an_evaluation())

    with pytest.raises(ConfigError, match=r"--html .*cannot be written"):
        write_report([], tmp_path)
    assert list(tmp_path.iterdir()) == [path]
