"""The needle is found again; if the finding part is broken, the probe names the missed one."""

import re
from dataclasses import replace
from random import Random

import pytest

from evals_tests.evals.probing import played
from thalweg.archive.tables import TableArchive
from thalweg_evals.probes.needle import PROBE


def _archive_finds_nothing(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(TableArchive, "search", lambda *_, **__: [])


def _record_keeps_nothing(patched: pytest.MonkeyPatch) -> None:
    """Omit from a record the user's words and the calls."""
    patched.setattr("thalweg.engine.compaction.summary_rendering._requests", lambda *_: [])
    patched.setattr("thalweg.engine.compaction.summary_rendering._sections", lambda *_: [])


@pytest.mark.parametrize("variant", PROBE.variants)
def test_every_needle_is_found_again(variant: str) -> None:
    result = played("needle", variant)

    assert result.verdict == "passed", result.why
    assert result.compactions


@pytest.mark.parametrize("variant", PROBE.variants)
def test_a_needle_is_found_by_searching_where_the_record_has_nothing_of_it(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record_keeps_nothing(monkeypatch)

    result = played("needle", variant)

    assert result.verdict == "passed", result.why
    assert list(result.trace.calls("recall"))


@pytest.mark.parametrize("variant", PROBE.variants)
def test_a_needle_is_missed_where_neither_the_record_nor_the_archive_has_it(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record_keeps_nothing(monkeypatch)
    _archive_finds_nothing(monkeypatch)

    result = played("needle", variant)

    assert result.verdict == "failed"
    assert "was not reported" in result.why


def test_a_needle_in_a_result_is_missed_where_the_archive_finds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _archive_finds_nothing(monkeypatch)

    result = played("needle", "tool_result")

    assert result.verdict == "failed"
    asked = result.trace.requests[result.request or 0]
    assert "Nothing was found" in asked.text()


def test_a_needle_in_a_result_is_missed_by_a_model_that_does_not_look() -> None:
    assert played("needle", "tool_result", model="scripted:forgetful").verdict == "failed"


def test_each_of_many_needles_is_judged_by_itself() -> None:
    result = played("needle", "many")
    case = PROBE.make("many", Random(result.seed))  # noqa: S311 (no secret)
    turns = list(result.trace.turns)
    missed = re.search(r"of the (\w+)", turns[-2].text)
    assert missed is not None
    turns[-2] = replace(turns[-2], answer="I would have to guess.")

    score = case.grade(replace(result.trace, turns=turns))

    assert score.verdict == "failed"
    assert score.value == 4
    assert score.why.count("was not reported") == 1
    assert missed[1] in score.why
    assert score.request is not None
    assert result.trace.requests[score.request].turn == len(turns) - 2


def test_nothing_is_said_of_a_conversation_that_was_never_compacted() -> None:
    result = played("needle", "once")
    case = PROBE.make("once", Random(result.seed))  # noqa: S311 (no secret)
    same = [replace(one, tokens=100) for one in result.trace.requests]

    assert case.grade(replace(result.trace, requests=same)).verdict == "untested"


def test_nothing_is_said_of_a_needle_that_the_agent_never_saw() -> None:
    result = played("needle", "tool_result")
    case = PROBE.make("tool_result", Random(result.seed))  # noqa: S311 (no secret)
    unplayed = [replace(one, messages=one.messages[:1]) for one in result.trace.requests]

    assert case.grade(result.trace).verdict == "passed"
    assert case.grade(replace(result.trace, requests=unplayed)).verdict == "untested"
