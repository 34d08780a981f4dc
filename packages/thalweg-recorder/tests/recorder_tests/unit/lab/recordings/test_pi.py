"""Sessions of pi: Anthropic's blocks under other names."""

from pathlib import Path
from typing import Any

from recorder_tests.unit.lab.recordings.log_files import codes, read_lines, said
from thalweg.engine.entries import Media, Thinking
from thalweg.engine.pricing.usage import Usage

HEADER = {"type": "session", "version": 3, "id": "s", "cwd": "/w"}


def _row(role: str, content: object, entry: str = "", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    message = {"role": role, "content": content, **fields}
    return {"type": "message", "id": entry, "timestamp": "2026-01-01T00:00:00Z", "message": message}


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def test_words_thoughts_calls_results_and_pictures_are_read(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "ü"}}
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    usage = {"input": 3, "output": 5, "cacheRead": 97, "cacheWrite": 0}

    recording = read_lines(
        tmp_path,
        [
            HEADER,
            _row("user", _text("hi"), "e1"),
            _row("assistant", [thought, call], "e2", usage=usage),
            _row(
                "toolResult",
                [*_text("no"), picture],
                toolCallId="c1",
                toolName="read",
                isError=True,
            ),
        ],
    )

    (_, turn, result) = recording.messages
    assert recording.format == "pi"
    assert turn.parts[0] == Thinking("hm", "sig", turn.parts[0].extra)  # type: ignore[union-attr]
    assert (turn.calls[0].id, turn.calls[0].arguments) == ("c1", '{"path": "ü"}')
    expected = Usage(100, 97, 0, 5, id="e2@2026-01-01T00:00:00Z")
    assert (turn.uid, turn.line, turn.usage) == ("e2", 2, expected)
    assert (result.answers, result.name, result.is_error, result.text) == ("c1", "read", True, "no")
    assert isinstance(result.parts[1], Media)


def test_summaries_are_left_out_and_settings_are_counted(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            HEADER,
            _row("user", "hi"),
            {"type": "thinking_level_change", "thinkingLevel": "high"},
            {"type": "compaction", "summary": "so far", "tokensBefore": 50_000},
            {"type": "branch_summary", "summary": "tried A"},
            _row("compactionSummary", None, summary="again"),
            _row("user", "go on"),
        ],
    )

    assert said(recording) == [("user", "hi"), ("user", "go on")]
    assert codes(recording) == ["left_out", "left_out", *["recorded_summary"] * 3]


def test_what_extensions_and_shells_wrote_is_injected(tmp_path: Path) -> None:
    recording = read_lines(
        tmp_path,
        [
            HEADER,
            _row("bashExecution", None, command="ls", output="a.txt"),
            {"type": "custom_message", "customType": "x", "content": "remember"},
            _row("user", "go"),
        ],
    )

    assert said(recording) == [
        ("user", "Ran `ls`\n```\na.txt\n```"),
        ("user", "remember"),
        ("user", "go"),
    ]
    assert [message.kind for message in recording.messages] == ["injected", "injected", "said"]


def test_a_branch_is_kept(tmp_path: Path) -> None:
    rows = [_row("user", words, entry) for words, entry in (("a", "e1"), ("b", "e2"), ("c", "e3"))]

    recording = read_lines(
        tmp_path, [HEADER, rows[0], *({**row, "parentId": "e1"} for row in rows[1:])]
    )

    assert len(recording.messages) == 3
