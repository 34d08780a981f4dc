"""Decisions about a window, one by one."""

import pytest

from core_tests.unit.engine.threads import call, result, run, says, scene, steps, user
from thalweg.engine.compaction.plan import plan_arrivals, plan_fold
from thalweg.engine.compaction.rewrites import drop_reasoning, elide
from thalweg.engine.entries import Message, Thinking, ToolCall

LONG = "a line of the file\n" * 80
WRITE = '{"file_path": "a.py", "content": "new"}'


def test_only_results_that_are_too_large_are_bounded_at_arrival() -> None:
    """A quarter of the limit; a person's messages are kept."""
    s = scene(user(LONG * 20), call("a"), result("a", LONG), result("z", LONG * 20))

    assert [e.position for e in plan_arrivals(s)] == [3]


TOOLS = ("Bash", "Grep", "Read", "list_issues", "search_files", "query_database", "task")


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_of_a_result_has_no_effect_on_whether_it_arrives_whole(tool: str) -> None:
    """Its size decides: the same list is read by tools of any name."""
    for lines, is_cut in ((600, False), (9_000, True)):
        text = "\n".join(f"{n:04d} of the build" for n in range(lines))
        s = scene(user("Go"), call("a", tool, "{}"), result("a", text), window=200_000)

        assert bool(plan_arrivals(s)) == is_cut


def test_of_parallel_results_those_arrive_whole_that_leave_space() -> None:
    """Each takes a part of what the ones before it did not fill; with a trigger all do."""
    uses = tuple(ToolCall(str(n), "Read", "{}") for n in range(9))
    results = [result(str(n), LONG * 40) for n in range(9)]
    s = scene(user("Go"), Message("assistant", uses), *results, window=128_000)
    tokens = s.window.entries[2].tokens
    edits = plan_arrivals(s)
    kept = 9 - len(edits)

    assert 8_000 < tokens < 20_000
    assert [e.position for e in edits] == list(range(2 + kept, 11))
    assert kept * tokens < s.budget.limit
    assert plan_arrivals(s, fills=True) == []


def test_reasoning_goes_when_a_person_spoke_after_its_loop() -> None:
    """Only the loop that still runs keeps it; messages never shown are unchanged."""
    thought = Thinking("hm " * 50, "sig", '{"anthropic":{}}')
    s = scene(
        user("Go"),
        Message("assistant", (thought, ToolCall("a", "Bash", "{}"))), result("a"),
        Message("assistant", (thought,)),
        user("And?"),
        Message("assistant", (thought, ToolCall("b", "Bash", "{}"))), result("b"),
    )  # fmt: skip

    assert [e.position for e in drop_reasoning(s, -1)] == [1]


def test_large_arguments_become_what_they_act_on_and_a_handle() -> None:
    """Small ones are unchanged, and so is the id."""
    calls = (
        ToolCall("a", "Write", WRITE),
        ToolCall("b", "Write", WRITE.replace("new", "new " * 900)),
    )
    s = scene(user("Go"), Message("assistant", calls))

    edit = elide(s, s.window.entries[1], "the request would not fit")

    assert edit.parts[0] == calls[0]
    assert isinstance(edit.parts[1], ToolCall)
    assert edit.parts[1].id == "b"
    assert "a.py" in edit.parts[1].arguments
    assert 'recall(handle=\\"1-1\\")' in edit.parts[1].arguments


def test_a_fold_keeps_the_latest_request_where_it_is_small() -> None:
    """As the message it is; one that is a quarter of the limit is moved into the record."""
    work = [says("Step. " * 60) for _ in range(6)]
    small = plan_fold(
        scene(user("Go"), *work), tail_tokens=200, record_tokens=600, reason="asked for"
    )
    large = plan_fold(
        scene(user("Go " * 2_000), *work), tail_tokens=200, record_tokens=600, reason="asked for"
    )

    assert small is not None
    assert large is not None
    assert small.kept == (0,)
    assert large.kept == ()


def test_the_latest_request_that_a_fold_keeps_is_one_that_says_something() -> None:
    """An empty one has no place in a request; kept, it would come out of nowhere after a fold."""
    work = [says("Step. " * 60) for _ in range(6)]
    fold = plan_fold(
        scene(user("Go"), user(" "), *work), tail_tokens=200, record_tokens=600, reason="asked for"
    )

    assert fold is not None
    assert fold.kept == (0,)


def test_empty_requests_never_make_a_request_that_no_provider_takes() -> None:
    """They come first, last, and between calls and their results."""
    drive = run([m for _ in range(12) for m in (user(""), *steps(3), user(" "))])
    assert [request.problems for request in drive.requests if request.problems] == []


def test_there_is_nothing_to_fold_in_a_new_thread() -> None:
    """No edit is better than an empty one."""
    assert (
        plan_fold(scene(user("Go")), tail_tokens=2_000, record_tokens=600, reason="asked for")
        is None
    )


def test_a_large_report_arrives_as_an_excerpt() -> None:
    """Its beginning and its end, and how to read all of it."""
    chars = 100_000
    lines = "".join(f"{n:08d}\n" for n in range(chars // 9 + 1))[:chars]
    asked = '{"description": "count", "subagent_type": "worker"}'
    s = scene(user("Go"), call("a", "task", asked), result("a", lines), window=1_000_000)

    edits = plan_arrivals(s)

    assert edits
    for edit in edits:
        shown = str(edit.parts[0])
        assert "00000000" in shown
        assert lines[-9:] in s.window.entries[2].message.text
        assert "recall(" in shown
        assert len(shown) > 5_000
        assert edit.tokens_after <= s.budget.report + 50
