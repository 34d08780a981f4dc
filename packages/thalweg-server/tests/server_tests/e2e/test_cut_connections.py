"""Connections that are reset at every request of a conversation with PostgreSQL.

Each call either ends in the store's own error or has happened; never a part of it, never twice.
"""

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from core_tests.postgres import Server
from core_tests.resetting import ResettingProxy
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text
from thalweg.errors import StorageError, ThalwegError
from thalweg_memory import Memory, Scope, open_memory
from thalweg_server.runs.base import Draft, RunKey
from thalweg_server.runs.opening import open_journal

MOST_REQUESTS = 60
END = Draft("run.completed", "{}")


@pytest.fixture
def proxy(own_postgres: Server) -> Iterator[ResettingProxy]:
    """Return a proxy in front of a server of this test's own."""
    with ResettingProxy(own_postgres.url) as made:
        yield made


def cuts(proxy: ResettingProxy) -> Iterator[int]:
    """Cut at the first request, at the second … until a whole call passes uncut; numbers from 0."""
    tries = itertools.count()
    for is_answer_lost in (False, True):
        for passing in range(MOST_REQUESTS):
            proxy.cut(passing, is_answer_lost=is_answer_lost)
            yield next(tries)
            proxy.pass_all()
            if not proxy.is_cut:
                break
        else:
            pytest.fail("a call takes too many requests")


def test_an_append_that_is_cut_anywhere_is_whole_or_not_there(proxy: ResettingProxy) -> None:
    """If the answer to the commit is lost, the error advises to read first."""
    parts = ["a" * 5_000, "b", "c"]
    failed = 0
    with open_archive(proxy.url) as archive:
        for number in cuts(proxy):
            key = ThreadKey("ada", str(number))
            logged = [Logged(Message("user", (Text(text),))) for text in parts]
            fix = ""
            try:
                archive.append(key, logged, expected=0)
            except StorageError as error:
                fix, failed = str(error), failed + 1
            proxy.pass_all()
            texts = [message.text for message in archive.messages(key)]

            assert texts in ([], parts) if fix else texts == parts
            if fix and texts:  # whether the server reads on to the commit is a race
                assert "the write may have succeeded" in fix
            assert archive.append(key, logged, expected=len(texts)) == len(texts) + 3
    assert failed > 4


@pytest.mark.slow
@pytest.mark.nightly
def test_a_fact_that_is_cut_anywhere_is_whole_or_not_there(proxy: ResettingProxy) -> None:
    """A fact that is remembered can be recalled; one that is not has no rows."""
    failed = 0
    with open_memory(proxy.url) as store:
        for number in cuts(proxy):
            scope, text = Scope(f"ada-{number}"), "The key of the boat hangs on hook 7."
            is_failed = False
            try:
                Memory(store, scope).remember(text)
            except ThalwegError:
                is_failed, failed = True, failed + 1
            proxy.pass_all()
            memory = Memory(store, scope)
            found = [fact.content for fact in store.facts(scope)]

            assert found in ([], [text]) if is_failed else found == [text]
            assert ("hook 7" in memory.recall("boat key").text) == bool(found)
            memory.remember(text)
            assert [fact.content for fact in store.facts(scope)] == [text]
    assert failed > 4


@pytest.mark.anyio
class TestRuns:
    """The journal of runs."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    @pytest.mark.slow
    @pytest.mark.nightly
    async def test_events_that_are_cut_anywhere_have_no_gap_and_no_repeat(
        self, proxy: ResettingProxy, own_postgres: Server
    ) -> None:
        """And the next claim finishes the run."""
        drafts = [Draft("notice", f'{{"kind": "{number}"}}') for number in range(3)]
        failed = 0
        async with open_journal(proxy.url) as journal, open_journal(own_postgres.url) as other:
            for number in cuts(proxy):
                key = RunKey("ada", f"t{number}", f"r{number}")
                await other.create(key, "{}")
                claim = await other.claim(key)
                assert claim is not None
                is_failed = False
                try:
                    await journal.append(claim, drafts)
                except StorageError:
                    is_failed, failed = True, failed + 1
                proxy.pass_all()
                seqs = [event.seq for event in await other.read(key)]

                assert seqs in ([], [1, 2, 3]) if is_failed else seqs == [1, 2, 3]
                again = await other.claim(key)
                assert again is not None
                await other.finish(again, "completed", [END])
                run = await other.get(key)
                assert run is not None
                assert (run.status, run.last_seq) == ("completed", len(seqs) + 1)
        assert failed > 1


def test_a_server_that_ends_every_connection_again_and_again(own_postgres: Server) -> None:
    """`pg_terminate_backend` between calls: a thread has what was acknowledged."""
    ends = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'thalweg' AND pid <> pg_backend_pid()"
    )
    key, kept = ThreadKey("ada", "t"), 0
    with (
        open_archive(own_postgres.url) as archive,
        psycopg.connect(own_postgres.url, autocommit=True) as admin,
    ):
        for number in range(40):
            logged = [Logged(Message("user", (Text(f"{number}.{part}"),))) for part in range(3)]
            admin.execute(ends)
            try:
                archive.append(key, logged, expected=kept)
            except StorageError:
                kept = archive.length(key)
            else:
                kept += 3
            assert archive.length(key) == kept
            assert kept % 3 == 0
    assert kept > 60
