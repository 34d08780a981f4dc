"""Delete a thread, or some of its subagents', from its checkpointer and its archive.

LangGraph deletes checkpoints of whole threads only. The checkpoints of a subagent are in a
namespace of its parent's thread, and those of its own subagents are in namespaces that begin with
that one.
"""

import asyncio
import sys
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.archive import Archive, ThreadKey, default_place, open_existing
from thalweg.archive.base import SUBAGENT_SEPARATOR
from thalweg.archive.threads.finding import own_threads, subagent_threads
from thalweg.context.turn.effects import (
    Flow,
    SyncOrAsync,
    arun,
    blocking_effect,
    run,
    run_in_worker,
)
from thalweg.database.erasure import COPIES_ELSEWHERE, POSTGRES_REMAINS, erase_file
from thalweg.database.sqlite_files import MEMORY
from thalweg.engine.undocumented import postgres_cursor

_SQLITE_TABLES = ("checkpoints", "writes")
_POSTGRES_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def as_saver_class(saver: object, module: str, name: str) -> Any:  # noqa: ANN401 (a class of an extra)
    """Return a saver if it is of a class of an extra, which is not imported for that."""
    kind = getattr(sys.modules.get(f"langgraph.checkpoint.{module}"), name, None)
    return saver if kind is not None and isinstance(saver, kind) else None


def delete_namespaces(
    saver: BaseCheckpointSaver[Any], thread_id: str, namespaces: Collection[str]
) -> bool:
    """Delete the checkpoints and writes of some namespaces of a thread, and of those below them.

    An async saver is called from another thread than that of its event loop.

    Returns:
        Whether they were deleted: LangGraph's savers for memory, SQLite and PostgreSQL can, and
        others with a method `adelete_namespaces`.
    """
    if isinstance(saver, InMemorySaver):
        _delete_from_memory(saver, thread_id, namespaces)
    elif (sqlite := as_saver_class(saver, "sqlite", "SqliteSaver")) is not None:
        with sqlite.cursor() as cursor:
            for statement, values in _deletions(_SQLITE_TABLES, "?", thread_id, namespaces):
                cursor.execute(statement, values)
    elif (postgres := as_saver_class(saver, "postgres", "PostgresSaver")) is not None:
        with postgres_cursor(postgres) as cursor:
            for statement, values in _deletions(_POSTGRES_TABLES, "%s", thread_id, namespaces):
                cursor.execute(statement, values)
    elif _is_async(saver):
        deletion = adelete_namespaces(saver, thread_id, namespaces)
        loop = getattr(saver, "loop")  # noqa: B009 (of both classes, not of the base)
        return asyncio.run_coroutine_threadsafe(deletion, loop).result()
    else:
        return False
    return True


async def adelete_namespaces(
    saver: BaseCheckpointSaver[Any], thread_id: str, namespaces: Collection[str]
) -> bool:
    """Delete the checkpoints of some namespaces of a thread; see `delete_namespaces`."""
    if (own := getattr(saver, "adelete_namespaces", None)) is not None:
        return bool(await own(thread_id, namespaces))
    if (sqlite := as_saver_class(saver, "sqlite.aio", "AsyncSqliteSaver")) is not None:
        async with sqlite.lock, sqlite.conn.cursor() as cursor:
            for statement, values in _deletions(_SQLITE_TABLES, "?", thread_id, namespaces):
                await cursor.execute(statement, values)
            await sqlite.conn.commit()
    elif (postgres := as_saver_class(saver, "postgres.aio", "AsyncPostgresSaver")) is not None:
        async with postgres_cursor(postgres) as cursor:
            for statement, values in _deletions(_POSTGRES_TABLES, "%s", thread_id, namespaces):
                await cursor.execute(statement, values)
    else:
        return await run_in_worker(delete_namespaces, saver, thread_id, namespaces)
    return True


def _is_async(saver: object) -> bool:
    kinds = (("sqlite.aio", "AsyncSqliteSaver"), ("postgres.aio", "AsyncPostgresSaver"))
    return any(as_saver_class(saver, *kind) is not None for kind in kinds)


def _delete_from_memory(saver: InMemorySaver, thread_id: str, namespaces: Collection[str]) -> None:
    below = tuple(f"{namespace}|" for namespace in namespaces)
    checkpoints = saver.storage.get(thread_id, {})
    for namespace in [*checkpoints]:
        if f"{namespace}|".startswith(below):
            del checkpoints[namespace]
    tables: tuple[dict[Any, Any], ...] = (saver.writes, saver.blobs)
    for table in tables:
        for key in [*table]:
            if key[0] == thread_id and f"{key[1]}|".startswith(below):
                del table[key]


