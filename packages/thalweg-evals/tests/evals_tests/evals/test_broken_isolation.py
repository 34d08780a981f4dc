"""The probe of isolation sees a task tool that hands over too much, or too little."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from thalweg_agent.middleware.subagents.delegation import Delegation
from thalweg_agent.subagents.report import SubagentReport
from thalweg_evals.base import Score, Setting
from thalweg_evals.material.paging import Pages
from thalweg_evals.probes.isolation import COMPACTED, ONE, PROBE, TWO, Isolation, make
from thalweg_evals.scripted.mind import COMPETENCES, CaseModel
from thalweg_evals.subjects.named import subject_named
from thalweg_evals.trace import Trace
from thalweg_evals.trial import Talk

WINDOW = 64_000
Ended = Callable[[Delegation, SubagentReport], Command[Any]]


def _score(
    variant: str,
    folder: Path,
    subject: str = "thalweg",
    case: Isolation | None = None,
    trace: Trace | None = None,
) -> Score:
    dice = Random(7)  # noqa: S311 (not a secret)
    case, pages, trace = case or make(variant, dice), Pages(dice), trace or Trace()
    setting = Setting(
        model=CaseModel(case=case, competence=COMPETENCES["searcher"], window=WINDOW),
        window=WINDOW,
        folder=folder,
        trigger=0.1,
        tools=(pages.tool(), *case.tools),
        system_prompt=case.system_prompt,
    )
    agent = subject_named(subject).begin(setting)
    try:
        case.run(Talk(agent, setting, pages, trace))
    finally:
        agent.close()
    return case.grade(trace)


def _break(monkeypatch: pytest.MonkeyPatch, changed: Ended) -> None:
    """Have every task end otherwise."""
    monkeypatch.setattr(Delegation, "ended", changed)


_ended = Delegation.ended


def _told(command: Command[Any]) -> ToolMessage:
    """Return the message that reports a task to the parent."""
    update: Any = command.update
    (message,) = (one for one in update["messages"] if isinstance(one, ToolMessage))
    return message


@pytest.mark.parametrize("variant", PROBE.variants)
def test_what_a_subagent_read_stays_with_it_and_its_report_arrives(
    variant: str, tmp_path: Path
) -> None:
    score = _score(variant, tmp_path)

    assert score.verdict == "passed", score.why
    assert score.value == 1


def test_summaries_inside_a_subagent_are_no_reports_of_it(tmp_path: Path) -> None:
    trace = Trace()

    _score(COMPACTED, tmp_path, trace=trace)

    summaries = [one for one in trace.requests if "not the user speaking" in one.text()]
    assert summaries
    assert {one.kind for one in summaries} == {"harness"}


@pytest.mark.parametrize("variant", [ONE, TWO])
def test_a_deep_agent_of_a_peer_passes_as_well(variant: str, tmp_path: Path) -> None:
    pytest.importorskip("deepagents")

    score = _score(variant, tmp_path, "benchmarks.arena.subjects:deepagents")

    assert score.verdict == "passed", score.why


@pytest.mark.parametrize("variant", [ONE, TWO, COMPACTED])
def test_a_parent_that_gets_what_its_subagent_read_fails(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts of all its messages follow the report."""

    def tells_all(run: Delegation, report: SubagentReport) -> Command[Any]:
        command = _ended(run, report)
        values: Any = run.progress.values
        message = _told(command)
        message.content = "\n".join([str(message.text), *(str(m.text) for m in values["messages"])])
        return command

    _break(monkeypatch, tells_all)

    score = _score(variant, tmp_path)

    assert score.verdict == "failed"
    assert "which only the subagent read, is in the agent's context" in score.why
    assert score.request is not None


def test_a_parent_that_gets_the_messages_of_its_subagent_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent gets them as its own, without texts: the calls reveal it."""

    def shares(run: Delegation, report: SubagentReport) -> Command[Any]:
        command = _ended(run, report)
        update: Any = command.update
        values: Any = run.progress.values
        inner = [
            one.model_copy(update={"content": ""})
            for one in values["messages"][1:]
            if one.type in {"ai", "tool"}
        ]
        return Command(update={**update, "messages": [*update["messages"], *inner]})

    _break(monkeypatch, shares)

    score = _score(ONE, tmp_path)

    assert score.verdict == "failed"
    assert "a call of the subagent is in the agent's context" in score.why


def test_a_report_that_is_cut_off_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(run: Delegation, report: SubagentReport) -> Command[Any]:
        command = _ended(run, report)
        message = _told(command)
        message.content = str(message.text)[:60]
        update: Any = command.update
        ledger = {
            name: {**task, "report": task["report"][:60]} for name, task in update["tasks"].items()
        }
        return Command(update={**update, "tasks": ledger})

    _break(monkeypatch, cut)

    score = _score(ONE, tmp_path)

    assert score.verdict == "failed"
    assert "the report was cut off" in score.why
    assert score.value is not None
    assert 0 < score.value < 1


def test_a_subagent_that_is_given_no_pages_finds_nothing_and_that_is_told(tmp_path: Path) -> None:
    case = make(ONE, Random(7))  # noqa: S311 (not a secret)
    case.ledger.berths = dict.fromkeys(case.ledger.berths, "unknown")

    score = _score(ONE, tmp_path, case=case)

    assert score.verdict == "failed"
    assert "the subagent did not report" in score.why


def test_without_a_subagent_nothing_is_tested(tmp_path: Path) -> None:
    score = _score(ONE, tmp_path, "none")

    assert score.verdict == "untested"
    assert score.why == "nothing was handed to a subagent"
