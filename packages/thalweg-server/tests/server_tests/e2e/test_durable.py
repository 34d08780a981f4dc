"""Presence, with real processes and a real server."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from thalweg.errors import StorageError
from thalweg_server.liveness.base import Liveness
from thalweg_server.liveness.opening import presence_at
from thalweg_server.liveness.server import ServerPresence

_LIVES = """
import asyncio, sys
from pathlib import Path
from thalweg_server.liveness.opening import presence_at
async def live():
    address = sys.argv[1] if sys.argv[1].startswith("postgresql:") else Path(sys.argv[1])
    presence = presence_at(address)
    print(await presence.enter(), flush=True)
    await asyncio.sleep(600)
    await presence.leave()
asyncio.run(live())
"""


def other_process(address: str | Path) -> tuple["subprocess.Popen[str]", str]:
    """Start a process that lives, and return its name."""
    command = [sys.executable, "-c", _LIVES, str(address)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


async def see_it_die(address: str | Path) -> None:
    """See another process live, kill it, and see it dead."""
    presence: Liveness = presence_at(address)
    me = await presence.enter()
    process, name = await asyncio.to_thread(other_process, address)
    with process:
        try:
            assert name != me
            assert list(await presence.dead([me, name, "0" * 16])) == ["0" * 16]
        finally:
            os.kill(process.pid, signal.SIGKILL)
            await asyncio.to_thread(process.wait)
    async with asyncio.timeout(20):
        while list(await presence.dead([me, name])) != [name]:  # noqa: ASYNC110 (the server's own pace)
            await asyncio.sleep(0.05)
    await presence.leave()


@pytest.mark.anyio
class TestPresence:
    """Who lives is seen, and who was killed."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    async def test_a_killed_process_is_seen_dead_on_one_machine(self, tmp_path: Path) -> None:
        """By the lock on its file."""
        await see_it_die(tmp_path / "runs.db")

    async def test_a_killed_process_is_seen_dead_by_the_server(self, postgres_url: str) -> None:
        """By the lock of its connection."""
        await see_it_die(postgres_url)

    async def test_who_has_lost_sight_of_the_others_calls_nobody_dead(
        self, postgres_url: str
    ) -> None:
        """After its own connection broke, for a while; and it takes its own lock again."""
        presence, other = ServerPresence(postgres_url, grace_s=1.0), ServerPresence(postgres_url)
        me, gone = await presence.enter(), "f" * 15
        await other.enter()
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                " AND objid = %s::bigint::bit(32)::bigint",
                (int(me, 16) & 0xFFFFFFFF,),
            )
        with pytest.raises(StorageError):
            await presence.dead([gone])
        assert list(await presence.dead([gone])) == []
        assert list(await other.dead([me])) == []
        await asyncio.sleep(1.1)
        assert list(await presence.dead([gone])) == [gone]
        await presence.leave()
        await other.leave()
