"""No file or table has a byte of a deleted thread or owner, while the gateway serves."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from core_tests.forking import start
from server_tests.e2e.talkers import settings
from server_tests.e2e.test_app import say
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.cli.app import run
from thalweg.database.erasure import erase_file
from thalweg.database.migrations.schema import VERSION_TABLE
from thalweg.engine.entries import Message, Text
from thalweg.errors import BusyError, ConfigError, NoSuchRunError, StorageError
from thalweg_memory import Memory
from thalweg_server.api.runs import NewRun
from thalweg_server.app import App, open_app
from thalweg_server.app.deletion import FORGET
from thalweg_server.cli.forgetting import forget_owner
from thalweg_server.runs.base import RunKey, now_ms
from thalweg_server.runs.crons import CronRecord

pytestmark = pytest.mark.anyio
WORD = "swordfish"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def holding(folder: Path, word: str) -> list[str]:
    """List the files below a folder that contain a word."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in found if word.encode() in path.read_bytes().lower())


async def packed_events(path: Path, thread: str, runs: int) -> list[str]:
    """Return the compressed events of a thread's runs, as soon as all are compressed."""
    packed = "SELECT data FROM run_events WHERE thread = ? AND type = 'packed'"
    async with asyncio.timeout(30):
        while True:
            with closing(sqlite3.connect(path)) as database:
                rows = database.execute(packed, (thread,)).fetchall()
            if len(rows) == runs:
                return [data for (data,) in rows]
            await asyncio.sleep(0.05)


