"""Logs that the agents themselves wrote against a loopback model, and how each is read.

`recorder_tests/agent_logs` has one of each: Claude Code 2.1.197, Codex 0.171, Copilot CLI 1.0.102,
Droid 0.225, Gemini CLI 0.61, Kimi Code 2.1, OpenHands SDK 1.58, Qwen Code 0.15 (subagent: 0.24).
System prompts and reminders are left out of them; nothing else was changed, except for paths.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from recorder_tests.unit.lab.recordings.log_files import codes, said
from thalweg.archive import ThreadKey, open_archive
from thalweg.errors import RecordingError
from thalweg_recorder import import_sessions
from thalweg_recorder.recordings import Recording, read_recording
from thalweg_recorder.recordings.agents import Machine
from thalweg_recorder.recordings.sessions import coding_sessions

LOGS = Path(__file__).parents[3] / "agent_logs"
SESSIONS = {
    "copilot-cli": ("ece6484c-07df-467f-b2bc-d9fd7704b71b", "/home/ann/shop", "m1"),
    "droid": ("dc095f3f-570f-40ac-827f-f397fcd031e9", "/home/ann/shop", "custom:m1"),
    "gemini-cli": ("fc1ce475-4554-45eb-b864-e0a690d8272b", "", "gemini-2.5-pro"),
    "kimi-code": ("", "/home/ann/shop", "m1"),
    "openhands": ("369c8976-9cdb-46a7-b24a-ddc1bf5f88b6", "/home/ann/shop", "openai/m1"),
    "qwen-code": ("35362505-45a2-4703-ba8b-06c6cf04602b", "/home/ann/shop", "m1"),
}
TURNS = [
    ("user", "Count bank one"),
    ("assistant", ""),
    ("tool", "heron one"),
    ("assistant", "Counted the first bank."),
    ("user", "/nope/none.txt"),
    ("assistant", ""),
    ("tool", "!"),
    ("assistant", "It is missing."),
]
"""Speaker and part of the text of each turn; `!` is an error."""


@pytest.fixture(params=SESSIONS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(agent: str, folder: Path) -> Recording:
    """Read the log of an agent, as it is on its machine."""
    log = LOGS / f"{agent}.jsonl"
    return read_recording(conversation(folder, log) if agent == "openhands" else log)


def conversation(folder: Path, log: Path) -> Path:
    """Write a conversation of OpenHands as its files, and return that of its state."""
    state, *events = log.read_text().splitlines()
    (folder / "events").mkdir(parents=True)
    for number, event in enumerate(events):
        (folder / "events" / f"event-{number:05}-{number}.json").write_text(event)
    (folder / "base_state.json").write_text(state)
    return folder / "base_state.json"


def test_the_turns_of_a_session_are_read(agent: str, tmp_path: Path) -> None:
    recording = read(agent, tmp_path)
    turns = [one for one in recording.messages if one.role != "system" and one.kind == "said"]

    assert recording.format == agent
    assert not codes(recording) or set(codes(recording)) <= {"left_out", "recorded_summary"}
    for message, (role, part) in zip(turns, TURNS, strict=False):
        assert message.role == role
        assert part in message.text or (part == "!" and message.is_error)
    assert len(turns) >= (4 if agent == "droid" else len(TURNS))
    calls = [call for one in turns for call in one.calls]
    assert len(calls) == sum(one.role == "tool" for one in turns)
    assert {call.id for call in calls} == {one.answers for one in turns if one.role == "tool"}
    assert "echo heron one" in calls[0].arguments


def test_a_session_has_its_statements_and_its_usage(agent: str, tmp_path: Path) -> None:
    recording = read(agent, tmp_path)
    info = recording.session
    usage = [one for one in recording.messages if one.role == "assistant" and one.usage]

    assert (info.id, info.project, info.model) == SESSIONS[agent]
    assert recording.title == "Count bank one"
    if agent != "droid":  # it reports only the sum of a session, in another file
        answers = [one for one in recording.messages if one.role == "assistant"]
        assert len(usage) == len(answers)
        assert min(one.usage.input for one in usage if one.usage) > 5_000


def test_thoughts_and_injected_texts_are_told_apart(tmp_path: Path) -> None:
    for agent in ("droid", "kimi-code", "openhands", "qwen-code"):
        first = next(m for m in read(agent, tmp_path / agent).messages if m.role == "assistant")
        assert getattr(first.parts[0], "text", "") == "I should count."
    for agent in ("droid", "gemini-cli", "kimi-code"):
        assert any(one.kind == "injected" for one in read(agent, tmp_path).messages)


@pytest.mark.parametrize("log", [*SESSIONS, "gemini-cli-compressed"])
def test_a_log_that_grows_is_imported_row_by_row(log: str, tmp_path: Path) -> None:
    """Once for each row, with the same result as at once."""
    lines = (LOGS / f"{log}.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "session.jsonl"
    with open_archive(":memory:") as archive:
        threads: set[str] = set()
        for end in range(1, len(lines) + 1):
            path.write_text("".join(lines[:end]))
            threads |= {one.thread for one in import_sessions(archive, [path]) if one.thread}
        (thread,) = threads
        grown = [one.text for one in archive.messages(ThreadKey("local", thread))]
    whole = [one.text for one in read_recording(path).messages]
    assert sorted(filter(None, grown)) == sorted(filter(None, whole))


def test_a_compression_of_gemini_cli_keeps_the_messages_and_their_ids() -> None:
    """It writes the messages that it keeps once more, with other ids and without results."""
    recording = read_recording(LOGS / "gemini-cli-compressed.jsonl")
    (compaction,) = recording.compactions

    assert compaction.summary == "A title"
    assert sum(one.role == "tool" for one in recording.messages) == 2
    assert sum(len(one.calls) for one in recording.messages) == 2
    assert recording.left_out["header or change"]


def test_logs_of_claude_code_and_codex_are_read(tmp_path: Path) -> None:
    claude, codex = read("claude-code", tmp_path), read("codex", tmp_path)
    assert [text for role, text in said(claude) if role == "user"] == [
        "Hello",
        "Count the big bank",
        "Ask an agent about cranes",
    ]
    assert [call.name for one in claude.messages for call in one.calls] == ["Bash", "Agent"]
    assert codex.title == "Hello"
    assert said(codex)[-1] == ("assistant", "Hello from the stub.")
    assert codex.messages[-1].usage
    assert not {*codes(claude), *codes(codex)} - {"left_out"}


def test_a_compression_of_qwen_code_is_one(tmp_path: Path) -> None:
    (compaction,) = read("qwen-code", tmp_path).compactions
    assert (compaction.summary, compaction.tokens_before) == ("A title", 19_599)


def _rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_rows_of_a_subagent_are_a_thread_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = (LOGS / "copilot-cli.jsonl").read_text()
    data = {"content": "Found it", "toolRequests": [], "parentToolCallId": "call_9"}
    row = {"type": "assistant.message", "id": "e", "timestamp": "2026-11-28T21:00:00Z"}
    path.write_text(lines + json.dumps({**row, "data": data}) + "\n")

    (subagent,) = read_recording(path).subagents

    assert said(subagent) == [("assistant", "Found it")]
    assert subagent.session.id == f"{SESSIONS['copilot-cli'][0]}.call_9"
    assert subagent.session.project == "/home/ann/shop"


@pytest.mark.parametrize(
    ("agent", "place", "thread", "messages"),
    [
        (
            "gemini-cli",
            ".gemini/tmp/shop/chats/aaf69462/1b39c045.jsonl",
            "gemini-cli:aaf69462.1b39c045-99c8-473d-b3da-6983ae8fc4c4",
            6,
        ),
        (
            "qwen-code",
            ".qwen/projects/-home-ann-shop/subagents/b7acb1a6/agent-general-purpose-call_15.jsonl",
            "qwen-code:b7acb1a6-97b0-4a1a-8325-cf2e9a7f98b9.general-purpose-call_15",
            2,
        ),
    ],
)
def test_subagents_in_files_of_their_own_are_threads(
    agent: str, place: str, thread: str, messages: int, tmp_path: Path
) -> None:
    """Gemini CLI 0.61 and Qwen Code 0.24 write them below the folder of their session."""
    log = tmp_path / place
    log.parent.mkdir(parents=True)
    log.write_bytes((LOGS / f"{agent}-subagent.jsonl").read_bytes())
    machine = Machine(tmp_path, {})

    assert coding_sessions(machine) == []
    with open_archive(":memory:") as archive:
        (imported,) = import_sessions(archive, coding_sessions(machine, subagents=True))
        texts = [one.text for one in archive.messages(ThreadKey("local", thread))]
    assert imported.thread == thread
    assert len(texts) == messages
    assert texts[0] == "Report about cranes"
    assert "The cranes have ring CR-9." in texts


def test_copilot_calls_a_tool_with_any_text_and_loads_a_skill(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    patch = "*** Begin Patch\n+ok\n*** End Patch"
    call = {"toolCallId": "custom_1", "name": "apply_patch", "arguments": patch}
    row = {"id": "e", "timestamp": "2026-11-28T21:00:00Z"}
    rows = [
        {**row, "type": "skill.invoked", "data": {"name": "s", "content": "How to patch"}},
        {**row, "type": "assistant.message", "data": {"content": "", "toolRequests": [call]}},
    ]
    log = (LOGS / "copilot-cli.jsonl").read_text()
    path.write_text(log + "".join(f"{json.dumps(row)}\n" for row in rows))

    *_, skill, patched = read_recording(path).messages

    assert (skill.text, skill.kind) == ("How to patch", "injected")
    assert [json.loads(one.arguments) for one in patched.calls] == [{"input": patch}]


def test_rows_in_the_documented_form_are_read(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}
    path = _rows(
        tmp_path / "mine.jsonl",
        {"format": "agent-rows", "agent": "mine", "session": {"id": "s1", "project": "/src"}},
        {"message": {"role": "user", "content": "Which files?"}, "at": "2026-11-28T10:00:00Z"},
        {"usage": {"input_tokens": 7}, "answer": "r1", "model": "m"},
        {"message": {"role": "assistant", "content": [call]}, "answer": "r1", "id": "m2"},
        {"message": {"role": "user", "content": [result]}},
        {"compaction": {"summary": "Files were listed.", "trigger": "auto"}},
        {"left_out": "heartbeat"},
        {"message": {"role": "user", "content": "go on"}, "injected": True},
        {"message": {"role": "assistant", "content": "none"}, "thread": "sub"},
        {"something": "else"},
    )

    recording = read_recording(path)

    assert (recording.format, recording.session.id) == ("mine", "s1")
    kinds = [(one.role, one.kind) for one in recording.messages]
    said_by = [("user", "said"), ("assistant", "said"), ("tool", "said")]
    assert kinds[:4] == [*said_by, ("user", "injected")]
    answer = recording.messages[1].usage
    assert answer is not None
    assert (answer.input, answer.model) == (7, "m")
    assert recording.compactions[0].trigger == "auto"
    assert recording.left_out == {"heartbeat": 1}
    assert recording.messages[-1].text == '{"something": "else"}'
    assert said(recording.subagents[0]) == [("assistant", "none")]


def test_a_log_whose_messages_are_of_another_form_is_refused_with_its_name(tmp_path: Path) -> None:
    call = {"type": "toolRequest", "id": "c1", "toolCall": {"value": {"name": "shell"}}}
    rows = [{"role": role, "content": [call]} for role in ("user", "assistant", "user")]
    with pytest.raises(RecordingError, match=r"looks like openai-chat-log, but 3 of 3 messages"):
        read_recording(_rows(tmp_path / "goose.jsonl", *rows))


def test_a_session_of_copilot_cli_from_2025_has_the_times_of_its_timeline(tmp_path: Path) -> None:
    """The form of public histories of October 2025, with other words."""
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    messages = [
        {"role": "user", "content": "Count the banks.\n\n<reminder>\nUse tools.\n</reminder>"},
        {"padding": "a", "role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "<exited with exit code 1>"},
        {"padding": "a", "role": "assistant", "content": "There are none."},
    ]
    timeline = [
        {"type": "info", "timestamp": "2025-10-05T13:12:44.593Z", "text": "Connected"},
        {"type": "user", "timestamp": "2025-10-05T13:12:45.593Z", "text": "Count the banks."},
        {
            "type": "tool_call_completed",
            "timestamp": "2025-10-05T13:12:46.593Z",
            "callId": "call_1",
            "result": {"type": "failure"},
        },
        {"type": "copilot", "timestamp": "2025-10-05T13:12:47.593Z", "text": "There are none."},
    ]
    document = {"sessionId": "s1", "chatMessages": [*messages, 7], "timeline": timeline}
    (path := tmp_path / "session_s1_1.json").write_text(json.dumps(document))

    recording = read_recording(path)

    assert (recording.format, recording.session.id) == ("copilot-cli", "s1")
    assert said(recording)[1:] == [
        ("assistant", ""),
        ("tool", "<exited with exit code 1>"),
        ("assistant", "There are none."),
        ("user", "7"),
    ]
    assert [one.at[17:19] for one in recording.messages] == ["45", "", "46", "47", ""]
    assert recording.messages[2].is_error
    assert recording.messages[1].calls[0].id == "call_1"
    assert recording.left_out == {"info": 1}
    assert codes(recording) == ["left_out", "odd_row"]


def test_equal_messages_of_copilot_cli_have_the_times_of_their_own(tmp_path: Path) -> None:
    texts = ["continue", "", "continue"]
    roles = ["user", "assistant", "user"]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    timeline = [
        {"type": "user", "timestamp": f"2025-10-05T{hour}:00:00.000Z", "text": text}
        for hour, text in ((10, "continue"), (11, ""), (12, "continue"))
    ]
    path = tmp_path / "session_s1_1.json"
    times = []
    for count in (1, 3):
        document = {"sessionId": "s1", "chatMessages": messages, "timeline": timeline[:count]}
        path.write_text(json.dumps(document))
        times.append([one.at[11:13] for one in read_recording(path).messages])

    assert times == [["10", "", ""], ["10", "", "12"]]
