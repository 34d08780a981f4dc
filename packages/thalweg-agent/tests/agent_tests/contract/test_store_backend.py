"""Files in a LangGraph store keep every promise of a backend, for every store."""

import uuid
from collections.abc import Iterator

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from agent_tests.contract.suites.backends import BackendContract
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.store import StoreBackend


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


@pytest.fixture(scope="module")
def postgres_store(postgres_server: str) -> Iterator[BaseStore]:
    """Return a store on a server; tests keep apart by their namespaces."""
    # Needs the library of PostgreSQL, which is not everywhere.
    from langgraph.store.postgres import PostgresStore  # noqa: PLC0415

    with PostgresStore.from_conn_string(postgres_server) as store:
        store.setup()
        yield store


class TestPostgresStore(BackendContract):
    """On a server of PostgreSQL."""

    @pytest.fixture
    def backend(self, postgres_store: BaseStore) -> BackendProtocol:
        """Return an empty backend."""
        return StoreBackend(store=postgres_store, namespace=("files", f"ann.{uuid.uuid4()}"))
