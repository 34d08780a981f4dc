"""What a middleware or a slot opened itself is closed when it is garbage: few users call `close`.

The connections warn where they are dropped open (psycopg's always, SQLite's from Python 3.13 on),
and a warning fails the test.
"""

import gc
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from thalweg import ContextMiddleware
from thalweg.archive import Logged, ThreadKey
from thalweg.engine.entries import Message, Text
from thalweg.errors import ConfigError
from thalweg_agent.subagents.waker import Waker
from thalweg_integrations.slot import EngineSlot
from thalweg_memory.middleware.middleware import MemoryMiddleware

KEY = ThreadKey("local", "t")


def used_middleware(address: str) -> object:
    """Open an archive through a middleware."""
    middleware = ContextMiddleware(archive=address)
    middleware.archive.append(KEY, [Logged(Message("user", (Text("hello"),)))])
    return middleware


def used_slot(address: str) -> object:
    """Open an archive through a slot of another framework."""
    slot = EngineSlot(archive=address)
    slot.archive.append(KEY, [Logged(Message("user", (Text("hello"),)))])
    return slot


def used_memory(address: str) -> object:
    """Open a memory through a middleware."""
    return MemoryMiddleware(memory=address)


OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'thalweg'
"""
HOLDERS = [used_middleware, used_slot, used_memory]


def open_files(path: Path) -> list[str]:
    """Return the files of a database that this process has open."""
    links = Path("/proc/self/fd").iterdir()
    names = [str(link.readlink()) for link in links if link.is_symlink()]
    return [name for name in names if name.startswith(str(path))]


@pytest.mark.parametrize("hold", HOLDERS)
def test_a_file_is_closed_with_its_last_user(hold: Callable[[str], object], tmp_path: Path) -> None:
    path = tmp_path / "thalweg.db"
    holder = hold(str(path))
    assert open_files(path) != []
    del holder
    gc.collect()
    assert open_files(path) == []


@pytest.mark.parametrize("hold", HOLDERS)
def test_connections_of_a_server_are_closed_with_their_last_user(
    hold: Callable[[str], object], postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        holder = hold(postgres_url)
        assert raw.execute(OTHERS).fetchone() != (0,)
        del holder
        gc.collect()
        end = time.monotonic() + 30
        while raw.execute(OTHERS).fetchone() != (0,):  # the server takes note of it later
            assert time.monotonic() < end, "a connection is open"
            time.sleep(0.01)


def test_an_archive_outlives_the_middleware_that_opened_it(tmp_path: Path) -> None:
    """A holder of a reference to it can still use it."""
    archive = ContextMiddleware(archive=str(tmp_path / "thalweg.db")).archive
    gc.collect()
    assert archive.append(KEY, [Logged(Message("user", (Text("hello"),)))]) == 1


def test_a_table_of_wakes_that_cannot_be_read_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("These are no tables. " * 100)
    with pytest.raises(ConfigError):
        Waker(path, print, dict, str, 60.0)  # type: ignore[arg-type]  # never called
    gc.collect()
    assert open_files(path) == []
