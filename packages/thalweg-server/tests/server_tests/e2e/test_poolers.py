"""Archive, memory, files and runs through PgBouncer on loopback."""

import asyncio
import threading
from collections.abc import Callable

import psycopg
import pytest
from psycopg.pq import PipelineStatus
from psycopg.rows import dict_row

from core_tests.postgres import Pooled, Served
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.database.postgres_server import connection_options
from thalweg.engine.entries import Message, Text
from thalweg_memory import Memory, Scope, open_memory
from thalweg_server.runs.base import Draft, RunKey, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.postgres_connections import TIMEOUT_S, configure, pipelined
from thalweg_server.runs.running import Perform, ProcessRuns, RunOutcome

OWNERS = ("ada", "bob", "cem", "dua")


def at_once(work: Callable[[str], None]) -> None:
    """Do something for every owner, all at the same time."""
    failed: list[BaseException] = []

    def caught(owner: str) -> None:
        try:
            work(owner)
        except BaseException as error:  # noqa: BLE001 (raised below)
            failed.append(error)

    threads = [threading.Thread(target=caught, args=(owner,)) for owner in OWNERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def said(text: str) -> Logged:
    """Log a plain message."""
    return Logged(Message("user", (Text(text),)))


def test_owners_who_share_two_connections_see_their_own_threads(pooled: Pooled) -> None:
    """A transaction's owner setting ends with it, regardless of who has the connection next."""
    with open_archive(pooled.transactions) as archive:

        def work(owner: str) -> None:
            key = ThreadKey(owner, "t")
            for number in range(12):
                archive.append(key, [said(f"{owner} {number} parser")], expected=number)
                found = archive.search(key, "parser")
                assert {passage.text.split()[0] for passage in found} == {owner}
            texts = [message.text for message in archive.messages(key)]
            assert texts == [f"{owner} {number} parser" for number in range(12)]

        at_once(work)
        with psycopg.connect(pooled.transactions, autocommit=True) as other:
            for _ in range(8):
                assert other.execute("SELECT count(*) FROM archive_thread").fetchone() == (0,)


def test_owners_who_share_two_connections_recall_their_own_facts(pooled: Pooled) -> None:
    """Owners recall only their own facts; a fact that one forgets is removed."""
    with open_memory(pooled.transactions) as store:

        def work(owner: str) -> None:
            memory = Memory(store, Scope(owner))
            for number in range(4):
                memory.remember(f"The key of {owner} hangs on hook {number}.")
            assert owner in (text := memory.recall("Where does the key hang?").text)
            assert not [each for each in OWNERS if each != owner and f"of {each}" in text]
            memory.forget(query="key")
            assert memory.recall("key").text == ""

        at_once(work)


@pytest.mark.anyio
class TestRuns:
    """What a gateway needs: every statement through the pool, one connection that listens."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    async def test_two_processes_perform_runs_through_a_pool_of_transactions(
        self, pooled: Pooled, served: Served
    ) -> None:
        """Events arrive at once; a run whose process vanished is taken over."""
        by: list[str] = []

        def worker(name: str) -> Perform:
            async def perform(run: RunRecord, emit: Emit) -> RunOutcome:
                by.append(name)
                await emit(Draft("notice", "{}"))
                await asyncio.sleep(0.3)
                return RunOutcome("completed", run.request)

            return perform

        keys = [RunKey(owner, f"t{n}", f"r{n}") for owner in OWNERS for n in range(4)]
        async with (
            asyncio.timeout(180),
            open_journal(pooled.transactions, served.url) as one,
            open_journal(pooled.transactions, served.url) as other,
        ):
            for key in keys:
                await one.create(key, "{}")
            assert await one.claim_job("vanished", lease_s=0.5)
            async with ProcessRuns(one, worker("one")), ProcessRuns(other, worker("other")) as runs:
                for key in keys:
                    run = await runs.join(key)
                    assert (run.status, run.attempt) == ("completed", 1)
                    assert [event.seq for event in await one.read(key)] == [1, 2]
            assert {*by} == {"one", "other"}

    async def test_statements_are_sent_together_to_a_server_and_not_to_a_pooler(
        self, pooled: Pooled, served: Served
    ) -> None:
        """PgBouncer may keep a server process for the end of a pipeline that has no answer."""
        for url, status in (
            (served.url, PipelineStatus.ON),
            (pooled.transactions, PipelineStatus.OFF),
        ):
            async with await psycopg.AsyncConnection.connect(  # checkpoints have rows by name
                url, **connection_options(TIMEOUT_S), row_factory=dict_row
            ) as connection:
                await configure(connection)
                async with pipelined(connection):
                    assert connection.pgconn.pipeline_status == status

    async def test_a_pool_without_the_address_of_the_server_is_reported(
        self, pooled: Pooled, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Notifications may be lost in it; runs are found by polling."""
        key = RunKey("ada", "t", "r")
        async with (
            asyncio.timeout(60),
            open_journal(pooled.transactions) as journal,
            ProcessRuns(journal, done) as runs,
        ):
            await runs.start(key, "{}")
            assert (await runs.join(key)).status == "completed"
        assert "storage.direct_url" in caplog.text


async def done(_run: RunRecord, _emit: Emit) -> RunOutcome:
    """Perform nothing."""
    return RunOutcome("completed", "{}")
