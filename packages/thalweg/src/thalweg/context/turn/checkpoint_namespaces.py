"""Delete checkpoints by namespace: LangGraph deletes whole threads only.

The checkpoints of a subagent are in a namespace of its parent's thread, and those of its own
subagents are in namespaces that begin with that one.
"""

import asyncio
import sys
from collections.abc import Collection, Iterator
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.context.turn.effects import run_in_worker
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
