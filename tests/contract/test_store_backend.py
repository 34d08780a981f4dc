"""Files in a LangGraph store keep every promise of a backend, whatever the store."""

from collections.abc import Iterator

import psycopg
import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from thalweg.backends.protocol import BackendProtocol
from thalweg.backends.store import StoreBackend
from thalweg.testing.backends import BackendContract


class TestMemoryStore(BackendContract):
    """In memory."""

    @pytest.fixture
    def backend(self) -> BackendProtocol:
        """Return an empty backend."""
        return StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files", "ann"))


class TestSqliteStore(BackendContract):
    """In a file of SQLite."""

    @pytest.fixture
    def backend(self) -> Iterator[BackendProtocol]:
        """Return an empty backend."""
        with SqliteStore.from_conn_string(":memory:") as store:
            store.setup()
            yield StoreBackend(store=store, namespace=("files", "ann.smith@example.com"))


class TestPostgresStore(BackendContract):
    """On a server of PostgreSQL."""

    @pytest.fixture
    def backend(self, postgres_url: str) -> Iterator[BackendProtocol]:
        """Return an empty backend."""
        from langgraph.store.postgres import PostgresStore  # noqa: PLC0415  # where it is there

        assert psycopg
        with PostgresStore.from_conn_string(postgres_url) as store:
            store.setup()
            yield StoreBackend(store=store, namespace=("files", "ann.smith@example.com"))
