"""The sample that ships with the package, and the script that records such a thing."""

import gzip
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scripts.record_sample import QUESTIONS, record
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text
from thalweg.engine.window.reading import Reader
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.files import find_recordings, read_recording
from thalweg_recorder.replay.questions import Questions, find_questions
from thalweg_recorder.replay.sample import sample_path

FIRST_SHARE = 0.36
"""Where needles are: early enough that a small window has folded them."""
PAUSE_S = 300
"""The shortest lifetime of a provider's prefix cache."""

SHAPES = '''"""Shapes of the plane."""

from dataclasses import dataclass


@dataclass
class Square:
    """A square."""

    side: float

    def area(self) -> float:
        """Give the area.

        >>> Square(3).area()
        9
        """
        if self.side < 0:
            return 0.0
        return self.side * self.side


def unit() -> Square:
    """Give the unit square."""
    return Square(1.0)


LARGEST = 100
'''
PAGES = '''"""Pages to draw on."""

from pkg.shapes import LARGEST, Square


def fits(square: Square) -> bool:
    """Whether it fits."""
    return square.side <= LARGEST  # noqa: SIM300
'''


@pytest.fixture(scope="module")
def sample() -> Recording:
    """Read the committed sample."""
    return read_recording(sample_path())


@pytest.fixture(scope="module")
def questions() -> Questions:
    """Read what is asked of the committed sample."""
    return find_questions(sample_path())["sample"]


def well_formed(lines: list[dict[str, Any]]) -> None:
    """Check that times grow, every call has one answer, and no place of a machine is named."""
    times = [line["x"]["timestamp"] for line in lines]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    waiting: list[str] = []
    for line in lines:
        if line["role"] == "tool":
            assert line["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in line.get("tool_calls", ())]
    assert not waiting
    said = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    assert not re.search(r"/(?:home|root|Users|work|usr|var)/|/tmp/\w", said)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Parse a packed recording."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_the_sample_is_well_formed_and_small() -> None:
    """It is sent to everyone who installs the package."""
    well_formed(lines_of(sample_path()))
    assert sample_path().stat().st_size < 400_000
    assert sample_path().read_bytes()[4:8] == bytes(4), "gzip holds a time"


def test_the_sample_is_read_without_a_note(sample: Recording) -> None:
    """Nothing in it is odd, so nothing has to be reported about it."""
    assert sample.notes == ()
    assert sample.name == "sample"


def test_the_sample_has_the_size_of_a_real_session(sample: Recording) -> None:
    """Too much for a window of 128,000, with all that happens in a session."""
    reader = Reader(exact_counter())
    entries = [reader.read(message) for message in sample.messages]
    assert 150_000 < sum(entry.tokens for entry in entries) < 220_000
    assert 250 <= sum(entry.message.role == "assistant" for entry in entries) <= 350
    uses = Counter(use.action for entry in entries for use in entry.uses)
    assert {"read", "write", "run", "search", "delegate", "plan"} <= set(uses)
    assert sum(entry.message.is_error for entry in entries) >= 3
    assert sum(len(entry.uses) > 1 for entry in entries) > 50
    assert max(entry.tokens for entry in entries) > 4_000


def test_the_sample_pauses_longer_than_a_cache_lives() -> None:
    """A replay meets cold caches."""
    stamps = [line["x"]["timestamp"] for line in lines_of(sample_path())]
    seconds = [int(s[11:13]) * 3_600 + int(s[14:16]) * 60 + float(s[17:23]) for s in stamps]
    assert sum(later - earlier > PAUSE_S for earlier, later in pairwise(seconds)) >= 4


def test_each_needle_stands_once_and_early(sample: Recording, questions: Questions) -> None:
    """Found elsewhere, it would prove nothing about what was kept."""
    texts = [as_text(message) for message in sample.messages]
    assert len(questions.needles) >= 12
    for needle in questions.needles:
        assert [i for i, text in enumerate(texts) if needle.answer in text] == [needle.line]
        assert texts[needle.line].count(needle.answer) == 1
        assert needle.line <= len(texts) * FIRST_SHARE
        assert needle.answer not in needle.question


def test_each_goal_is_quoted_word_for_word(sample: Recording, questions: Questions) -> None:
    """The user's own text is what must not be lost."""
    assert {goal.kind for goal in questions.goals} == {"goal", "request", "constraint"}
    for goal in questions.goals:
        assert sample.messages[goal.line].role == "user"
        assert goal.quote in sample.messages[goal.line].text


def test_the_folder_of_the_sample_holds_one_recording() -> None:
    """Its questions are no recordings."""
    assert find_recordings([sample_path().parent]) == [sample_path()]


def test_a_tiny_tree_gives_a_well_formed_recording(tmp_path: Path) -> None:
    """The script depends on no file of this project."""
    package = tmp_path / "tree" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""A package."""\n')
    (package / "shapes.py").write_text(SHAPES)
    (package / "pages.py").write_text(PAGES)
    (package / "tests").mkdir()
    (package / "tests" / "test_shapes.py").write_text('"""Theirs."""\n')
    thread = record(tmp_path / "tree", tmp_path / "out")
    recording = read_recording(tmp_path / "out" / "sample.jsonl.gz")
    well_formed(lines_of(tmp_path / "out" / "sample.jsonl.gz"))
    assert recording.notes == ()
    assert len(recording.messages) == len(thread.messages)
    errors = "\n".join(message.text for message in recording.messages if message.is_error)
    assert "was never closed" in errors
    assert "cannot import name 'LARGEST' from 'pkg.shapes' (tree/pkg/shapes.py)" in errors
    assert "TestResults(failed=0, attempted=1)" in "\n".join(m.text for m in recording.messages)
    edited = [call for m in recording.messages for call in m.calls if call.name == "edit_file"]
    assert edited
    assert not any("/tests/" in call.arguments for call in edited)
    assert (package / "pages.py").read_text() == PAGES
    needles = find_questions(tmp_path / "out" / "sample.jsonl.gz")["sample"].needles
    assert {"Ines Okafor", "QUAY-2291"} <= {needle.answer for needle in needles} <= set(QUESTIONS)
