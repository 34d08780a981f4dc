"""Connections to a PostgreSQL server, shared between threads and replaced when they break."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import BoundedSemaphore, Lock

import psycopg
from psycopg.pq import TransactionStatus

from thalweg.database.postgres_server import as_storage_error, connect, place_of
from thalweg.errors import StorageError, ThalwegError

MOST = 10
"""Connections of one store; more threads than this wait for each other."""


class PostgresConnections:
    """Connections of one process to one database, each in one transaction at a time.

    `closed` makes the error of a call after `close`, of the place's name.

    What breaks in a transaction ends in a `StorageError`; what broke between two is noticed
    when the next one begins, and another connection takes it.
    """

    def __init__(self, url: str, timeout_s: float, closed: Callable[[str], ThalwegError]) -> None:
        self.place = place_of(url)
        self._closed_error = closed
        self._url = url
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._free = BoundedSemaphore(MOST)
        self._idle: list[psycopg.Connection] = []
        self._process = os.getpid()
        self._closed = False

    @contextmanager
    def transaction(self, begin: str) -> Iterator[psycopg.Connection]:
        """Run a block in a transaction, which `begin` opens.

        Raises:
            ThalwegError: The connections were closed.
            StorageError: The database failed.
        """
        if not self._free.acquire(timeout=self._timeout_s):
            problem = f"all {MOST} connections are in use for longer than {self._timeout_s} s"
            raise StorageError(self.place, problem, "try again later, or with fewer threads")
        with ExitStack() as after:
            after.callback(self._free.release)
            connection = self._take(begin)
            after.callback(self._give_back, connection)
            try:
                yield connection
            except psycopg.Error as error:
                raise as_storage_error(self.place, error) from error
            self._commit(connection)

    def _commit(self, connection: psycopg.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            failure = as_storage_error(self.place, error)
            if connection.closed:
                mend = "the write may have succeeded: read the thread before you write again"
                failure = StorageError(failure.place, failure.problem, mend)
            raise failure from error

    def _take(self, begin: str) -> psycopg.Connection:
        while (idle := self._idle_one()) is not None:
            try:
                idle.execute(begin.encode())
            except psycopg.Error:
                idle.close()
            else:
                return idle
        connection = connect(self._url, self.place, self._timeout_s)
        try:
            connection.execute(begin.encode())
        except psycopg.Error as error:
            connection.close()
            raise as_storage_error(self.place, error) from error
        return connection

    def _idle_one(self) -> psycopg.Connection | None:
        with self._lock:
            if self._closed:
                raise self._closed_error(self.place)
            if self._process != os.getpid():
                # A process that was forked: what it inherited still belongs to its parent.
                self._process = os.getpid()
                self._idle = []
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: psycopg.Connection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status in _OPEN:
                connection.execute("ROLLBACK")
        with self._lock:
            is_good = connection.info.transaction_status == TransactionStatus.IDLE
            if is_good and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close every connection, those in use when their transaction ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            if self._process != os.getpid():
                return  # what a forked process inherited still belongs to its parent
        for connection in idle:
            connection.close()


_OPEN = {TransactionStatus.INTRANS, TransactionStatus.INERROR}
