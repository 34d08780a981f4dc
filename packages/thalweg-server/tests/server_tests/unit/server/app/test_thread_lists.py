"""Lists of threads: what was read of a thread once is not read again until it changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from server_tests.gateway.worlds import settings
from thalweg.archive import Archive, Logged, SqliteArchive, ThreadKey
from thalweg.archive.base import Extent
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, append_page
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message, Text
from thalweg.errors import ArchiveError
from thalweg_server.app import open_app
from thalweg_server.app.registry import OWN, Finder, Registry, ThreadFilter, open_registry

SESSION = {"agent": "codex", "project": "/src/shop", "title": "Fix the checkout"}
FOLD = Fold(
    reason="the request would not fit",
    turn=1,
    tokens_before=9,
    tokens_after=1,
    last=0,
    kept=(),
    record="Summary.",
)


class CountingArchive(SqliteArchive):
    """An archive that counts reads of journals and of sizes."""

    journals = sizes = 0

    def turns(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[str]:
        """Count and return the bodies of records."""
        self.journals += 1
        return super().turns(key, first, last)

    def extent(self, key: ThreadKey) -> Extent:
        """Count and return the sizes."""
        self.sizes += 1
        return super().extent(key)


@pytest.fixture
def archive() -> Iterator[CountingArchive]:
    with CountingArchive(":memory:") as archive:
        yield archive


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    registry = open_registry(str(tmp_path / "threads.db"))
    yield registry
    registry.close()


def add(archive: Archive, thread: str, *edits: Fold, **session: object) -> None:
    """Add a record to a thread, and to a new one a message."""
    key = ThreadKey("ada", thread)
    length = archive.length(key)
    log = [] if length else [Logged(Message("user", (Text(f"Look at {thread}."),)))]
    page = TurnRecord(
        kind="import", at=1.7e9, length=1, line=ThreadBranch.of([0]), edits=edits, session=session
    )
    append_page(archive, key, page, length=length, log=log)


def names(
    finder: Finder, words: str = "", agent: str = "", *, compacted: bool = False
) -> list[str]:
    only = ThreadFilter(words, agent, compacted=compacted)
    return sorted(one.row.thread for one in finder.find(only, 100))


def test_a_list_reads_each_journal_once(archive: CountingArchive, registry: Registry) -> None:
    for number in range(20):
        add(archive, f"t{number}")
    add(archive, "codex:1", **SESSION)
    finder = Finder("ada", archive, registry)
    assert names(finder, words="checkout") == names(finder, agent="codex") == ["codex:1"]
    assert names(finder, compacted=True) == []
    archive.journals = archive.sizes = 0

    again = Finder("ada", archive, registry)
    assert names(again, words="checkout") == names(again, agent="codex") == ["codex:1"]
    assert again.origins() == {(OWN, ""), ("codex", "/src/shop")}
    assert (archive.journals, archive.sizes) == (0, 3)  # of the recorded session, by each list
    assert names(again, compacted=True) == []
    assert archive.journals == 0


def test_a_list_has_what_changed_since_the_last(
    archive: CountingArchive, registry: Registry
) -> None:
    finder = Finder("ada", archive, registry)
    registry.create("ada", "t1", "", 1)
    add(archive, "codex:1", **SESSION)
    assert names(finder) == ["codex:1", "t1"]
    assert (names(finder, agent=OWN), names(finder, compacted=True)) == (["t1"], [])

    add(archive, "t1")
    add(archive, "t1", FOLD)
    assert names(finder, compacted=True) == ["t1"]

    add(archive, "codex:1", **{**SESSION, "title": "Fix the cart", "compactions": 1})
    assert (names(finder, words="checkout"), names(finder, words="cart")) == ([], ["codex:1"])
    assert names(finder, compacted=True) == ["codex:1", "t1"]

    archive.delete(ThreadKey("ada", "t1"))
    registry.delete("ada", "t1")
    add(archive, "t1", **SESSION)
    assert names(finder, agent=OWN) == []


def test_a_list_fails_with_its_archive(archive: CountingArchive, registry: Registry) -> None:
    registry.create("ada", "t1", "", 1)
    archive.close()

    with pytest.raises(ArchiveError, match="closed"):
        Finder("ada", archive, registry).origins()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_session_is_read_again_after_an_import_without_messages(tmp_path: Path) -> None:
    compacted = {"compactions": 1, "new_compactions": [{"position": 0, "summary": ""}]}
    async with open_app(settings(tmp_path)) as app:
        add(app.parts.archive, "codex:1", **SESSION)
        page = app.tenant("ada").page
        assert (await page.overview("codex:1")).changes == ()

        add(app.parts.archive, "codex:1", **SESSION, **compacted)
        overview = await page.overview("codex:1")
        assert [one.kind for one in overview.changes] == ["compaction"]
