"""Files of further formats: found in folders, and refused by a reader without these formats."""

from pathlib import Path

import pytest

from recorder_tests.formats.log_files import find_recordings, read_recording
from thalweg.errors import RecordingError
from thalweg_recorder.recordings import files

EVENTS = 'event: message_chunk\ndata: {"id": "u", "role": "user", "content": "hi"}\n'
TRAJECTORY = '{"trajectory": [{"action": "ls", "observation": "b", "response": "a"}]}'


def test_endings_of_the_formats_are_found_only_if_they_contain_a_thread(tmp_path: Path) -> None:
    texts = {"a.txt": EVENTS, "readme.md": "hi", "b.traj": TRAJECTORY, "c.traj": "{}", "d.txt": "x"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    assert [path.name for path in find_recordings([tmp_path])] == ["a.txt", "b.traj"]
    with pytest.raises(RecordingError, match=r"holds no recording \(\*\.jsonl, .*, also"):
        files.find_recordings([tmp_path])


def test_a_file_is_read_by_the_formats_that_are_given(tmp_path: Path) -> None:
    (path := tmp_path / "a.txt").write_text(EVENTS)

    assert read_recording(path).format == "event-stream"
    with pytest.raises(RecordingError, match=r"unknown format.*claude-code") as caught:
        files.read_recording(path)
    assert "event-stream:" not in str(caught.value)
