"""Row-level security on runs: group commit writes for many owners, and each sees his own."""

import asyncio

import psycopg
import pytest

from server_tests.contract.suites.runs import END, begun, mark, read_all
from thalweg_server.runs.base import RunKey
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.postgres_connections import named


@pytest.mark.anyio
class TestRights:
    """With the walls that the migrations build."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    async def test_a_journal_works_and_rows_are_seen_by_their_owner_alone(
        self, plain_postgres_url: str
    ) -> None:
        """Even by a statement that forgot to ask for an owner."""
        keys = [RunKey(owner, "t", "r") for owner in ("ada", "bob", "cid")]
        async with (
            open_journal(plain_postgres_url) as journal,
            open_journal(plain_postgres_url) as other,
        ):
            claims = [await begun(journal, key) for key in keys]
            readers = [asyncio.create_task(read_all(other, key)) for key in keys]
            await asyncio.gather(*(journal.append(claim, [mark(1)]) for claim in claims))
            for claim in claims:
                await journal.finish(claim, "completed", [END])
            for reader in readers:
                assert [event.seq for event in await reader] == [1, 2]
        with psycopg.connect(plain_postgres_url) as connection:
            everything = "SELECT owner FROM run_events"
            assert connection.execute(everything).fetchall() == []
            connection.execute("SELECT set_config('thalweg.owner', %s, true)", (named(["bob"]),))
            assert set(connection.execute(everything).fetchall()) == {("bob",)}
