"""The file under a document: whole or not at all, and never over another writer's content."""

from pathlib import Path

import pytest

from thalweg.errors import DocumentError, StorageError
from thalweg_memory.document_file import DocumentFile
from thalweg_memory.facts.document.changes import Marks

NONE = Marks({}, {})


@pytest.fixture
def file(tmp_path: Path) -> DocumentFile:
    return DocumentFile(tmp_path / "folder" / "memory.json")


def test_what_somebody_wrote_since_it_was_read_is_not_written_over(file: DocumentFile) -> None:
    """Neither a text in the place of another, nor one where there was none."""
    with file.locked():
        assert file.read() is None
        file.path.write_text("by hand")
        assert not file.write("ours", 1, NONE)
        assert file.read() == "by hand"
        file.path.write_text("by hand again")
        assert not file.write("ours", 1, NONE)
        assert file.read() == "by hand again"
        assert file.write("ours", 1, NONE)
    assert file.path.read_text() == "ours"


def test_what_a_killed_process_left_is_cleared_away(file: DocumentFile) -> None:
    file.path.parent.mkdir()
    part = file.path.with_name(".memory.json.part")
    part.write_text("half of a secret")
    with file.locked():
        pass
    assert not part.exists()


def test_another_process_knows_what_was_written(file: DocumentFile) -> None:
    with file.locked():
        file.read()
        file.write("ours", 7, Marks({"f1": "digest"}, {"topOfMind": "digest"}))
    other = DocumentFile(file.path)
    with other.locked():
        other.read()
        seen = other.seen()
    assert seen is not None
    assert (seen.version, seen.marks.facts, seen.digest) == (7, {"f1": "digest"}, other.digest)


@pytest.mark.parametrize("left", ["", "{", '{"file": "x"}', "[]"])
def test_half_of_what_was_noted_is_taken_for_nothing(file: DocumentFile, left: str) -> None:
    file.path.parent.mkdir()
    file.path.with_name(".memory.json.seen").write_text(left)
    assert file.seen() is None


def test_a_file_that_was_not_touched_is_as_seen(file: DocumentFile) -> None:
    assert not file.is_as_seen()
    with file.locked():
        file.read()
        file.write("ours", 1, NONE)
    assert file.is_as_seen()
    file.path.write_text("mine")
    assert not file.is_as_seen()
    with file.locked():
        file.read()
    assert file.is_as_seen()
    file.path.unlink()
    assert not file.is_as_seen()


def test_text_of_another_encoding_is_told_with_its_line(file: DocumentFile) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(b"{}\n\n\xff")
    with file.locked(), pytest.raises(DocumentError, match="line 3: it is not written in UTF-8"):
        file.read()


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with (
        pytest.raises(StorageError, match="check the place"),
        DocumentFile(tmp_path / "taken" / "memory.json").locked(),
    ):
        pass
    (tmp_path / "memory.json").mkdir()
    file = DocumentFile(tmp_path / "memory.json")
    with file.locked(), pytest.raises(StorageError, match="is a directory"):
        file.read()
