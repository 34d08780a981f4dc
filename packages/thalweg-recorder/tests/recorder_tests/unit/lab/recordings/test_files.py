"""The front door: which files are recordings, and the errors for those that are not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recorder_tests.unit.lab.recordings.log_files import read_document, read_lines
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import find_recordings, read_recording
from thalweg_recorder.recordings.rows import LogFormat

ROW = '{"role": "user", "content": "hi"}\n'


def _write(folder: Path, *names: str, text: str = ROW) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _found(folder: Path, *places: str) -> list[str]:
    found = find_recordings(folder / place for place in places)
    return [str(path.relative_to(folder)) for path in found]


def test_a_folder_is_searched_with_its_folders_in_order(tmp_path: Path) -> None:
    _write(tmp_path, "b.jsonl", "a/z.jsonl.gz", "a/c.gz", "a/d.json", "notes.csv", ".hid/e.jsonl")

    assert _found(tmp_path, ".") == ["a/d.json", "a/z.jsonl.gz", "b.jsonl"]


def test_what_lies_beside_recordings_is_passed_over(tmp_path: Path) -> None:
    _write(tmp_path, "needles.jsonl", "goals.jsonl", "index.json", "x_questions.jsonl", "a.jsonl")
    _write(tmp_path, "locomo_qa.jsonl")

    assert _found(tmp_path, ".") == ["a.jsonl"]


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    _write(tmp_path, "needles.jsonl", "log")

    assert _found(tmp_path, "needles.jsonl", "log") == ["log", "needles.jsonl"]


def test_json_is_taken_only_if_it_holds_a_thread(tmp_path: Path) -> None:
    _write(tmp_path, "package.json", text='{"name": "x"}')
    _write(tmp_path, "chat.json")

    assert _found(tmp_path, ".") == ["chat.json"]


def test_a_pattern_is_expanded_and_each_file_is_found_once(tmp_path: Path) -> None:
    _write(tmp_path, "a/one.jsonl", "b/two.jsonl", "b/needles.jsonl")

    assert _found(tmp_path, "*/*.jsonl", "**/t*.jsonl", "b") == ["a/one.jsonl", "b/two.jsonl"]


def test_a_file_is_found_once_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the name that came first."""
    _write(tmp_path, "a/b.jsonl")
    monkeypatch.chdir(tmp_path)

    assert find_recordings(["a", tmp_path / "a", "a/../a/b.jsonl"]) == [Path("a/b.jsonl")]


def test_a_recording_may_be_named_by_text(tmp_path: Path) -> None:
    """As on a command line."""
    _write(tmp_path, "a.jsonl")

    assert read_recording(str(tmp_path / "a.jsonl")).messages[0].text == "hi"
    with pytest.raises(RecordingError, match="no such file"):
        read_recording(str(tmp_path / "b.jsonl"))


@pytest.mark.parametrize("place", ["nothing", "no/*.jsonl", "empty"])
def test_a_place_without_recordings_is_an_error_that_names_it(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(RecordingError) as caught:
        _found(tmp_path, place)

    assert caught.value.path == str(tmp_path / place)


def test_an_unknown_format_shows_how_it_begins_and_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(RecordingError) as caught:
        read_lines(tmp_path, ["when,who,what", "1,me,hello"])

    assert "'when,who,what" in str(caught.value)
    assert "claude-code" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_binary_file_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(bytes(range(256)) * 4)

    with pytest.raises(RecordingError, match="binary"):
        read_recording(path)


@pytest.mark.parametrize("read", [read_lines, read_document])
def test_a_file_with_several_sessions_is_read_by_their_addresses(
    tmp_path: Path, read: Callable[[Path, Any], Recording]
) -> None:
    """As lines or as one list; the file alone is refused with the names."""
    threads = [{"messages": [{"role": "user", "content": said}]} for said in ("hi", "ho", "ha")]

    with pytest.raises(RecordingError, match=r"holds 3 sessions.*#0; it has 0, 1, 2"):
        read(tmp_path, threads)
    addresses = find_recordings([tmp_path])

    texts = [read_recording(address).messages[0].text for address in addresses]
    assert texts == ["hi", "ho", "ha"]
    assert find_recordings(addresses[1:2]) == addresses[1:2]
    with pytest.raises(RecordingError, match=r"#7: there is no such session.*it has 0, 1, 2"):
        read_recording(f"{addresses[0].parent / addresses[0].name[:-1]}7")


def test_a_log_without_a_message_is_an_error(tmp_path: Path) -> None:
    row = {"type": "user", "uuid": "u", "isCompactSummary": True, "message": {"content": "so far"}}

    with pytest.raises(RecordingError, match="no message"):
        read_lines(tmp_path, [row])


def test_the_format_is_known_by_content_and_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "thread.txt"
    path.write_text(ROW, encoding="utf-8")

    recording = read_recording(path)

    assert (recording.name, recording.format) == ("thread", "openai-chat-log")


@pytest.mark.parametrize(
    "error", [TypeError("x"), RecursionError(), KeyError("k"), OSError(5, "io")]
)
def test_any_error_of_a_reader_is_a_recording_error(tmp_path: Path, error: Exception) -> None:
    def read(_: object) -> Recording:
        raise error

    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    broken = LogFormat("broken", lambda _: True, read)
    with pytest.raises(RecordingError, match="cannot be read"):
        read_recording(path, formats=(broken,))