async def test_no_byte_of_a_forgotten_thread_is_left(tmp_path: Path) -> None:
    """A forgotten thread's neighbours are kept, also those whose rows were adjacent to its own."""
    async with open_app(settings(memory={"enabled": True}), home=tmp_path) as app:
        ada = app.tenant("ada")
        for turn in range(6):
            await say(ada, "secret", f"use shout {WORD} number {turn}")
            await say(ada, "other", f"use shout marlin number {turn}")
        await say(ada, "secret", f"write {WORD} down")
        assert app.parts.archive.search(ThreadKey("ada", "secret"), WORD)
        await ada.files.upload("secret", f"{WORD}.txt", WORD.encode())
        assert len(holding(tmp_path, WORD)) >= 3
        packed = await packed_events(tmp_path / "runs.db", "secret", 7)
        parts = [text[at : at + 40].lower() for text in packed for at in range(0, len(text), 40)]
        assert any(holding(tmp_path, part) for part in parts)

        receipt = await ada.threads.delete("secret", forget=True)

        assert holding(tmp_path, WORD) == []
        assert not any(holding(tmp_path, part) for part in parts if len(part) == 40)
        assert [line.partition(":")[0] for line in receipt.left] == [
            "copies outside of the database",
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


KEPT = {"memory_scope", "memory_operation", "memory_thread", "memory_tombstone", "memory_word"}
"""Tables with rows of a forgotten owner: its name, numbers and keyed digests."""
OF_NOBODY = {"archive_meta", "memory_meta", "checkpoint_migrations", "sqlite_sequence"}
LARGE = f"{WORD} " * 20_000
"""A text that an archive stores compressed, apart from the message."""


async def fill(app: App, owner: str) -> None:
    """Store something of each kind for an owner, all of it with the owner's word."""
    word = f"{WORD}-{owner}"
    tenant = app.tenant(owner)
    for turn in range(3):
        await say(tenant, "secret", f"use shout {word} number {turn}")
    await say(tenant, "secret", "delegate")
    await say(tenant, word, f"write {LARGE} {word}")
    await tenant.files.upload("secret", f"{word}.txt", word.encode())
    await tenant.files.upload("no thread", "other.txt", word.encode())
    await tenant.memory.ask(Memory.remember, f"User prefers the {word}")
    await tenant.memory.of_agent("own").ask(Memory.remember, f"User sails with {word}")
    await tenant.store.aput((word,), "key", {"value": word})
    app.parts.archive.search(ThreadKey(owner, "secret"), WORD)


def rows_left(read: Callable[[str], Iterable[Any]], tables: Iterable[str]) -> dict[str, list[str]]:
    """Return the rows of tables that are not empty, as texts."""
    found = {name: [str(row).lower() for row in read(f"SELECT * FROM {name}")] for name in tables}  # noqa: S608
    return {name: rows for name, rows in found.items() if rows and name not in OF_NOBODY}


def in_sqlite(home: Path) -> dict[str, list[str]]:
    """Return the rows of both databases of a folder, but those of indexes and migrations."""
    found: dict[str, list[str]] = {}
    for file in ("thalweg.db", "runs.db"):
        with closing(sqlite3.connect(home / file)) as database:
            names = "SELECT name FROM sqlite_master WHERE type = 'table'"
            tables = [name for (name,) in database.execute(names)]
            own = [one for one in tables if not one.startswith(("archive_words", "thalweg_"))]
            found |= rows_left(lambda statement: database.execute(statement).fetchall(), own)
    return found


def forget(address: Path | str, owner: str, *options: str) -> int:
    """Run the command."""
    return run(["db", "forget", owner, "--url", str(address), *options])


async def test_one_command_forgets_an_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the gateway serves; all of a neighbour remains, and a second call deletes nothing."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "thalweg.db"
    async with open_app(settings(memory={"enabled": True}), home=tmp_path) as app:
        await fill(app, "ada")
        await fill(app, "bob")
        before = holding(tmp_path, f"{WORD}-ada")
        assert await asyncio.to_thread(forget, place, "ada", "--dry-run") == 0
        shown = capsys.readouterr().out
        assert "archive: 3 threads" in shown
        assert "memory: 2 facts" in shown
        assert "server: 5 runs and crons" in shown
        assert holding(tmp_path, f"{WORD}-ada") == before

        assert await asyncio.to_thread(forget, place, "ada", "--yes") == 0

        assert "Left: audit.jsonl" in capsys.readouterr().out
        assert holding(tmp_path, f"{WORD}-ada") == []
        assert len((await app.tenant("bob").threads.list()).items) == 2
        assert (await app.tenant("bob").files.uploads("secret"))[0].name == f"{WORD}-bob.txt"
        assert await asyncio.to_thread(forget, place, "bob", "--yes") == 0
        left = in_sqlite(tmp_path)
        assert await asyncio.to_thread(forget, place, "bob", "--dry-run") == 0
        assert "There is nothing." in capsys.readouterr().out
    assert left.keys() <= KEPT
    assert WORD not in str(left)
    assert holding(tmp_path, WORD) == []
    assert [*(tmp_path / "files").iterdir()] == []


async def test_a_dry_run_creates_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_archive(tmp_path / "thalweg.db") as archive:
        archive.append(ThreadKey("ada", "t1"), [Logged(Message("user", (Text("hello"),)))])
    runs = tmp_path / "runs.db"
    runs.touch()
    before = in_sqlite(tmp_path).keys()
    assert await asyncio.to_thread(forget, tmp_path / "thalweg.db", "ada", "--dry-run") == 0
    assert "archive: 1 threads" in capsys.readouterr().out
    assert runs.read_bytes() == b""
    assert in_sqlite(tmp_path).keys() == before
    runs.write_bytes(b"no database, " * 100)
    with pytest.raises(StorageError):
        forget_owner(str(tmp_path / "thalweg.db"), "ada", dry_run=True)


@pytest.mark.parametrize("dry_run", [True, False])
async def test_no_table_is_created_in_postgres(postgres_url: str, *, dry_run: bool) -> None:
    """Of an owner without data of the server: the checkpointer may be of the user's own."""
    assert forget_owner(postgres_url, "ada", dry_run=dry_run) == ()
    with psycopg.connect(postgres_url) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
        assert connection.execute(tables).fetchone() == (0,)


async def test_a_preview_does_not_migrate_a_file(tmp_path: Path) -> None:
    path = tmp_path / "thalweg.db"
    with open_archive(path) as archive:
        archive.append(ThreadKey("ada", "t1"), [Logged(Message("user", (Text("hello"),)))])
    version = f"SELECT version FROM {VERSION_TABLE}"  # noqa: S608 (ours)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"UPDATE {VERSION_TABLE} SET version = '0013'")  # noqa: S608 (ours)
        for options in (["--dry-run"], ["--json"], ["--dry-run", "--yes"]):
            with pytest.raises(ConfigError, match="version 0013"):
                await asyncio.to_thread(forget, path, "ada", *options)
        assert database.execute(version).fetchall() == [("0013",)]
    assert await asyncio.to_thread(forget, path, "ada", "--yes") == 0
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(version).fetchone() > ("0013",)


async def test_a_preview_makes_and_migrates_no_table_in_postgres(postgres_url: str) -> None:
    for options in (["--dry-run"], ["--json"], ["--dry-run", "--yes"]):
        assert await asyncio.to_thread(forget, postgres_url, "ada", *options) == 0
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
        assert connection.execute(tables).fetchone() == (0,)
        with open_archive(postgres_url):
            pass
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0013'".encode())  # noqa: S608 (ours)
        with pytest.raises(ConfigError, match=r"version 0013.*db upgrade"):
            await asyncio.to_thread(forget, postgres_url, "ada", "--dry-run")
        version = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608 (ours)
        assert connection.execute(version.encode()).fetchone() == ("0013",)


async def test_no_row_of_a_forgotten_owner_is_left_in_postgres(
    tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = settings(storage={"url": postgres_url}, memory={"enabled": True})
    async with open_app(given, home=tmp_path) as app:
        await fill(app, "ada")
        assert await asyncio.to_thread(forget, postgres_url, "ada", "--dry-run") == 0
        assert "server: 5 runs and crons" in capsys.readouterr().out
        assert await asyncio.to_thread(forget, postgres_url, "ada", "--yes") == 0
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
            " AND tablename NOT LIKE 'thalweg_%'"
        ).fetchall()
        connection.execute("SELECT set_config('thalweg.across', 'yes', true)")
        connection.execute("SET LOCAL row_security = off")
        left = rows_left(
            lambda statement: connection.execute(statement.encode()).fetchall(),
            [name for (name,) in tables],
        )
    assert left.keys() <= KEPT
    assert WORD not in str(left)


async def test_a_run_of_the_owner_is_cancelled_first(tmp_path: Path) -> None:
    tools = [{"name": "slow", "use": "server_tests.e2e.talkers:once_slow"}]
    async with open_app(settings(tools=tools), home=tmp_path) as app:
        ada = app.tenant("ada")
        slow = await ada.runs.start("t1", NewRun(message=f"use slow {WORD}"))
        async for one in ada.runs.follow("t1", slow.id):
            if one.event.type == "tool.started":
                break
        await ada.deletion.delete()
        assert (await ada.threads.list()).items == ()
    assert holding(tmp_path, WORD) == []


async def test_a_run_that_nobody_ends_leaves_the_rest_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a process that was killed: another call, once it has ended, deletes its thread."""
    monkeypatch.setattr("thalweg_server.app.deletion._PATIENCE_S", 0.1)
    async with open_app(settings(), home=tmp_path) as app:
        await say(app.tenant("ada"), "t1", WORD)
    async with open_app(settings(), home=tmp_path, role="api") as app:
        journal, ada = app.parts.journal, app.tenant("ada")
        run = await ada.runs.start("t0", NewRun(message=f"{WORD} again"))
        assert await journal.claim_job("killed", lease_s=0.01)
        assert await journal.claim(RunKey("ada", "t0", run.id))
        with pytest.raises(BusyError, match="t0"):
            await ada.deletion.delete()
        assert "t1" not in [one.id for one in (await ada.threads.list()).items]
    async with open_app(settings(), home=tmp_path) as app:
        with suppress(NoSuchRunError):
            await app.parts.runs.join(RunKey("ada", "t0", run.id))
        await app.tenant("ada").deletion.delete()
    assert holding(tmp_path, WORD) == []


async def test_a_broken_off_deletion_spares_what_the_owner_made_after_it(tmp_path: Path) -> None:
    async with open_app(settings(), home=tmp_path) as app:
        ada = app.tenant("ada")
        before = RunKey("ada", "", f"{FORGET} {now_ms() - 1}")
        await say(ada, "t1", WORD)
        await app._perform_chore(before)  # noqa: SLF001 (as a worker does)
        assert len((await ada.threads.list()).items) == 1
        await app._perform_chore(RunKey("ada", "", f"{FORGET} {now_ms()}"))  # noqa: SLF001
        assert (await ada.threads.list()).items == ()


async def test_a_broken_off_deletion_spares_later_crons(tmp_path: Path) -> None:
    cron = CronRecord("ada", "c1", "", 0, "{}", 1, now_ms())
    async with open_app(settings(), home=tmp_path) as app:
        ada, journal = app.tenant("ada"), app.parts.journal
        await say(ada, "t1", WORD)
        await journal.put_cron(cron)
        before = RunKey("ada", "", f"{FORGET} {cron.updated_ms - 1}")
        await app._perform_chore(before)  # noqa: SLF001 (as a worker does)
        assert await journal.crons("ada") == [cron]
        assert len((await ada.threads.list()).items) == 1
        await app._perform_chore(RunKey("ada", "", f"{FORGET} {now_ms()}"))  # noqa: SLF001
        assert await journal.crons("ada") == []


async def test_a_later_cron_alone_keeps_what_the_owner_has(tmp_path: Path) -> None:
    async with open_app(settings(), home=tmp_path) as app:
        ada, journal = app.tenant("ada"), app.parts.journal
        await say(ada, "t1", WORD)
        asked_ms = now_ms() + 1_000
        cron = CronRecord("ada", "c1", "", 0, "{}", 1, asked_ms + 1)
        await journal.put_cron(cron)
        await app._perform_chore(RunKey("ada", "", f"{FORGET} {asked_ms}"))  # noqa: SLF001
        assert await journal.crons("ada") == [cron]
        assert len((await ada.threads.list()).items) == 1


async def test_a_cron_made_during_a_deletion_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job is discarded with the owner's others, so it would never run."""
    async with open_app(settings(), home=tmp_path) as app:
        parts, loop = app.parts, asyncio.get_running_loop()
        forget_rows = parts.registry.forget

        def forget_and_meet_a_cron(owner: str) -> None:
            forget_rows(owner)
            cron = CronRecord(owner, "c1", "", 1 << 50, "{}", 1, 1)
            asyncio.run_coroutine_threadsafe(parts.journal.put_cron(cron), loop).result()

        monkeypatch.setattr(parts.registry, "forget", forget_and_meet_a_cron)
        await app.tenant("ada").deletion.delete()
        assert await parts.journal.crons("ada") == []


async def test_the_command_erases_large_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer to a request does not rewrite them; the command does, whoever serves."""
    monkeypatch.chdir(tmp_path)
    name = "thalweg_server.checkpoints.erasure.erase_file"
    monkeypatch.setattr(name, partial(erase_file, most_bytes=0))
    async with open_app(settings(), home=tmp_path) as app:
        await say(app.tenant("ada"), "t1", WORD)
        assert await asyncio.to_thread(forget, tmp_path / "thalweg.db", "ada", "--yes") == 0
    assert "is not rewritten" not in (shown := capsys.readouterr().out)
    assert "no config.yaml of this address" in " ".join(shown.split())
    assert holding(tmp_path, WORD) == []


async def forget_until_killed(home: Path) -> None:
    """Delete an owner, and stop before the memory."""
    async with open_app(settings(memory={"enabled": True}), home=home, role="api") as app:
        deletion = app.tenant("ada").deletion

        def stop() -> list[str]:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            time.sleep(60)
            return []

        deletion._delete = stop  # type: ignore[method-assign]  # noqa: SLF001 (the step before)
        await deletion.delete()


@pytest.mark.slow
async def test_a_killed_deletion_is_completed_by_a_worker(tmp_path: Path) -> None:
    given = settings(memory={"enabled": True})
    async with open_app(given, home=tmp_path) as app:
        await fill(app, "ada")
    with start("server_tests.e2e.test_erasure", tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
        finally:
            process.kill()
    assert holding(tmp_path, WORD)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as runs:
        ((key,),) = runs.execute("SELECT key FROM queue_job").fetchall()
    async with open_app(given, home=tmp_path, role="api") as app:
        await app._perform_chore(RunKey.of_job(key))  # noqa: SLF001 (as a worker does in a minute)
    assert holding(tmp_path, WORD) == []
    assert in_sqlite(tmp_path).keys() <= KEPT


if __name__ == "__main__":
    asyncio.run(forget_until_killed(Path(sys.argv[1])))
