"""Codex rollouts: the items of the Responses API in their wrappers."""

from pathlib import Path
from typing import Any

from recorder_tests.unit.lab.recordings.log_files import codes, read_lines, said
from thalweg.engine.entries import Thinking
from thalweg.engine.pricing.usage import Usage
from thalweg_recorder.forgotten import names_with_parents

AT = "2026-02-01T10:00:00Z"


def _row(kind: str, **payload: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
    return {"timestamp": AT, "type": kind, "payload": payload}


def _user(text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return _row("response_item", type="message", role="user", content=content)


def _model(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return _row("response_item", type="message", role="assistant", content=content)


def _call(call_id: str) -> dict[str, Any]:
    return _row(
        "response_item", type="function_call", name="shell", arguments="{}", call_id=call_id
    )


def _output(call_id: str, output: str) -> dict[str, Any]:
    return _row("response_item", type="function_call_output", call_id=call_id, output=output)


def _usage(**tokens: int) -> dict[str, Any]:
    return _row("event_msg", type="token_count", info={"last_token_usage": tokens})


def test_a_session_is_read_with_its_instructions_first(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            _row("session_meta", id="s", cwd="/w", base_instructions={"text": "You are …"}),
            _row("turn_context", model="m"),
            _user("list the files"),
            _row("event_msg", type="user_message", message="list the files"),
            _row("response_item", type="reasoning", summary=[], encrypted_content="zzz"),
            _call("c1"),
            _output("c1", "a.txt"),
            _model("there is a.txt"),
        ],
    )

    assert recording.format == "codex"
    assert said(recording) == [
        ("system", "You are …"),
        ("user", "list the files"),
        ("assistant", ""),
        ("tool", "a.txt"),
        ("assistant", "there is a.txt"),
    ]
    turn = recording.messages[2]
    assert isinstance(turn.parts[0], Thinking)
    assert (turn.calls[0].id, turn.line, turn.at) == ("c1", 4, AT)
    assert recording.messages[3].name == "shell"
    assert codes(recording) == ["left_out", "left_out", "left_out"]


def test_reported_tokens_belong_to_the_answer_before_them(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            _user("go"),
            _row("response_item", type="reasoning", summary=[], encrypted_content="zzz"),
            _call("c1"),
            _usage(input_tokens=100, cached_input_tokens=80, output_tokens=5),
            _output("c1", "ok"),
            _model("done"),
            _usage(input_tokens=120, cached_input_tokens=100, output_tokens=7),
        ],
    )

    assert [message.usage for message in recording.messages] == [
        None,
        Usage(100, cached=80, output=5),
        None,
        Usage(120, cached=100, output=7),
    ]


def _counted(total: int, **info: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
    last = {"input_tokens": 100, "output_tokens": 5, "reasoning_output_tokens": 2}
    totals = {"input_tokens": total, "output_tokens": 9}
    info |= {"last_token_usage": last, "total_token_usage": totals}
    return _row("event_msg", type="token_count", info=info)


def test_a_fork_repeats_the_answers_of_its_parent(tmp_path: Path) -> None:
    """They have the same ids; its own answer has another. Each names its model."""
    answers = [
        _row("turn_context", model="gpt-5.5"),
        _model("a"),
        _counted(100, model_context_window=258_400),
        _user("more"),
        _row("turn_context", model="gpt-5-mini"),
        _row("turn_context", cwd="/elsewhere"),
        _model("b"),
        _counted(200),
    ]
    own, parent = _row("session_meta", id="child"), _row("session_meta", id="parent")
    (tmp_path / "parent").mkdir()
    before = read_lines(tmp_path / "parent", [parent, *answers])
    fork = read_lines(tmp_path, [own, parent, *answers, _user("go"), _model("c"), _counted(300)])

    assert (fork.session.id, fork.window) == ("child", 258_400)
    first, second, third = fork.answers
    assert before.answers == [first, second]
    assert len({first.id, second.id, third.id}) == 3
    assert [usage.model for usage in fork.answers] == ["gpt-5.5", "gpt-5-mini", "gpt-5-mini"]
    assert (first.output, first.reasoning) == (5, 2)


def test_what_codex_wrote_for_the_user_is_injected(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            _user("<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
            _user("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>"),
            _user("fix the build"),
        ],
    )

    assert [message.kind for message in recording.messages] == ["injected", "injected", "said"]


def test_the_summary_of_a_compaction_is_left_out(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path, [_user("hi"), _row("compacted", message="so far"), _user("on")]
    )

    assert said(recording) == [("user", "hi"), ("user", "on")]
    assert [(note.line, note.code) for note in recording.notes] == [(1, "recorded_summary")]


def test_bare_items_of_older_files_are_read(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"id": "s", "timestamp": AT, "instructions": None},
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ],
    )

    assert recording.format == "codex"
    assert said(recording) == [("user", "hi"), ("assistant", ""), ("tool", "ok")]


def test_a_broken_line_between_items_stays_where_it_stood(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [_user("hi"), "oops {", _model("hello")])

    assert [message.line for message in recording.messages] == [0, 1, 2]
    assert codes(recording) == ["broken_json"]


def test_a_subagent_is_a_part_of_its_session(tmp_path: Path) -> None:
    """So `forget` of the session reaches it; a fork has a session of its own."""
    own = {"id": "s2", "session_id": "s1"}
    rows = [_row("session_meta", **own, parent_thread_id="s1"), _row("session_meta", id="s1")]

    subagent = read_lines(tmp_path, [*rows, _user("Count the herons")])
    fork = read_lines(tmp_path, [_row("session_meta", **own), _user("Count the herons")])

    assert subagent.session.id == "s1.s2"
    assert fork.session.id == "s2"
    assert [*names_with_parents("codex:s1.s2")] == ["codex:s1", "codex:s1.s2"]
