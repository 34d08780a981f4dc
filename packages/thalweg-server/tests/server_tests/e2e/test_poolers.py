"""Archive, memory, files and presence through PgBouncer on loopback."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from core_tests.postgres import Pooled
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text
from thalweg.errors import ConfigError
from thalweg_memory import Memory, Scope, open_memory
from thalweg_server.liveness.server import ServerPresence

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
class TestPresence:
    """What a gateway needs."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    async def test_a_pool_of_transactions_is_refused(self, pooled: Pooled) -> None:
        """Its lock would outlive its process: no process would resume the work of a dead one."""
        with pytest.raises(ConfigError, match="pool in session mode"):
            await ServerPresence(pooled.transactions).enter()

    async def test_a_pool_of_sessions_is_as_good_as_the_server(self, pooled: Pooled) -> None:
        """Each process has its own connection, and its lock."""
        one, other = ServerPresence(pooled.sessions), ServerPresence(pooled.sessions)
        names = [await one.enter(), await other.enter()]
        assert list(await one.dead([*names, "0" * 16])) == ["0" * 16]
        await other.leave()
        await one.leave()