def _deletions(
    tables: Collection[str], mark: str, thread_id: str, namespaces: Collection[str]
) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield the statements with their values; LangGraph separates nested namespaces by `|`."""
    for table in tables:
        within = f"substr(checkpoint_ns || '|', 1, {mark}) = {mark}"
        statement = f"DELETE FROM {table} WHERE thread_id = {mark} AND {within}"  # noqa: S608 (ours)
        for namespace in namespaces:
            yield statement, (thread_id, len(namespace) + 1, f"{namespace}|")


_DATABASES = "PRAGMA database_list"
_CHECKPOINTER_REMAINS = (
    "{kind}: what its database keeps of deleted rows (of PostgreSQL: {postgres})"
)
_NAMESPACES_REMAIN = "{kind}: checkpoints of subagents, until their parent's thread is deleted"


@dataclass(frozen=True, slots=True)
class ThreadDeletion:
    """The data deleted with a thread."""

    threads: tuple[str, ...]
    """Names of the logs that the archive had: of the thread, and of its subagents."""
    freed_bytes: int
    """Size of the large texts that no other thread of the archive has."""
    left: tuple[str, ...]
    """What may remain, and where: one line each, without any content."""


def delete_thread(
    thread_id: str,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    archive: Archive | str | PathLike[str] | None = None,
    owner: str = "local",
) -> ThreadDeletion:
    """Delete a thread in its checkpointer and in the archive, with those of its subagents.

    The call succeeds even if one or both no longer have the thread: after an interruption or an
    error, call it again. SQLite files are rewritten, so that no byte of the thread
    remains in them; other writers wait for that, about a second for 64 MiB.

    A run in progress cannot store anything of the thread in the archive any more: it ends with a
    `DeletedThreadError` at its next answer, tool result or call. A checkpoint that LangGraph was
    writing at that moment, or writes at the end of a run with `durability="exit"`, is deleted by
    another call.

    Args:
        thread_id: The `thread_id` of the runs.
        checkpointer: The checkpointer of the agent; `None` if it has none. An async one is called
            from another thread than that of its event loop; else use `adelete_thread`.
        archive: The archive of the agent, or its address; by default `default_place`, if there is
            one.
        owner: The owner of the thread in the archive.

    Raises:
        ConfigError: There is no archive at the address.
        StorageError: The archive cannot be written.

    Example:
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from thalweg.archive import open_archive
        >>> with open_archive(":memory:") as archive:
        ...     delete_thread("t1", checkpointer=InMemorySaver(), archive=archive).threads
        ()
    """
    return run(thread_deletion(thread_id, checkpointer, archive, owner))


async def adelete_thread(
    thread_id: str,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    archive: Archive | str | PathLike[str] | None = None,
    owner: str = "local",
) -> ThreadDeletion:
    """Delete a thread; see `delete_thread`."""
    return await arun(thread_deletion(thread_id, checkpointer, archive, owner))


def thread_deletion(
    thread_id: str,
    saver: BaseCheckpointSaver[Any] | None,
    archive: Archive | str | PathLike[str] | None,
    owner: str,
    subagents: Collection[str] | None = None,
) -> Flow[ThreadDeletion]:
    """Delete a thread, as a flow; see `delete_thread`.

    Args:
        thread_id: The `thread_id` of the runs.
        saver: The checkpointer of the agent; `None` if it has none.
        archive: The archive of the agent, or its address.
        owner: The owner of the thread in the archive.
        subagents: Names in the archive of threads of its subagents. These alone are deleted, with
            those of their own subagents, and no file is rewritten.
    """
    # The checkpoints first: a run that begins after an interruption is sent nothing older. Once
    # more behind the archive: only then can no run in progress pass its check and store another.
    if saver is not None:
        yield _delete_checkpoints(saver, thread_id, subagents)
    deletion: ThreadDeletion = yield blocking_effect(
        partial(_delete_from_archive, archive, owner, thread_id, subagents)
    )
    if saver is None:
        return deletion
    deleted: bool | None = yield _delete_checkpoints(saver, thread_id, subagents)
    if subagents is not None:
        kept = () if deleted else (_NAMESPACES_REMAIN.format(kind=type(saver).__name__),)
        return ThreadDeletion(deletion.threads, deletion.freed_bytes, kept)
    file: str | None = yield SyncOrAsync(partial(_file_of, saver), partial(_afile_of, saver))
    remains: tuple[str, ...] = yield blocking_effect(partial(_erase_saver, saver, file))
    return ThreadDeletion(deletion.threads, deletion.freed_bytes, (*remains, *deletion.left))


def delete_checkpoints(
    saver: BaseCheckpointSaver[Any], threads: Collection[str]
) -> tuple[str, ...]:
    """Delete the checkpoints of threads, and rewrite the file of a SQLite saver once.

    Returns:
        What may remain, and where: one line each, without any content.
    """
    for thread_id in threads:
        saver.delete_thread(thread_id)
    return _erase_saver(saver, _file_of(saver))


def _erase_saver(saver: BaseCheckpointSaver[Any], file: str | None) -> tuple[str, ...]:
    if file is not None:
        erased = "" if file == MEMORY else erase_file(Path(file), sys.maxsize)
        return (erased,) if erased else ()
    if isinstance(saver, InMemorySaver):
        return ()
    kind = type(saver).__name__
    return (_CHECKPOINTER_REMAINS.format(kind=kind, postgres=POSTGRES_REMAINS),)


def _delete_checkpoints(
    saver: BaseCheckpointSaver[Any], thread_id: str, subagents: Collection[str] | None
) -> SyncOrAsync:
    if subagents is not None:
        given = saver, thread_id, [name.partition(SUBAGENT_SEPARATOR)[2] for name in subagents]
        return SyncOrAsync(partial(delete_namespaces, *given), partial(adelete_namespaces, *given))

    async def delete_async() -> None:
        try:
            await saver.adelete_thread(thread_id)
        except NotImplementedError:  # a saver without async methods
            await run_in_worker(saver.delete_thread, thread_id)

    return SyncOrAsync(partial(saver.delete_thread, thread_id), delete_async)


def _delete_from_archive(
    archive_or_address: Archive | str | PathLike[str] | None,
    owner: str,
    thread_id: str,
    subagents: Collection[str] | None,
) -> ThreadDeletion:
    with _open_archive(archive_or_address) as archive:
        if archive is None:
            return ThreadDeletion((), 0, (COPIES_ELSEWHERE,))
        if subagents is None:
            threads = own_threads(archive, owner, thread_id)
        else:
            threads = subagent_threads(archive, owner, subagents)
        for thread in threads:
            archive.delete(ThreadKey(owner, thread))
        freed = archive.prune()
        if subagents is not None:
            return ThreadDeletion(tuple(threads), freed, ())
        remains = archive.erase()
        return ThreadDeletion(
            tuple(threads), freed, (*([remains] if remains else ()), COPIES_ELSEWHERE)
        )


@contextmanager
def _open_archive(
    archive_or_address: Archive | str | PathLike[str] | None,
) -> Iterator[Archive | None]:
    """Open the archive at an address; one that is already open is not closed."""
    if archive_or_address is None:
        archive_or_address = default_place()
        if not archive_or_address.is_file():
            yield None
            return
    if isinstance(archive_or_address, (str, PathLike)):
        with open_existing(archive_or_address) as archive:
            yield archive
    else:
        yield archive_or_address


def _file_of(saver: object) -> str | None:
    """Return the file of a SQLite saver, `MEMORY` if it has none; `None` for another saver."""
    if (sqlite_saver := as_saver_class(saver, "sqlite", "SqliteSaver")) is not None:
        with sqlite_saver.lock, closing(sqlite_saver.conn.cursor()) as cursor:
            cursor.row_factory = None
            return _main_file(cursor.execute(_DATABASES).fetchall())
    if (sqlite_saver := as_saver_class(saver, "sqlite.aio", "AsyncSqliteSaver")) is not None:
        return asyncio.run_coroutine_threadsafe(_afile_of(sqlite_saver), sqlite_saver.loop).result()
    return None


async def _afile_of(saver: object) -> str | None:
    if (sqlite_saver := as_saver_class(saver, "sqlite.aio", "AsyncSqliteSaver")) is not None:
        async with sqlite_saver.conn.execute(_DATABASES) as cursor:
            return _main_file([*await cursor.fetchall()])
    return await run_in_worker(_file_of, saver)


def _main_file(databases: list[Any]) -> str:
    """Return the file of a connection's main database, which SQLite lists first."""
    return str(tuple(databases[0])[2] or MEMORY)
