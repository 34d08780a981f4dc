"""Files of further formats: found in folders, and refused by a reader without these formats."""

from pathlib import Path

import pytest

from recorder_tests.formats.log_files import find_recordings, read_recording
from thalweg.errors import RecordingError
from thalweg_recorder.recordings import files

AIDER = "# aider chat started at 2024-08-13 13:42:45\n\n#### hi\n"
TRAJECTORY = '{"trajectory": [{"action": "ls", "observation": "b", "response": "a"}]}'


def test_endings_of_the_formats_are_found_only_if_they_contain_a_thread(tmp_path: Path) -> None:
    texts = {"a.md": AIDER, "readme.md": "hi", "b.traj": TRAJECTORY, "c.traj": "{}", "d.txt": "x"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    assert [path.name for path in find_recordings([tmp_path])] == ["a.md", "b.traj"]
    with pytest.raises(RecordingError, match=r"holds no recording \(\*\.jsonl, \*\.json, also"):
        files.find_recordings([tmp_path])


def test_a_file_is_read_by_the_formats_that_are_given(tmp_path: Path) -> None:
    (path := tmp_path / "a.md").write_text(AIDER)

    assert read_recording(path).format == "aider"
    with pytest.raises(RecordingError, match=r"unknown format.*claude-code") as caught:
        files.read_recording(path)
    assert "aider:" not in str(caught.value)
