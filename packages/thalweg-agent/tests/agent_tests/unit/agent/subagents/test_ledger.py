"""Tasks that were handed out."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage

from thalweg_agent.subagents.ledger import (
    BRIEF_CHARS,
    KEPT,
    Status,
    Task,
    abandoned_tasks,
    brief,
    delegated_tasks,
    iso,
    merge_tasks,
)

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def one(status: Status = "running") -> Task:
    """Make a task."""
    return {"status": status, "subagent": "s", "description": "d", "started_at": iso(AT)}


ledgers = st.dictionaries(
    st.sampled_from("abcdef"),
    st.sampled_from(["running", "failed"]).map(
        lambda status: one("running" if status == "running" else "failed")
    ),
)


@given(ledgers, ledgers, ledgers)
def test_in_which_groups_ledgers_are_merged_makes_no_difference(
    a: dict[str, Task], b: dict[str, Task], c: dict[str, Task]
) -> None:
    """LangGraph merges what parallel steps wrote one after the other."""
    assert merge_tasks(merge_tasks(a, b), c) == merge_tasks(a, merge_tasks(b, c))
    assert merge_tasks(a, None) == merge_tasks(None, a) == a


def test_only_tasks_that_ended_are_forgotten_the_oldest_first() -> None:
    """However many there are, one that runs is remembered."""
    many = {f"t{n}": one("running" if n % 2 else "completed") for n in range(KEPT)}
    merged = merge_tasks(many, {"x": one(), "y": one()})

    assert len(merged) == KEPT
    assert "t0" not in merged
    assert {"t1", "t4", "x", "y"} <= set(merged)
    busy = {f"t{n}": one() for n in range(KEPT + 9)}
    assert merge_tasks(busy, {}) == busy


def test_a_models_answer_tells_the_tasks_it_hands_out() -> None:
    """Calls of other tools are none, nor is a call without an id."""
    calls = [
        {"name": "task", "id": "a", "args": {"description": "do\nit", "subagent_type": "w"}},
        {"name": "ls", "id": "b", "args": {}},
        {"name": "task", "id": None, "args": {}},
        {"name": "task", "id": "c", "args": {"prompt": "do that"}},
    ]
    asked = delegated_tasks([AIMessage("", tool_calls=calls)], "task", AT)

    assert {name: (t["subagent"], t["description"], t["status"]) for name, t in asked.items()} == {
        "a": ("w", "do", "running"),
        "c": ("general-purpose", "do that", "running"),
    }
    assert asked["a"]["started_at"] == "2026-01-02T03:04:05.000+00:00"


def test_what_runs_on_paper_alone_is_ended() -> None:
    """Answered by someone else it was refused; unanswered it was cancelled."""
    tasks = {"a": one(), "b": one(), "c": one("completed")}
    said = [ToolMessage("User said no", tool_call_id="a"), ToolMessage("x", tool_call_id="c")]

    ended = abandoned_tasks(tasks, said, AT)

    assert {name: task["status"] for name, task in ended.items()} == {
        "a": "refused",
        "b": "cancelled",
    }
    assert ended["a"]["report"] == "User said no"
    assert ended["b"]["ended_at"] == iso(AT)


def test_a_brief_is_the_first_line_that_says_something() -> None:
    """Cut to measure."""
    assert brief("\n  first \nsecond") == "first"
    assert len(brief("x" * 999)) == BRIEF_CHARS
    assert brief(" \n") == ""


def test_times_are_written_in_utc() -> None:
    """Wherever they were taken."""
    there = AT.astimezone(timezone(timedelta(hours=5)))
    assert iso(there) == iso(AT)
