"""Liveness on many machines: every living process holds an advisory lock of PostgreSQL.

The lock belongs to one connection. The server releases it when the process dies, and when the
machine or the network does: it sends keepalives to a silent connection.
"""

import asyncio
import secrets
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import psycopg

from thalweg.errors import ConfigError, StorageError

GRACE_S = 5.0
"""Seconds after its own connection broke in which a process reports none as dead: the others'
connections may have broken too."""
_TIMEOUT_S = 5
_PROBES = 3
"""Probes for a pooler: it may serve other clients between two statements, so one could miss it."""
_FIX = "check that the server runs and accepts this user"
_ALIVE = (
    "SET tcp_keepalives_idle = 5",
    "SET tcp_keepalives_interval = 2",
    "SET tcp_keepalives_count = 3",
)


class ServerPresence:
    """Processes that share a database."""

    def __init__(self, url: str, *, grace_s: float = GRACE_S) -> None:
        self.place = url.rpartition("@")[2].partition("?")[0]
        self._url = url
        self._grace_s = grace_s
        self._name = ""
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._blind_until = 0.0

    async def enter(self) -> str:
        """Take an advisory lock for this process; return its name."""
        self._name = f"{secrets.randbits(63):016x}"
        try:
            self._connection = await self._connected()
            is_shared = await self._is_shared(self._connection)
        except psycopg.Error as error:
            raise StorageError(self.place, str(error), _FIX) from error
        if is_shared:
            await self.leave()
            problem = "a pooler uses another connection for each transaction, which loses locks"
            fix = "use the address of the server itself, or of a pool in session mode"
            raise ConfigError(self.place, problem, fix)
        return self._name

    async def dead(self, names: Collection[str]) -> Collection[str]:
        """Return those of some processes that hold no advisory lock.

        A process whose connection broke takes its lock again here, under the same name: another
        process that took over its work has claimed it, and the claim decides.
        """
        now = asyncio.get_running_loop().time
        try:
            if self._connection is None:
                self._connection = await self._connected()
                self._blind_until = now() + self._grace_s
            async with asyncio.timeout(_TIMEOUT_S):
                living = await _living(self._connection)
        except (psycopg.Error, TimeoutError) as error:
            await self.leave()
            self._blind_until = now() + self._grace_s
            if isinstance(error, TimeoutError):
                error = psycopg.OperationalError(f"no answer within {_TIMEOUT_S} s")
            raise StorageError(self.place, str(error), _FIX) from error
        if now() < self._blind_until:
            return []
        return [name for name in names if name not in living and name != self._name]

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        connection = await self._opened()
        for setting in _ALIVE:
            await connection.execute(setting)
        await connection.execute("SELECT pg_advisory_lock(%s)", (int(self._name, 16),))
        return connection

    async def _is_shared(self, own: psycopg.AsyncConnection[Any]) -> bool:
        """Return whether the connection uses a pooler in transaction mode.

        Its clients do not get the process id of the server. While one of them is in a
        transaction, another gets either the same process as before or a second one.
        """
        if own.info.backend_pid == (before := await _backend(own)):
            return False
        for _ in range(_PROBES):
            async with await self._opened() as other, other.transaction():
                other_pid, now = await _backend(other), await _backend(own)
            if other_pid == before or now != before:
                return True
        return False

    async def _opened(self) -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=_TIMEOUT_S
        )

    async def leave(self) -> None:
        """Release the lock of this process."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


async def _backend(connection: psycopg.AsyncConnection[Any]) -> int:
    found = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    assert found is not None  # noqa: S101 (a SELECT without FROM has a row)
    return int(found[0])


async def _living(connection: psycopg.AsyncConnection[Any]) -> set[str]:
    found = await connection.execute(
        "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks"
        " WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return {f"{number:016x}" for (number,) in await found.fetchall()}
