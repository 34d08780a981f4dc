"""Laws of archives of every kind: whatever is done, they say the same."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thalweg.archive import Archive, Logged, Span, ThreadKey, Turn, open_archive
from thalweg.archive.postgres import PostgresArchive
from thalweg.entries import Message, Text
from thalweg.errors import ArchiveError

KEYS = (ThreadKey("ada", "t1"), ThreadKey("ada", "t2"))
keys = st.sampled_from(KEYS)
vocabulary = st.sampled_from(
    "deploy deployed deployment gateway gateways handleTurnEnd resume.go 隔离 测试 münchen failed"
    " fails 137 monday the of user's \0 \ud83d \n".split(" ")
)
texts = st.one_of(
    st.lists(vocabulary, max_size=12).map(" ".join),
    st.lists(vocabulary, min_size=150, max_size=400).map(" ".join),
    st.text(st.characters(), max_size=80),
)
messages = st.builds(
    lambda role, text, about: Logged(Message(role, (Text(text),)), about),
    st.sampled_from(["user", "assistant", "tool"]), texts, st.one_of(st.just(""), texts),
)  # fmt: skip
numbers = st.integers(0, 9)
spans = st.builds(Span, numbers, numbers)
steps = st.one_of(
    st.tuples(st.just("append"), keys, st.lists(messages, max_size=5)),
    st.tuples(st.just("append_to"), keys, st.lists(messages, max_size=2), numbers),
    st.tuples(st.just("add_turn"), keys, st.builds(Turn, texts.map(ascii), st.binary()), numbers),
    st.tuples(st.just("attach"), keys, texts),
    st.tuples(st.just("handle"), keys, spans),
    st.tuples(st.just("release"), keys, numbers),
    st.tuples(st.just("search"), keys, texts, st.one_of(st.none(), st.lists(spans, max_size=3))),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("prune")),
)


def do(archive: Archive, step: tuple[object, ...]) -> object:
    """Take one step; an error is an answer, too."""
    try:
        match step:
            case ("append", ThreadKey() as key, list() as logged):
                return archive.append(key, logged)
            case ("append_to", ThreadKey() as key, list() as logged, int() as expected):
                return archive.append(key, logged, expected=expected)
            case ("add_turn", ThreadKey() as key, Turn() as turn, int() as length):
                return archive.add_turn(key, turn, length=length)
            case ("attach", ThreadKey() as key, str() as text):
                return archive.attachment(key, archive.attach(key, text))
            case ("handle", ThreadKey() as key, Span() as span):
                return archive.read(key, archive.handle(key, span))
            case ("release", ThreadKey() as key, int() as many):
                return archive.release(key, list(archive.handles(key))[:many])
            case ("search", ThreadKey() as key, str() as query, within):
                assert within is None or isinstance(within, list)
                return archive.search(key, query, within=within)
            case ("delete", ThreadKey() as key):
                return archive.delete(key)
            case _:
                return archive.prune()
    except ArchiveError as error:
        return str(error)


def everything(archive: Archive) -> list[object]:
    """Read all that an archive holds."""
    return [
        (archive.messages(key), archive.turns(key), archive.turn_state(key, 0),
         archive.handles(key), archive.length(key), archive.threads(key.owner))
        for key in KEYS
    ]  # fmt: skip


@pytest.fixture
def other(postgres_url: str) -> Iterator[Archive]:
    """Give an archive on PostgreSQL."""
    with PostgresArchive(postgres_url, secret=b"fixed") as archive:
        yield archive


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(taken=st.lists(steps, min_size=1, max_size=12))
def test_postgresql_says_what_sqlite_says(other: Archive, taken: list[tuple[object, ...]]) -> None:
    """Step by step: lengths, handles, readings, hits and errors; and in the end all it holds."""
    for key in KEYS:
        other.delete(key)
    other.prune()
    with open_archive(":memory:", secret=b"fixed") as one:
        for step in taken:
            assert do(other, step) == do(one, step)
        assert everything(other) == everything(one)
