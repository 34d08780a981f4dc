"""A law of archives of every kind: they return the same answers to the same calls."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow, open_archive
from thalweg.archive.handles import make_handle
from thalweg.archive.postgres import PostgresArchive
from thalweg.archive.table_rows import pack
from thalweg.engine.entries import Message, Text
from thalweg.errors import ArchiveError

SECRET = b"fixed"
KEYS = (ThreadKey("ada", "t1"), ThreadKey("ada", "t2"))
WORDS = ["deploy", "deployed", "deployment", "gateway", "gateways", "handleTurnEnd", "resume.go",
         "隔离", "测试", "münchen", "failed", "fails", "137", "the", "of", "user's", "\0", "\ud83d",
         "\n"]  # fmt: skip


class Step(NamedTuple):
    """A call of a method of an archive."""

    name: str
    arguments: tuple[object, ...]
    options: dict[str, object]


def calls(
    name: str, *arguments: st.SearchStrategy[object], **options: st.SearchStrategy[object]
) -> st.SearchStrategy[Step]:
    """Draw calls of a method."""
    return st.builds(Step, st.just(name), st.tuples(*arguments), st.fixed_dictionaries(options))


keys = st.sampled_from([KEYS[0]] * 3 + [KEYS[1]])
words = st.sampled_from(WORDS)
texts = st.one_of(
    st.lists(words, max_size=12).map(" ".join),
    st.lists(words, min_size=150, max_size=400).map(" ".join),
    st.text(st.characters(), max_size=80),
)
roles = st.sampled_from(["user", "assistant", "tool"])
said = st.builds(Message, roles, texts.map(lambda text: (Text(text),)))
logged = st.builds(Logged, said, st.just("") | texts)
questions = st.lists(words, min_size=1, max_size=5).map(" ".join)
lengths = st.integers(0, 9)
turns = st.builds(TurnRow, texts.map(ascii), st.binary())
spans = st.builds(Span, st.integers(0, 4), st.integers(0, 9))
handles = st.builds(make_handle, st.just(SECRET), keys, spans)
sources = st.sampled_from(["ab" * 32, "cd" * 32])
steps = st.one_of(
    calls("append", keys, st.lists(logged, max_size=5)),
    calls("append", keys, st.lists(logged, max_size=2), expected=lengths),
    calls("add_turn", keys, turns, length=lengths),
    calls("attach", keys, texts),
    calls("attachment", keys, texts.map(lambda text: pack(text).hash.hex())),
    calls("add_summary", keys, sources, texts),
    calls("summary", keys, sources),
    calls("handle", keys, spans),
    calls("read", keys, handles),
    calls("release", keys, st.lists(handles, max_size=3)),
    calls("search", keys, questions),
    calls("search", keys, questions, within=st.lists(spans, max_size=3)),
    calls("delete", keys),
    calls("prune"),
)


def answer(archive: Archive, step: Step) -> object:
    """Take a step; an error is an answer, too."""
    try:
        return getattr(archive, step.name)(*step.arguments, **step.options)
    except ArchiveError as error:
        return str(error)


def all_of(archive: Archive, key: ThreadKey) -> list[object]:
    """Read all that an archive holds of a thread."""
    held = archive.handles(key)
    return [
        archive.messages(key),
        archive.turns(key),
        archive.turn_state(key, 0),
        held,
        [archive.read(key, handle) for handle in held],
        archive.threads(key.owner),
    ]


@pytest.fixture
def other(postgres_url: str) -> Iterator[Archive]:
    """Return an archive on PostgreSQL."""
    with PostgresArchive(postgres_url, secret=SECRET) as archive:
        yield archive


@pytest.mark.slow
@pytest.mark.nightly
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(begun=st.lists(logged, min_size=3, max_size=9), taken=st.lists(steps, min_size=5))
def test_postgresql_answers_as_sqlite_does(
    other: Archive, begun: list[Logged], taken: list[Step]
) -> None:
    """Step by step: lengths, handles, readings, hits and errors; and in the end all it holds."""
    for key in KEYS:
        other.delete(key)
    other.prune()
    with open_archive(":memory:", secret=SECRET) as one:
        for archive in (one, other):
            archive.append(KEYS[0], begun)
        for step in taken:
            found = answer(one, step)
            assert answer(other, step) == found
            event(f"{step.name} gave {bool(found)}")
        for key in KEYS:
            assert all_of(other, key) == all_of(one, key)
