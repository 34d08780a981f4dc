"""What a search needs is indexed in the background of runs, so that no search builds it all."""

import threading
from errno import ENOSPC
from pathlib import Path

import pytest
from langchain.agents import create_agent

from thalweg import ContextMiddleware
from thalweg.archive import SqliteArchive, ThreadKey
from thalweg.archive.table_rows import index_progress
from thalweg.archive.threads.session import INDEX_BATCH
from thalweg.testing import ScriptedModel

KEY = ThreadKey("local", "t")


def talk(archive: SqliteArchive, runs: int) -> None:
    """Have that many runs of two messages, each indexed before the next begins."""
    agent = create_agent(
        ScriptedModel(script=lambda messages: f"gauge {len(messages)}"),
        middleware=[ContextMiddleware(archive=archive)],
    )
    for n in range(runs):
        config = {"configurable": {"thread_id": KEY.thread}}
        agent.invoke({"messages": [("user", f"weir {n}?")]}, config)  # type: ignore[call-overload]
        for thread in threading.enumerate():
            if thread.name == "thalweg-index":
                thread.join()


def unindexed(archive: SqliteArchive) -> int:
    """Return how many messages a search would have to index."""
    with archive._database.reading(KEY.owner) as db:  # noqa: SLF001 (no public count)
        progress = index_progress(db, KEY)
    return 0 if progress is None else archive.length(KEY) - progress[1]


def test_a_search_never_has_more_than_a_batch_to_index(tmp_path: Path) -> None:
    with SqliteArchive(tmp_path / "a.db") as archive:
        talk(archive, INDEX_BATCH)
        assert archive.length(KEY) == 2 * INDEX_BATCH
        assert unindexed(archive) < INDEX_BATCH
        assert "weir 3?" in archive.search(KEY, "weir 3")[0].text
        assert unindexed(archive) == 0


class FailingIndex(SqliteArchive):
    """Its index cannot be written in the background."""

    def _index_batch(self, key: ThreadKey) -> bool:
        """Fail in the background alone."""
        if threading.current_thread().name == "thalweg-index":
            raise OSError(ENOSPC, "disk is full")
        return super()._index_batch(key)


def test_a_failure_in_the_background_ends_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next search indexes what is missing."""
    caplog.set_level("DEBUG", "thalweg.archive")
    with FailingIndex(tmp_path / "a.db") as archive:
        talk(archive, INDEX_BATCH)
        assert "disk is full" in caplog.text
        assert "weir 3?" in archive.search(KEY, "weir 3")[0].text
