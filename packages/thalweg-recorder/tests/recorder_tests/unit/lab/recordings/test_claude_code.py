"""Claude Code sessions: rows become the messages that the model saw."""

import json
from pathlib import Path
from typing import Any

from recorder_tests.unit.lab.recordings.log_files import codes, read_lines, said
from thalweg.engine.entries import Media, Text, Thinking, ToolCall
from thalweg.engine.pricing.usage import Usage
from thalweg_recorder.recordings import read_recording
from thalweg_recorder.recordings.files import session_state

JsonRow = dict[str, Any]


def _user(uuid: str, content: object, **fields: object) -> JsonRow:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "sessionId": "s", "message": message, **fields}


def _model(uuid: str, message_id: str, *blocks: JsonRow, **fields: object) -> JsonRow:
    message = {"id": message_id, "role": "assistant", "content": list(blocks), **fields}
    return {"type": "assistant", "uuid": uuid, "sessionId": "s", "message": message}


def _text(text: str) -> JsonRow:
    return {"type": "text", "text": text}


def _call(call_id: str) -> JsonRow:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"path": "."}}


def _result(uuid: str, call_id: str, content: object, **fields: object) -> JsonRow:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return _user(uuid, [block], toolUseResult={"stdout": "beside"}, **fields)


def test_rows_of_one_model_message_become_one(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}

    recording = read_lines(
        tmp_path,
        [
            _user("u1", "hi"),
            _model("u2", "m1", thought, usage={"input_tokens": 7, "output_tokens": 1}),
            {"type": "progress", "uuid": "p1", "data": {}},
            _model("u3", "m1", _text("hello"), usage={"input_tokens": 7, "output_tokens": 9}),
            _model("u4", "m1", _call("c1")),
        ],
    )

    (_, answer) = recording.messages
    assert [type(part) for part in answer.parts] == [Thinking, Text, ToolCall]
    assert isinstance(answer.parts[0], Thinking)
    assert answer.parts[0].signature == "sig"
    assert (answer.line, answer.uid) == (1, "u2")
    assert answer.usage == Usage(7, output=9, id="m1")


def test_results_that_came_between_the_calls_of_one_message_follow_it(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            _user("u1", "hi"),
            _model("u2", "m1", _call("c1")),
            _result("u3", "c1", "one"),
            _model("u4", "m1", _call("c2")),
            _result("u5", "c2", "two"),
        ],
    )

    assert said(recording) == [("user", "hi"), ("assistant", ""), ("tool", "one"), ("tool", "two")]
    assert [call.id for call in recording.messages[1].calls] == ["c1", "c2"]
    assert [message.name for message in recording.messages[2:]] == ["Read", "Read"]


def test_a_message_id_that_returns_after_the_user_spoke_is_another_message(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [_model("u1", "m1", _text("a")), _user("u2", "and?"), _model("u3", "m1", _text("b"))],
    )

    assert said(recording) == [("assistant", "a"), ("user", "and?"), ("assistant", "b")]


def test_results_and_words_in_one_row_are_messages_of_their_own(tmp_path: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}

    recording = read_lines(
        tmp_path, [_model("u1", "m1", _call("c1")), _user("u2", [result, _text("stop")])]
    )

    assert said(recording)[1:] == [("tool", "no"), ("user", "stop")]
    assert recording.messages[1].is_error
    assert [message.line for message in recording.messages] == [0, 1, 1]


def test_an_image_in_a_result_is_read(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    picture = {"type": "image", "source": source}

    recording = read_lines(
        tmp_path, [_model("u1", "m1", _call("c1")), _result("u2", "c1", [_text("see"), picture])]
    )

    (seen, shown) = recording.messages[1].parts
    assert isinstance(seen, Text)
    assert isinstance(shown, Media)
    assert (shown.mime, shown.data) == ("image/png", "AAAA")


def test_rows_that_are_no_messages_are_counted_by_kind(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            {"type": "summary", "summary": "Fix the tests", "leafUuid": "x"},
            {"type": "file-history-snapshot", "snapshot": {}},
            _user("u1", "hi"),
            {"type": "progress", "data": {}},
            {"type": "progress", "data": {}},
            {"type": "queue-operation", "operation": "enqueue"},
            {"type": "system", "subtype": "turn_duration", "uuid": "y"},
        ],
    )

    assert said(recording) == [("user", "hi")]
    assert [note.text.split(":")[0] for note in recording.notes] == [
        "1 rows of file-history-snapshot",
        "2 rows of progress",
        "1 rows of queue-operation",
        "1 rows of summary",
        "1 rows of system",
    ]


def test_a_summary_may_name_the_transcript_of_its_session(tmp_path: Path) -> None:
    """As Claude Code writes from version 2.1 on."""
    names = (
        "It was fixed.\n\nIf you need details, read the full transcript at: /home/ada/1.jsonl\nGo"
    )
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": "s"}

    recording = read_lines(
        tmp_path,
        [
            _user("u1", "Go"),
            boundary,
            _user("u2", "It was fixed.", isCompactSummary=True),
            boundary,
            _user("u3", names, isCompactSummary=True),
        ],
    )

    assert [one.transcript for one in recording.compactions] == ["", "/home/ada/1.jsonl"]
    assert [one.summary for one in recording.compactions] == ["It was fixed.", names]


