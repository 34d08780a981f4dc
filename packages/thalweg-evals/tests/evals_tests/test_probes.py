"""Each probe passes with our agent, and fails if the mechanism that it tests is broken."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from evals_tests.played import played
from thalweg.archive.recalled_media import Recalled
from thalweg.archive.tables import Archive
from thalweg.context.turn import context_tools
from thalweg.engine.compaction import pins, summary_rendering
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg_agent.middleware.subagents.delegation import Delegation
from thalweg_agent.subagents.report import SubagentReport
from thalweg_evals import PROBES, View
from thalweg_evals.moves import Move
from thalweg_evals.probes import goals
from thalweg_evals.probes.isolation import TASK

LONG = {"constraint/20", "objective/20", "objective/20_turns"}
"""Of dozens of turns; each of these probes has a shorter case."""
SLOW = [pytest.mark.slow, pytest.mark.nightly]
NEEDLES = [f"needle/{case}" for case in PROBES["needle"].cases]
CASES = [
    f"{name}/{case}"
    for name, one in PROBES.items()
    if name not in {"isolation", "work"}
    for case in one.cases
]
ISOLATION = [f"isolation/{case}" for case in PROBES["isolation"].cases]
WORK = [f"work/{case}" for case in PROBES["work"].cases]
Break = Callable[[pytest.MonkeyPatch], None]


def no_requests_in_records(patch: pytest.MonkeyPatch) -> None:
    """Omit the user's words from a record."""
    patch.setattr(summary_rendering, "_requests", lambda *_: [])


def no_files_in_records(patch: pytest.MonkeyPatch) -> None:
    """Omit files, commands and summaries from a record."""
    patch.setattr(summary_rendering, "_sections", lambda *_: [])
    patch.setattr(summary_rendering, "_summary_lines", lambda *_: [])


def no_latest_request(patch: pytest.MonkeyPatch) -> None:
    """Keep no request when the context is compacted, neither the newest nor others."""
    patch.setattr(PlanningContext, "latest_request", None)
    no_requests_in_records(patch)


def no_recall(patch: pytest.MonkeyPatch) -> None:
    """Let nothing be read back from the archive."""
    nothing = Recalled("Nothing was found.")
    patch.setattr(context_tools, "recall_content", lambda *_, **__: nothing)


def no_search(patch: pytest.MonkeyPatch) -> None:
    """Let the archive find nothing."""
    patch.setattr(Archive, "search", lambda *_, **__: [])


@pytest.mark.parametrize("case", [pytest.param(c, marks=SLOW) if c in LONG else c for c in CASES])
def test_our_agent_passes(case: str) -> None:
    score, trace = played(case)

    assert score.verdict == "passed", score.why
    assert trace.compactions()


@pytest.mark.parametrize("case", ISOLATION)
def test_our_deep_agent_isolates_its_subagents(case: str) -> None:
    score, _ = played(case, policy="thalweg", window=64_000, trigger=0.1)

    assert (score.verdict, score.value) == ("passed", 1), score.why


@pytest.mark.slow
@pytest.mark.parametrize("case", WORK)
def test_work_is_right_where_the_context_is_smaller(case: str) -> None:
    score, trace = played(case, window=32_000, trigger=0.4)

    assert score.verdict == "passed", score.why
    assert trace.compactions()


HARMS: list[tuple[str, str, tuple[Break, ...], str]] = [
    *((c, "forgetful", (), "was not reported") for c in ("needle/tool_result",)),
    *(
        (case, "searcher", (no_files_in_records, no_requests_in_records, no_search), "reported")
        for case in NEEDLES[:-1]
    ),
    ("objective/5", "searcher", (no_latest_request, no_recall, no_files_in_records), "no report"),
    ("clarification/said_once", "forgetful", (no_latest_request,), "asked back"),
    ("clarification/changed", "forgetful", (no_latest_request,), "asked back"),
    ("drift/kept", "forgetful", (no_latest_request,), "no word of the aim"),
    ("constraint/1", "forgetful", (no_requests_in_records,), "without `sign_off`; the rules were"),
    ("constraint/user", "forgetful", (no_requests_in_records,), "without `sign_off`"),
    ("premature/2", "forgetful", (no_recall, no_files_in_records), "items open, after compaction"),
    ("artifacts/which", "searcher", (no_files_in_records, no_recall), "txt was not reported"),
    ("artifacts/state", "searcher", (no_files_in_records, no_recall), r"berth \d+ of the \w+ was"),
    ("artifacts/change", "searcher", (no_files_in_records, no_recall), r"the file /berths/"),
]


