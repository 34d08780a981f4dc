"""What a call does is derived from its name and arguments, as real agents write them."""

import json

import pytest

from core_tests.property.driving import quick_count
from core_tests.unit.engine.threads import call, entries, result, user
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.window.reading import BRIEF_CHARS, MAX_OPEN_CALLS, Reader, classify_call


@pytest.mark.parametrize(
    ("name", "arguments", "action", "target"),
    [
        ("Read", {"file_path": "/src/a.py", "offset": 3}, "read", "/src/a.py"),
        ("Edit", {"file_path": "a.py", "old_string": "x"}, "write", "a.py"),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "write", "a.py"),
        ("save_file", {"path": "a.py", "text": "x"}, "write", "a.py"),
        ("Write", {"file_path": "a.py", "content": "x"}, "write", "a.py"),
        ("Bash", {"command": "pytest -q", "timeout": 5}, "run", "pytest -q"),
        ("Grep", {"pattern": "def f", "path": "src"}, "search", "src"),
        ("Glob", {"pattern": "**/*.py"}, "search", "**/*.py"),
        ("Task", {"prompt": "p", "subagent_type": "explore"}, "delegate", "explore"),
        ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, "plan", ""),
        ("WebFetch", {"url": "https://example.org"}, "read", "https://example.org"),
        ("update_plan", {"plan": [{"step": "a"}]}, "plan", ""),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, "read", "/a.py"),
        ("str_replace_editor", {"command": "create", "path": "/a.py"}, "write", "/a.py"),
        ("str_replace_editor", {"command": "str_replace", "path": "/a.py"}, "write", "/a.py"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/a.py"}, "read", "/a.py"),
        ("execute_bash", {"command": "ls -la /"}, "run", "ls -la /"),
        ("execute_ipython_cell", {"code": "1 + 1"}, "run", "1 + 1"),
        ("find_file", {"file_name": "a.py"}, "search", "a.py"),
        ("read_task", {"step": 4}, "read", ""),
        ("search_agent", {"query": "piers"}, "delegate", "piers"),
        ("transfer_to_search_agent", {}, "delegate", ""),
        ("weather", {"city": "Ulm"}, "other", ""),
    ],
)  # fmt: skip
def test_calls_of_real_agents_are_understood(
    name: str, arguments: dict[str, object], action: str, target: str
) -> None:
    """Claude Code, Codex, OpenHands, SWE-agent and editors with commands."""
    use = classify_call(ToolCall("c", name, json.dumps(arguments)), "c", 0)

    assert (use.action, use.target) == (action, target)
    assert len(use.brief) <= BRIEF_CHARS


def test_a_brief_is_one_short_line_whatever_the_arguments_are() -> None:
    """Long, deep, glued, broken, or with line ends in names and keys."""
    odd = ("", "{", '{"a":1}{"b":2}', "null", "[1]", '{"a\\n## b": "c\\nd"}', "x\ny" * 9_000)
    deep = '{"path": ' + "[" * 700 + "]" * 700 + "}"
    for arguments in (*odd, deep, json.dumps({"content": "word " * 90_000})):
        use = classify_call(ToolCall("c", "odd\nname", arguments), "c", 0)
        assert "\n" not in use.brief
        assert len(use.brief) <= BRIEF_CHARS
        assert len(use.target) <= 1_000


@pytest.mark.parametrize("odd", ["", " ", "c:1", "x" * 41, "日本", "../x"])
def test_odd_and_reused_ids_get_unique_ones_and_results_still_find_their_call(odd: str) -> None:
    """Of open calls with one id, the newest turn's is answered first."""
    read = entries(call(odd), call("good"), call(odd), result(odd), result("good"), result(odd))
    ids = [e.uses[0].id for e in read[:3]]

    assert len(set(ids)) == 3
    assert all(i and len(i) <= 40 for i in ids)
    assert [e.answers and e.answers.position for e in read[3:]] == [2, 1, 0]


@pytest.mark.parametrize("recorded", ["c", ""])
def test_a_call_that_was_never_answered_shifts_nothing_behind_it(recorded: str) -> None:
    """An aborted turn, then others that use its id again, or none at all."""
    turns = [m for k in range(3) for m in (call(recorded), result(recorded, f"{k}"))]
    read = entries(call(recorded), user("Go on"), *turns)

    assert [e.answers and e.answers.position for e in read[3::2]] == [2, 4, 6]


def test_a_reused_id_answers_its_own_call_and_overwrites_nothing() -> None:
    """Each result belongs to the call before it."""
    read = entries(call("c1"), result("c1", "one"), call("c1"), result("c1", "two"))

    answered = [read[k].answers for k in (1, 3)]
    assert [use.id for use in answered if use] == ["c1", "call_2_0"]


def test_a_result_that_nobody_asked_for_is_an_orphan() -> None:
    """A second result of one call, too."""
    read = entries(call("c1"), result("c1"), result("c1"), result("c9"))

    assert [e.answers is None for e in read[1:]] == [False, True, True]


def test_a_result_without_an_id_answers_the_oldest_call_of_its_tool() -> None:
    """As dialects without ids mean it."""
    reader = Reader(quick_count)
    calls = (ToolCall("", "ls", "{}"), ToolCall("", "cat", "{}"))
    reader.read(Message("assistant", calls))

    answered = reader.read(Message("tool", (Text("x"),), name="cat")).answers

    assert answered is not None
    assert answered.name == "cat"


def test_unanswered_calls_are_forgotten_in_the_end() -> None:
    """Memory is bounded for any number of open calls."""
    reader = Reader(quick_count)
    for n in range(MAX_OPEN_CALLS + 5):
        reader.read(call(f"c{n}"))

    assert reader.read(result("c0")).answers is None
    assert reader.read(result("c9")).answers is not None


def test_a_call_with_the_id_of_a_compacted_one_is_the_newest_in_its_message() -> None:
    """A result without an id answers the first call of its tool, also after a restart."""

    def answered(*, restarts: bool) -> str:
        reader = Reader(quick_count)
        reader.read(Message("assistant", (ToolCall("c1", "read", "{}"),)))
        waiting = reader.waiting(0, ())
        used = reader.forget_dead_ids(())
        if restarts:
            reader = Reader(quick_count, position=1)
            reader.resume(used, waiting)
        calls = ToolCall("c2", "read", "{}"), ToolCall("c1", "read", "{}")
        reader.read(Message("assistant", calls))
        entry = reader.read(Message("tool", (Text("found"),), name="read"))
        return entry.answers.id if entry.answers else ""

    assert answered(restarts=False) == answered(restarts=True) == "c2"
