"""Files as state and stores keep them, also those kept long ago."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_agent.backends import utils
from thalweg_agent.backends.file_data import (
    create_file_data,
    file_data_from_bytes,
    file_data_to_bytes,
    file_data_to_string,
    file_size,
    file_type,
    read_file_type,
    update_file_data,
    with_content,
)
from thalweg_agent.backends.protocol import FileData


@given(st.binary())
def test_bytes_are_kept_and_counted_whatever_they_are(raw: bytes) -> None:
    """As text if they are text."""
    kept = file_data_from_bytes(raw)

    assert file_data_to_bytes(kept) == raw
    assert file_size(kept) == len(raw)
    assert kept["encoding"] in {"utf-8", "base64"}


def test_a_file_that_changes_stays_as_old_as_it_is() -> None:
    """And is as new as the change; to show a part of it changes nothing."""
    old = create_file_data("a", created_at="2020-01-01T00:00:00+00:00")
    old["modified_at"] = "2020-01-02T00:00:00+00:00"

    changed = update_file_data(old, "b")
    assert (changed["content"], changed["created_at"]) == ("b", old["created_at"])
    assert changed["modified_at"] > old["modified_at"]
    assert with_content(old, "part") == {**old, "content": "part"}
    assert old["content"] == "a"
    assert "created_at" not in update_file_data(FileData(content="", encoding="utf-8"), "x")


def test_a_list_of_lines_from_long_ago_is_text() -> None:
    """Anything else is not."""
    assert file_data_to_string(cast("FileData", {"content": ["one", "two"]})) == "one\ntwo"
    for content in (None, 1, ["a", 1]):
        with pytest.raises(TypeError, match="string or a legacy list of strings"):
            file_data_to_string(cast("FileData", {"content": content}))


def test_what_a_file_is_is_told_by_its_name() -> None:
    """The case of a name has no effect; films are always bytes."""
    names = ("a.JPG", "a.webm", "a.mp3", "a.pdf", "a.mkv", "a.py", ".png", "a.png.txt")
    assert [file_type(f"/{name}") for name in names] == [
        "image", "video", "audio", "file", "text", "text", "text", "text",
    ]  # fmt: skip
    assert [read_file_type(f"/{name}") for name in ("a.MKV", "a.py", "a.pdf")] == [
        "video",
        "text",
        "file",
    ]


def test_every_name_of_the_peers_utilities_is_there() -> None:
    """Each name in `__all__` has a value and is listed once."""
    names: list[Any] = [getattr(utils, name) for name in utils.__all__]

    assert None not in names
    assert len(set(utils.__all__)) == len(utils.__all__)
