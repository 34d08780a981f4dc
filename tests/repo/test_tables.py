"""Each table of the terminal has 80 columns: no word is broken, no cost is hidden."""

from collections.abc import Callable, Iterable

import pytest

from core_tests.terminals import terminal
from recorder_tests.unit.lab.replay.runs import a_run
from thalweg.archive.threads.finding import ThreadOverview
from thalweg.cli.prices import table_lines
from thalweg.cli.printing import cell_width
from thalweg.cli.thread.text import render_threads
from thalweg_evals.cli import Trial, report
from thalweg_evals.world import Score
from thalweg_memory.cli.text import render_fact
from thalweg_memory.facts.values import Fact, FactId
from thalweg_recorder.cli.listing import session_lines
from thalweg_recorder.cli.replay_table import as_lines
from thalweg_recorder.sessions import RecordedSession, TotalCost
from thalweg_server.cli.doctor.command import finding_lines
from thalweg_server.cli.doctor.finding import Finding

ID = "claude-code:0c8e6e0a-52e1-4c0a-9b57-3f4f3c9a7f10"
LONG = "Refactoring of the trailers of every request, without an end " * 3
POLICIES = ("thalweg-careful", "thalweg-frugal", "thalweg-middleware", "deepagents", "langchain")


def sessions() -> list[str]:
    session = RecordedSession(agent="claude-code", title=LONG.strip(), project=f"/home/ada/{ID}")
    return session_lines([(ID, session)], TotalCost(1_234.5, 12.0, 3))


def trials() -> Iterable[str]:
    score = Score("passed", "it is so")
    return report(
        [
            Trial(
                probe="clarification", case="many", number=1, model="scripted:searcher",
                policy=policy, trigger=0.25, score=score, compactions=2, tokens=1_234_567,
            )
            for policy in POLICIES
        ]
    )  # fmt: skip


def fact() -> Iterable[str]:
    return render_fact(
        Fact(FactId("fact-0b3c9a4e1234"), LONG.strip(), "context", 0.9, "2026-01-02", "t1")
    )


TABLES: dict[str, tuple[Callable[[], Iterable[str]], set[str]]] = {
    # What prints it, and the words that are never omitted.
    "thread list": (lambda: render_threads([ThreadOverview(ID, 123_456, 99, None)]), {ID}),
    "record search": (sessions, {ID, "$1,234.50", "cost"}),
    "replay": (lambda: as_lines([a_run("thalweg", ID), a_run("deepagents", ID)]), {ID, "cost"}),
    "prices": (table_lines, {"read", "write", "answer", "base"}),
    "eval": (trials, {*POLICIES}),
    "memory show": (fact, {"fact-0b3c9a4e1234", "Refactoring"}),
    "doctor": (lambda: finding_lines([Finding("recorder", LONG, "thalweg record on")]), {"record"}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits_with_every_word_whole(name: str) -> None:
    render, needed = TABLES[name]
    with terminal(None):
        known = words(render())
    with terminal(80):
        lines = [*render()]
    assert [line for line in lines if cell_width(line) > 80 and len(line.split()) > 1] == []
    assert words(lines) - {"Hidden:"} <= known
    assert needed <= words(lines)


def words(lines: Iterable[str]) -> set[str]:
    return {word.rstrip(",.;") for line in lines for word in line.split()}
