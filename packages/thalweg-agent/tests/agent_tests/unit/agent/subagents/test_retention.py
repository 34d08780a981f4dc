"""Which threads of subagents are over."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.errors import SpecError
from thalweg_agent.subagents.ledger import Status, Task, iso
from thalweg_agent.subagents.retention import Retention, plan_pruning

NOW = datetime(2026, 1, 31, tzinfo=UTC)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Make an entry of a ledger, of any age and state."""
    at = NOW - timedelta(days=draw(st.integers(0, 60)))
    task: Task = {
        "status": draw(st.sampled_from(get_args(Status))),
        "subagent": "s",
        "description": "d",
        "started_at": iso(at),
    }
    if task["status"] != "running":
        task["ended_at"] = iso(at)
    if draw(st.booleans()):
        task["thread"] = "t/~/tools:1"
    if draw(st.booleans()):
        task["report_id"] = "m"
    return task


@given(
    st.dictionaries(st.text(max_size=3), tasks(), max_size=20),
    st.none() | st.integers(1, 60),
    st.none() | st.integers(1, 20),
)
def test_only_ended_tasks_with_a_report_are_pruned_and_the_newest_stay(
    ledger: dict[str, Task], days: int | None, most: int | None
) -> None:
    pruned = plan_pruning(ledger, Retention(days=days, threads=most), NOW)

    def could_go(task: Task) -> bool:
        has_ended = task["status"] != "running" and "ended_at" in task
        return has_ended and "thread" in task and "report_id" in task

    left = [t for name, t in ledger.items() if name not in pruned and could_go(t)]
    assert all(could_go(task) for task in pruned.values())
    assert most is None or len(left) <= most
    oldest = None if days is None else iso(NOW - timedelta(days=days))
    assert oldest is None or all(task["ended_at"] >= oldest for task in left)
    newest_gone = max((task["ended_at"] for task in pruned.values()), default="")
    assert all(task["ended_at"] >= newest_gone for task in left)
    if most is None and oldest is not None:
        assert all(task["ended_at"] < oldest for task in pruned.values())
    if most is None and days is None:
        assert not pruned


@pytest.mark.parametrize(
    "wrong", [{"days": 0}, {"days": True}, {"threads": 1.5}, {"threads": -1}, {"thread": 3}, 30]
)
def test_a_retention_that_cannot_be_used_is_refused(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(SpecError, match="subagent_retention"):
        Retention.of(wrong)


def test_a_retention_is_read_from_a_mapping_or_nothing() -> None:
    assert Retention.of(None).is_endless
    assert Retention.of({"days": 1.5, "threads": 2}) == Retention(days=1.5, threads=2)
    assert Retention.of(Retention(days=1)) == Retention(days=1)
