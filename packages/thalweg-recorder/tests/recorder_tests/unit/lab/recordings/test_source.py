"""A recorded file is taken apart without losing anything on the way."""

import gzip
import math
from pathlib import Path

import pytest

from thalweg.errors import RecordingError
from thalweg_recorder.recordings.source import (
    DEEPEST,
    BrokenLine,
    RecordedFile,
    open_source,
    take_apart,
)


def _open(folder: Path, data: bytes, name: str = "a.jsonl") -> RecordedFile:
    path = folder / name
    path.write_bytes(data)
    return open_source(path)


def _codes(source: RecordedFile) -> list[tuple[int, str]]:
    return [(note.line, note.code) for note in source.notes]


def test_each_line_is_a_row_with_its_number() -> None:
    source = take_apart("a", '{"a": 1}\n\n{"b": 2}\n')

    assert source.lines == ((0, {"a": 1}), (2, {"b": 2}))
    assert source.notes == ()


def test_values_glued_on_one_line_are_all_read() -> None:
    source = take_apart("a", '{"a": 1}{"b": 2}\n{"c": 3}\n')

    assert source.lines == (
        (0, {"a": 1}),
        (0, {"b": 2}),
        (1, {"c": 3}),
    )
    assert _codes(source) == [(0, "glued_json")]


def test_the_rest_of_a_line_that_breaks_off_is_kept() -> None:
    source = take_apart("a", '{"a": 1}{"b": \n{"c": 3}\n')

    assert source.lines == (
        (0, {"a": 1}),
        (0, BrokenLine(0, '{"b":')),
        (1, {"c": 3}),
    )
    assert _codes(source) == [(0, "broken_json")]


def test_a_file_that_breaks_off_says_so() -> None:
    source = take_apart("a", '{"a": 1}\n{"b": "never en')

    assert source.lines[1][1] == BrokenLine(1, '{"b": "never en')
    assert _codes(source) == [(1, "truncated_line")]


def test_a_separator_inside_a_text_does_not_end_a_line() -> None:
    source = take_apart("a", '{"a": "x\u2028y\x85z"}\n{"b": 1}\n')

    assert [*source.objects] == [{"a": "x\u2028y\x85z"}, {"b": 1}]


def test_numbers_that_json_does_not_have_are_read() -> None:
    source = take_apart("a", '{"a": 1}\n{"b": [-Infinity]}\n')

    assert [*source.objects] == [{"a": 1}, {"b": [-math.inf]}]
    assert source.notes == ()


def test_half_a_surrogate_pair_is_kept() -> None:
    source = take_apart("a", '{"a": "\\ud83d\\ude00"}\n{"b": "\\ud83d"}\n')

    assert [*source.objects] == [{"a": "😀"}, {"b": "\ud83d"}]
    assert source.notes == ()


def test_zero_bytes_around_a_row_are_noted() -> None:
    source = take_apart("a", '{"a": 1}\n\0\0\0{"b": 2}\n')

    assert [*source.objects] == [{"a": 1}, {"b": 2}]
    assert _codes(source) == [(1, "nul")]


def test_a_row_nested_too_deeply_to_be_written_again_is_kept_as_text() -> None:
    deep = "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)
    fine = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)

    source = take_apart("a", f"{deep}\n{fine}\n")

    assert source.lines[0][1] == BrokenLine(0, deep)
    assert not isinstance(source.lines[1][1], BrokenLine)
    assert _codes(source) == [(0, "nested_too_deeply")]


def test_a_document_nested_too_deeply_is_taken_as_lines() -> None:
    deep = "[" * (DEEPEST + 1) + "\n" + "]" * (DEEPEST + 1)

    source = take_apart("a", deep)

    assert source.document is None
    assert [type(value) for _, value in source.lines] == [BrokenLine, BrokenLine]


def test_a_document_over_several_lines_is_one_value() -> None:
    source = take_apart("a", '{\n "a": [1,\n NaN]\n}\n')

    assert source.document["a"][0] == 1
    assert source.lines == ()
    assert source.notes == ()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + '{"a": "é"}\n'.encode(),
        b"\xff\xfe" + '{"a": "é"}\n'.encode("utf-16-le"),
        b"\xfe\xff" + '{"a": "é"}\n'.encode("utf-16-be"),
        '{"a": "é"}\r\n'.encode(),
    ],
)
def test_marks_and_line_ends_of_other_systems_are_read(tmp_path: Path, data: bytes) -> None:
    source = _open(tmp_path, data)

    assert source.objects[0] == {"a": "é"}
    assert source.notes == ()


def test_bytes_that_are_no_text_are_replaced_and_noted(tmp_path: Path) -> None:
    source = _open(tmp_path, b'{"a": 1}\n{"b": "x\xffy"}\n')

    assert source.objects[1] == {"b": "x\ufffdy"}
    assert _codes(source) == [(1, "invalid_unicode")]


def test_compressed_files_are_known_by_their_bytes(tmp_path: Path) -> None:
    source = _open(tmp_path, gzip.compress(b'{"a": 1}\n') + gzip.compress(b'{"b": 2}\n'))

    assert [*source.objects] == [{"a": 1}, {"b": 2}]
    assert source.notes == ()


def test_a_compressed_file_that_breaks_off_gives_what_is_there(tmp_path: Path) -> None:
    rows = b"".join(b'{"a": %d}\n' % number for number in range(10_000))
    data = gzip.compress(rows)

    source = _open(tmp_path, data[: len(data) // 2], "a.jsonl.gz")

    assert source.objects[0] == {"a": 0}
    assert (-1, "truncated_gzip") in _codes(source)


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("cc-a.orig.jsonl.gz", "cc-a"),
        ("a.b_c.pr_1.traj", "a.b_c.pr_1"),
        (".jsonl", ".jsonl"),
        ("notes.md", "notes"),
        ("run.2026", "run.2026"),
    ],
)
def test_a_recording_is_named_after_its_file(tmp_path: Path, name: str, bare: str) -> None:
    assert _open(tmp_path, b"{}", name).name == bare


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\0\0\0", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(RecordingError, match="empty"):
        _open(tmp_path, data)


def test_what_only_begins_like_a_compressed_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="gzip"):
        _open(tmp_path, b"\x1f\x8bnothing")


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file"):
        open_source(tmp_path / "none.jsonl")
    with pytest.raises(RecordingError, match="folder"):
        open_source(tmp_path)
    with pytest.raises(RecordingError, match="cannot be read"):
        open_source(Path("a\0b"))