@pytest.mark.parametrize(("case", "model", "breaks", "why"), HARMS)
def test_a_probe_fails_where_its_mechanism_is_broken(
    case: str,
    model: str,
    breaks: tuple[Break, ...],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for harm in breaks:
        harm(monkeypatch)

    score, trace = played(case, model=model)

    assert score.verdict == "failed", score.why
    assert re.search(why, score.why), score.why
    assert trace.compactions()


@pytest.mark.parametrize("case", NEEDLES[:-1])
def test_a_needle_is_found_by_searching_where_the_record_has_nothing_of_it(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_files_in_records(monkeypatch)
    no_requests_in_records(monkeypatch)

    score, trace = played(case)

    assert score.verdict == "passed", score.why
    assert list(trace.calls("recall"))


def test_a_model_that_invents_a_code_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers with a code of the right form."""
    monkeypatch.setattr("thalweg_evals.probes.needle.UNKNOWN", "It is ZZ-1234.")

    score, _ = played("needle/never_said")

    assert (score.verdict, "ZZ-1234 was reported" in score.why) == ("failed", True)


def test_rules_that_the_record_quotes_hold_whatever_the_model_writes_of_them() -> None:
    """The summaries of this model keep nothing: the record has the rules."""
    score, trace = played("constraint/5", model="forgetful")

    assert (score.verdict, score.value) == ("passed", 0), score.why
    assert len(trace.compactions()) >= 5


def test_rules_in_the_middle_of_a_long_message_are_lost_where_none_is_recognized(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert played("constraint/user", model="forgetful", trigger=0.1)[0].verdict == "passed"
    monkeypatch.setattr(pins, "constraint_lines", lambda _: ())

    score, _ = played("constraint/user", model="forgetful", trigger=0.1)

    assert (score.verdict, score.value) == ("failed", 3), score.why


def test_a_model_that_ignores_the_rules_is_not_taken_for_a_context_that_lost_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    act = goals._keep_rules  # noqa: SLF001 (replaced below)

    def careless(view: View) -> Move:
        unruled = tuple(one for one in view.messages if "R-" not in one.text)
        return act(View(unruled, view.tools))

    monkeypatch.setattr(goals, "_keep_rules", careless)

    score, _ = played("constraint/1")

    assert (score.verdict, score.value) == ("failed", 3), score.why
    assert "the rules were in that request" in score.why


# --- isolation

Ended = Callable[[Delegation, SubagentReport], Command[Any]]
_ended = Delegation.finish


def isolated(case: str = "one_child", policy: str = "thalweg") -> tuple[str, str]:
    """Return the verdict and the reason."""
    score, _ = played(f"isolation/{case}", policy=policy, window=64_000, trigger=0.1)
    return score.verdict, score.why


def report_of(command: Command[Any]) -> ToolMessage:
    """Return the message that reports a task to the parent."""
    update: Any = command.update
    (message,) = (one for one in update["messages"] if isinstance(one, ToolMessage))
    return message


def with_all_that_was_read(run: Delegation, report: SubagentReport) -> Command[Any]:
    """Append the texts of all messages of the subagent to its report."""
    command = _ended(run, report)
    values: Any = run.progress.values
    message = report_of(command)
    message.content = "\n".join([message.text, *(one.text for one in values["messages"])])
    return command


def with_its_messages(run: Delegation, report: SubagentReport) -> Command[Any]:
    """Give the messages of the subagent to the parent, without texts: the calls reveal it."""
    command = _ended(run, report)
    update: Any = command.update
    values: Any = run.progress.values
    inner = [
        one.model_copy(update={"content": ""})
        for one in values["messages"][1:]
        if one.type in {"ai", "tool"}
    ]
    return Command(update={**update, "messages": [*update["messages"], *inner]})


def cut(run: Delegation, report: SubagentReport) -> Command[Any]:
    """Cut the report, in the list of tasks as well."""
    command = _ended(run, report)
    message = report_of(command)
    message.content = message.text[:60]
    update: Any = command.update
    tasks = {
        name: {**task, "report": task["report"][:60]} for name, task in update["tasks"].items()
    }
    return Command(update={**update, "tasks": tasks})


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (with_all_that_was_read, "which only the subagent read, is in its context"),
        (with_its_messages, "a call of the subagent is in the agent's context"),
        (cut, "was lost on the way to the agent"),
    ],
)
def test_a_task_tool_that_hands_over_too_much_or_too_little_fails(
    changed: Ended, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Delegation, "finish", changed)

    verdict, found = isolated()

    assert (verdict, why in found) == ("failed", True), found


def test_an_agent_without_subagents_is_not_tested() -> None:
    assert isolated(policy="none") == ("untested", "nothing was handed to a subagent")


def test_a_deep_agent_of_a_peer_passes_as_well() -> None:
    pytest.importorskip("deepagents")

    assert isolated(policy="deepagents")[0] == "passed"
    assert TASK == "task"
