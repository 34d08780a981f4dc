"""A child's run as it is seen from outside."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from thalweg_agent.subagents.limits import SubagentLimits
from thalweg_agent.subagents.progress import CALL_CHARS, DONE, MOST_TEXTS, Progress, newest
from thalweg_agent.subagents.report import account

USED: Any = {"input_tokens": 8, "output_tokens": 2, "total_tokens": 10}


def turn(number: int, text: str = "") -> AIMessage:
    """Make an answer that calls a tool."""
    call = {"name": "look", "id": f"c{number}", "args": {"n": number}}
    return AIMessage(text, id=f"a{number}", tool_calls=[call], usage_metadata=USED)


def result(number: int) -> ToolMessage:
    """Make its result."""
    return ToolMessage(f"found {number}\nmore", id=f"r{number}", tool_call_id=f"c{number}")


def told(progress: Progress, *messages: Any) -> Progress:  # noqa: ANN401
    """Report messages, as a graph's stream does."""
    for message in messages:
        progress.see("updates", {"node": {"messages": [message]}})
    progress.see("values", {"messages": list(messages)})
    return progress


@given(st.integers(0, 60), st.integers(1, 3))
def test_a_turn_is_counted_once_however_often_it_is_told(turns: int, times: int) -> None:
    """Nodes of custom graphs return all messages again and again."""
    progress = Progress()
    messages = [m for n in range(turns) for m in (turn(n, f"text {n}"), result(n))]
    for _ in range(times):
        told(progress, *messages)

    assert progress.turns == turns
    assert progress.tokens == 10 * turns
    assert progress.texts == [f"text {n}" for n in range(turns)][-MOST_TEXTS:]
    assert len(progress.calls) == min(turns, DONE)
    assert progress.last_tool == ("look" if turns else None)


def test_what_a_child_was_given_is_none_of_its_turns() -> None:
    """A fork begins with its parent's."""
    progress = Progress()
    progress.knows([turn(0), result(0)])

    assert told(progress, turn(0), result(0), turn(1)).turns == 1


def test_of_a_run_that_goes_on_the_turns_before_count() -> None:
    """The first item of its stream is the state from which it resumes."""
    progress = Progress()
    progress.see("values", {"messages": [HumanMessage("x", id="h"), turn(0), result(0)]})

    assert progress.turns == 1


@pytest.mark.parametrize(
    ("limits", "messages", "stopped"),
    [
        ({"turns": 2}, [turn(0), result(0), turn(1)], None),
        ({"turns": 2}, [turn(0), result(0), turn(1), result(1)], "turns"),
        ({"turns": 2}, [turn(0), result(0), AIMessage("end", id="e")], None),
        ({"turns": 2}, [AIMessage("1", id="1"), AIMessage("2", id="2")], None),
        ({"turns": 2}, [AIMessage(t, id=t) for t in "123"], "turns"),
        ({"tokens": 15}, [turn(0), result(0)], None),
        ({"tokens": 15}, [turn(0), result(0), turn(1), result(1)], "tokens"),
        ({"turns": None}, [turn(0), result(0)], None),
    ],
)
def test_a_limit_is_looked_at_when_a_turn_is_over(
    limits: Any,  # noqa: ANN401
    messages: list[Any],
    stopped: str | None,
) -> None:
    """The tools of the last turn have run; a child that has just ended is not stopped."""
    progress = told(Progress(SubagentLimits(**limits)), *messages)

    assert progress.must_end() is (stopped is not None)
    assert progress.stopped == stopped


def test_children_of_a_child_spend_its_tokens_and_end_with_it() -> None:
    """This holds at any depth."""
    outer = Progress(SubagentLimits(tokens=15))
    inner = Progress(SubagentLimits(), Progress(SubagentLimits(), outer))
    told(inner, turn(0), result(0))
    assert (inner.depth, outer.tokens, inner.must_end()) == (3, 10, False)

    told(inner, turn(1), result(1))
    assert inner.must_end()

    below = Progress(SubagentLimits(), outer)
    assert not below.is_over
    outer.stopped = "seconds"
    assert below.is_over


def test_an_account_tells_words_work_files_and_what_is_open() -> None:
    """Each call in a line, with how it ended."""
    bad = ToolMessage("no such thing", tool_call_id="c1", status="error")
    write = {"name": "write_file", "id": "w", "args": {"file_path": "/a", "content": "x" * 999}}
    written = ToolMessage("ok", tool_call_id="w")
    asks = AIMessage("now the file", tool_calls=[write])
    progress = told(Progress(), turn(0, "I look"), result(0), turn(1), bad, asks, written, turn(2))
    progress.values = {"todos": [{"content": "rest", "status": "pending"}]}

    lines = account(progress, [*progress.files]).splitlines()

    assert lines[:4] == ["Last said:", "I look", "", "now the file"]
    assert "- look(n=0) → ok: found 0" in lines
    assert "- look(n=1) → FAILED: no such thing" in lines
    assert "- look(n=2) → not ended" in lines
    assert "[Files changed: /a]" in lines
    assert lines[-2:] == ["Still open:", "- rest"]
    assert all(len(line) < 2 * CALL_CHARS + 40 for line in lines)


def test_the_newest_messages_are_those_behind_the_task() -> None:
    """These are all messages if a runnable returns its own alone."""
    task, answer = HumanMessage("do it"), AIMessage("done")

    assert newest([AIMessage("old"), task, answer], "do it") == [answer]
    assert newest([answer], "do it") == [answer]
