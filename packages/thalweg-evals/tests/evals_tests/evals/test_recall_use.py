"""The agent looks where it should and only there; where what it looks with is broken, it shows."""

from collections.abc import Container, Sequence
from dataclasses import replace
from random import Random

import pytest

from evals_tests.evals.probing import played
from thalweg.archive import Passage
from thalweg.archive.tables import TableArchive
from thalweg.context.request.message_writer import MessageWriter
from thalweg.engine.window.items import WindowItem
from thalweg_evals.probes.recall_use import PROBE
from thalweg_evals.results import Result
from thalweg_evals.trace import TracedTurn


@pytest.mark.parametrize("variant", PROBE.variants)
def test_the_agent_looks_where_it_should_and_only_there(variant: str) -> None:
    result = played("recall_use", variant)

    assert result.verdict == "passed", result.why
    assert result.value == (0 if variant == "present" else 1)


def test_it_shows_that_the_archive_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableArchive, "search", lambda *_, **__: [])

    result = played("recall_use", "gone")

    assert result.verdict == "failed"
    assert "it looked with recall and said" in result.why


def test_it_shows_that_there_is_nothing_to_look_with() -> None:
    result = played("recall_use", "gone", subject="langchain")

    assert result.verdict == "failed"
    assert "it had nothing to look with" in result.why


def test_it_shows_that_the_agent_did_not_look() -> None:
    result = played("recall_use", "gone", model="scripted:forgetful")

    assert result.verdict == "failed"
    assert "it did not look" in result.why


def test_it_shows_that_what_was_just_said_is_not_in_the_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = MessageWriter.write

    def newest_alone(
        self: MessageWriter, items: Sequence[WindowItem], edited: Container[int]
    ) -> list[object]:
        first = [one for one in items if one.message.role == "system"]
        last = max(k for k, one in enumerate(items) if one.message.role == "user")
        return [*write(self, [*first, *items[last:]], edited)]

    monkeypatch.setattr(MessageWriter, "write", newest_alone)

    result = played("recall_use", "present", trigger=0.1)

    assert result.verdict == "failed"
    assert "last message was no longer in the context" in result.why


def test_it_shows_that_the_archive_finds_what_nobody_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def invent(self: TableArchive, key: object, query: str, **given: object) -> list[Passage]:
        asked.append(f"{self}{key}{given}")
        return [Passage(1, "user", f"{query} QQ-4711.", 0)]

    monkeypatch.setattr(TableArchive, "search", invent)

    result = played("recall_use", "never_said")

    assert asked
    assert result.verdict == "failed"
    assert "there was never QQ-4711" in result.why


def _regraded(result: Result, answer: str) -> tuple[str, str]:
    """Grade what happened, had the agent answered so."""
    case = PROBE.make(result.key.variant, Random(result.seed))  # noqa: S311 (no secret)
    *before, last = result.trace.turns
    turns = [*before, TracedTurn(last.thread, last.text, answer)]
    score = case.grade(replace(result.trace, turns=turns))
    return score.verdict, score.why


def test_a_made_up_code_is_told_from_an_honest_answer() -> None:
    result = played("recall_use", "never_said")
    told = next(one.text for one in result.trace.turns if "For your notes" in one.text)
    known = told.split(" is ")[1].split(".")[0]

    assert _regraded(result, "I don't have a docking code for her.")[0] == "passed"
    assert _regraded(result, f"I do not know hers; the other one is {known}.")[0] == "passed"
    assert _regraded(result, "It is AB-1234.")[0] == "failed"
    assert _regraded(result, "I am not sure, but it is probably 4711.")[0] == "failed"
    assert _regraded(result, f"It is {known}.")[0] == "failed"
    assert _regraded(result, "Good morning!")[0] == "failed"


def test_a_literal_model_reads_what_the_context_names_and_never_searches() -> None:
    result = played("recall_use", "gone", model="scripted:literal")
    asked = [call.arguments for _, call in result.trace.calls("recall")]

    assert result.verdict == "failed"
    assert asked
    assert all(set(arguments) == {"handle"} for arguments in asked)
