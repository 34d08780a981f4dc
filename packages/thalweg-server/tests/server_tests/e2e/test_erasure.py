"""No file of the data folder has a byte of a deleted thread, while the gateway serves."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from server_tests.e2e.talkers import settings
from server_tests.e2e.test_app import say
from thalweg.archive import ThreadKey
from thalweg.database.erasure import erase_file
from thalweg_server.app import open_app

pytestmark = pytest.mark.anyio
WORD = "swordfish"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def holding(folder: Path, word: str) -> list[str]:
    """List the files below a folder that contain a word."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in found if word.encode() in path.read_bytes().lower())


async def test_no_byte_of_a_forgotten_thread_is_left(tmp_path: Path) -> None:
    """A forgotten thread's neighbours are kept, also those whose rows were adjacent to its own."""
    async with open_app(settings(memory={"enabled": True}), home=tmp_path) as app:
        ada = app.tenant("ada")
        for turn in range(6):
            await say(ada, "secret", f"use shout {WORD} number {turn}")
            await say(ada, "other", f"use shout marlin number {turn}")
        await say(ada, "secret", f"write {WORD} down")
        assert app.parts.archive.search(ThreadKey("ada", "secret"), WORD)
        await ada.files.upload("secret", f"{WORD}.txt", [WORD.encode()])
        assert len(holding(tmp_path, WORD)) >= 3

        receipt = await ada.threads.delete("secret", forget=True)

        assert holding(tmp_path, WORD) == []
        assert [line.partition(":")[0] for line in receipt.left] == [
            "copies outside of the data folder",
        ]
        assert (await ada.threads.get("other")).messages == 24
        assert app.parts.archive.search(ThreadKey("ada", "other"), "marlin")
        await say(ada, "other", "still here")
    assert holding(tmp_path, WORD) == []
    assert holding(tmp_path, "marlin")


async def test_a_thread_that_is_deleted_without_forgetting_says_what_is_left(
    tmp_path: Path,
) -> None:
    async with open_app(settings(), home=tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "hello")
        receipt = await ada.threads.delete("t1")
        assert not receipt.forgotten
        assert "memory=forget" in receipt.left[0]


async def test_others_write_while_bytes_are_erased(tmp_path: Path) -> None:
    async with open_app(settings(), home=tmp_path) as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        await say(ada, "t1", f"hello {WORD}")
        said = [say(bob, f"t{k}", "hello") for k in range(8)]
        await asyncio.gather(ada.threads.delete("t1", forget=True), *said)
        assert len((await bob.threads.list()).items) == 8
    assert holding(tmp_path, WORD) == []


def test_what_could_not_be_erased_is_said(tmp_path: Path) -> None:
    """An open reader, a file that is too large, and one that is no database are reported."""
    path = tmp_path / "runs.db"
    assert erase_file(path) == ""
    with closing(sqlite3.connect(path, isolation_level=None)) as one:
        one.execute("PRAGMA journal_mode = WAL")
        one.execute("CREATE TABLE words (word TEXT)")
        one.execute("INSERT INTO words VALUES (?)", (WORD,))
        assert "not rewritten" in erase_file(path, most_bytes=1)
        one.execute("BEGIN")
        one.execute("SELECT * FROM words").fetchall()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("DELETE FROM words")
        assert "reader prevents truncation" in erase_file(path)
        one.execute("COMMIT")
        assert erase_file(path) == ""
    assert holding(tmp_path, WORD) == []
    (tmp_path / "other.db").write_bytes(b"no database" * 100)
    assert "not erased" in erase_file(tmp_path / "other.db")