def test_the_history_stands_uncompacted_and_the_summary_is_left_out(tmp_path: Path) -> None:
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"preTokens": 9},
    }

    recording = read_lines(
        tmp_path,
        [
            _user("u1", "hi"),
            boundary,
            _user("u2", "This session is continued …", isCompactSummary=True),
            _model("u3", "m1", _text("on")),
        ],
    )

    assert said(recording) == [("user", "hi"), ("assistant", "on")]
    assert [(note.line, note.code) for note in recording.notes] == [
        (1, "recorded_compact_boundary"),
        (2, "recorded_summary"),
    ]
    assert "27 characters" in recording.notes[1].text


def test_what_the_harness_wrote_is_injected(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            _user("u1", "Base directory …", isMeta=True),
            _user("u2", [_text("[Request interrupted by user]")]),
            _user("u3", "<task-notification>done</task-notification>"),
            _user("u4", "<command-name>/exit</command-name>\n<command-args></command-args>"),
            _user("u5", "<command-name>/review</command-name>\n<command-args>it</command-args>"),
        ],
    )

    kinds = [message.kind for message in recording.messages]
    assert kinds == ["injected", "injected", "injected", "said", "said"]
    assert [one.uid for one in recording.messages if one.is_request] == ["u5"]


def test_rows_of_subagents_are_threads_of_their_own(tmp_path: Path) -> None:
    """By the row that each begins with, or the id of its agent."""
    recording = read_lines(
        tmp_path,
        [
            _user("u1", "hi", sessionId="s1"),
            _user("u2", "explore", isSidechain=True),
            _user("u3", "and test", isSidechain=True, agentId="a7"),
            {**_model("u4", "m1", _text("explored")), "isSidechain": True, "parentUuid": "u2"},
        ],
    )

    assert said(recording) == [("user", "hi")]
    assert [said(one) for one in recording.subagents] == [
        [("user", "explore"), ("assistant", "explored")],
        [("user", "and test")],
    ]
    assert [one.session.id for one in recording.subagents] == ["s1.u2", "s1.a7"]


def test_files_of_large_results_are_a_thread(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    text = "Full output saved to: /x/s1/tool-results/b1.txt"
    row = _user("u1", text, sessionId="s1", timestamp="2026-11-28T10:00:00Z")
    path.write_text(json.dumps(row) + "\n")
    (tmp_path / "s1" / "tool-results").mkdir(parents=True)
    (tmp_path / "s1" / "tool-results" / "b1.txt").write_text("quiet\n" * 9 + "zanzibar")

    state = session_state(path)
    (results,) = read_recording(path).subagents

    assert results.session.id == "s1.tool-results"
    (message,) = results.messages
    assert message.text.endswith("zanzibar")
    assert message.at == "2026-11-28T10:00:00Z"
    (tmp_path / "s1" / "tool-results" / "b2.txt").write_text("more")
    assert session_state(path) != state


def test_the_file_of_a_subagent_is_its_thread(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [_user("u1", "explore", isSidechain=True, agentId="a")])

    assert said(recording) == [("user", "explore")]


def test_a_row_that_was_written_twice_is_read_once(tmp_path: Path) -> None:
    row = _model("u1", "m1", _text("done"))

    recording = read_lines(tmp_path, [_user("u0", "go"), row, row])

    assert said(recording) == [("user", "go"), ("assistant", "done")]
    assert codes(recording) == ["repeated_row"]


def test_a_uuid_with_other_words_is_kept_and_noted(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [_user("u1", "a"), _user("u1", "b")])

    assert said(recording) == [("user", "a"), ("user", "b")]
    assert codes(recording) == ["reused_uid"]


def test_a_prompt_that_was_taken_back_is_kept(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            _model("u1", "m1", _text("done")),
            _user("u2", "now this", parentUuid="u1"),
            _user("u3", "rather that", parentUuid="u1"),
        ],
    )

    assert len(recording.messages) == 3


def test_broken_and_glued_lines_lose_nothing(tmp_path: Path) -> None:
    glued = (
        '{"type":"user","uuid":"u2","message":{"role":"user","content":"two"}}{"type":"summary"}'
    )

    recording = read_lines(tmp_path, [_user("u1", "one"), glued, '{"type":"user","message":{"ro'])

    assert said(recording)[:2] == [("user", "one"), ("user", "two")]
    assert recording.messages[2].parts == (Text('{"type":"user","message":{"ro'),)
    assert codes(recording) == ["broken_json", "glued_json", "left_out"]


def test_an_orphan_result_is_kept(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [_result("u1", "c9", "late"), _user("u2", "hi")])

    assert recording.messages[0].answers == "c9"


def test_a_spoken_row_without_a_message_stays_in_the_thread(tmp_path: Path) -> None:
    recording = read_lines(tmp_path, [_user("u1", "hi"), {"type": "user", "message": "lost"}])

    assert len(recording.messages) == 2
    assert codes(recording) == ["odd_row"]
