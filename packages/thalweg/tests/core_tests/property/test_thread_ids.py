"""Ids of threads: each valid one is read back from an archive; a refusal is a sentence."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thalweg.archive import Logged, ThreadKey, is_thread_id, open_archive, parse_thread_id
from thalweg.archive.base import MAX_ID_BYTES, SUBAGENT_SEPARATOR, escape_thread_id
from thalweg.archive.threads.finding import own_threads
from thalweg.engine.entries import Message, Text
from thalweg.errors import ThalwegError, ThreadIdError

IDS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=128).filter(
    is_thread_id
)


@given(IDS)
@example("claude-code:8b1c3f02-0000-4000-8000-000000000000")
@example("../../etc")
@example("a" * MAX_ID_BYTES)
def test_an_id_is_the_name_of_its_thread(thread: str) -> None:
    """It is no subagent's name, and needs no escape."""
    assert parse_thread_id(thread) == escape_thread_id(thread) == thread
    assert SUBAGENT_SEPARATOR not in thread


@given(st.lists(IDS, min_size=1, max_size=5, unique=True))
@example(["a", "A", "a/", "/a", "a ", "\u00e9", "e\u0301"])
def test_threads_are_kept_apart_and_found_by_their_ids(threads: list[str]) -> None:
    with open_archive(":memory:") as archive:
        for thread in threads:
            archive.append(ThreadKey("ada", thread), [Logged(Message("user", (Text(thread),)))])

        assert sorted(archive.threads("ada")) == sorted(threads)
        for thread in threads:
            (message,) = archive.messages(ThreadKey("ada", thread))
            assert message.text == thread
            assert own_threads(archive, "ada", thread) == [thread]


INVALID = st.text(st.characters(categories=["Cc", "Cs", "L"]), max_size=40).filter(
    lambda text: not is_thread_id(text)
)


@given(INVALID)
def test_a_refusal_is_one_sentence_without_a_regular_expression(text: str) -> None:
    with pytest.raises(ThreadIdError) as caught:
        parse_thread_id(text)

    sentence = str(caught.value)
    assert sentence.isprintable()
    assert sentence.startswith(f"the thread id {text!r} ")
    assert not set("^[]*") & set(sentence.replace(repr(text), ""))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("a\nb", r"has '\n'"),
        ("a\udcff", r"has '\udcff'"),
        ("a/~/tools:1", "has '/~'"),
        ("\u00e9" * 257, "has 514 bytes; use at most 512"),
    ],
)
def test_what_is_wrong_is_stated(text: str, problem: str) -> None:
    with pytest.raises(ThreadIdError, match="the thread id") as caught:
        parse_thread_id(text)

    assert problem in str(caught.value)
    assert isinstance(caught.value, ThalwegError)
    assert isinstance(caught.value, ValueError)


def test_older_names_in_an_archive_can_still_be_read(tmp_path: Path) -> None:
    """Archives have names of subagents, and had names of any characters."""
    names = ["t/~/tools:1", "a\nb", "a\udcff", "x" * 600]
    with open_archive(tmp_path / "a.db") as archive:
        for name in names:
            archive.append(ThreadKey("ada", name), [Logged(Message("user", (Text("hello"),)))])
    with open_archive(tmp_path / "a.db") as archive:
        assert sorted(archive.threads("ada")) == sorted(names)
        assert all(archive.length(ThreadKey("ada", name)) == 1 for name in names)
