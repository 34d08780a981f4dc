"""Checkpoints of all owners in one database, and a saver that sees those of one owner alone."""

import asyncio
import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from thalweg.app.registry import SERVERS
from thalweg.archive.sqlite_schema import as_storage_error as as_storage_error_of_file
from thalweg.errors import ConfigError
from thalweg.private_files import make_private_file
from thalweg.runs.running import fence

BUSY_S = 30.0
"""How long a writer of a SQLite file waits for another process."""
MOST_CONNECTIONS = 10
PATIENCE_S = 10.0
"""How long a server may take until it gives a connection."""
Telling = Callable[[], AbstractContextManager[None]]


class OwnSaver(BaseCheckpointSaver[Any]):
    """The checkpoints of one owner: a thread's id is told apart from the same id of another's.

    LangGraph knows threads by their id alone. What goes down gets the owner's mark before the
    id, what comes up loses it; so whoever holds this saver can name no thread of another owner.

    Args:
        inner: Keeps the checkpoints.
        tag: The owner's.
        telling: Entered around what runs ask: tells a medium that failed as a `StorageError`,
            of which a run does not end.
    """

    def __init__(self, inner: BaseCheckpointSaver[Any], tag: str, telling: Telling) -> None:
        super().__init__(serde=inner.serde)
        self._inner = inner
        self._mark = f"{tag}:"
        self._telling = telling
        self._under_way: set[asyncio.Future[bool]] = set()

    @property
    def config_specs(self) -> list[Any]:
        """See `BaseCheckpointSaver.config_specs`."""
        return self._inner.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ANN401 (the saver's own)
        """See `BaseCheckpointSaver.get_next_version`."""
        return self._inner.get_next_version(current, channel)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver.get_tuple`."""
        return self._up(self._inner.get_tuple(self._down(config)))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver.aget_tuple`."""
        with self._telling():
            return self._up(await self._inner.aget_tuple(self._down(config)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """See `BaseCheckpointSaver.list`; a thread has to be named."""
        asked = self._named(config)
        earlier = before and self._down(before)
        for found in self._inner.list(asked, filter=filter, before=earlier, limit=limit):
            yield self._raised(found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `list`."""
        asked = self._named(config)
        earlier = before and self._down(before)
        with self._telling():
            async for found in self._inner.alist(asked, filter=filter, before=earlier, limit=limit):
                yield self._raised(found)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `BaseCheckpointSaver.put`."""
        return self._raise(self._inner.put(self._down(config), checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `BaseCheckpointSaver.aput`."""
        below = self._down(config)
        async with fence():
            with self._telling():
                return self._raise(
                    await self._inner.aput(below, checkpoint, metadata, new_versions)
                )

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """See `BaseCheckpointSaver.get_delta_channel_history`."""
        below = self._down(config)
        return self._inner.get_delta_channel_history(config=below, channels=channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """See `BaseCheckpointSaver.aget_delta_channel_history`."""
        below = self._down(config)
        with self._telling():
            return await self._inner.aget_delta_channel_history(config=below, channels=channels)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See `BaseCheckpointSaver.put_writes`."""
        self._inner.put_writes(self._down(config), writes, task_id, task_path)

    def aput_writes(  # a function that returns a coroutine
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> Coroutine[Any, Any, None]:
        """See `BaseCheckpointSaver.aput_writes`.

        No coroutine itself, so that `wrote` knows of it from when it is called: the graph tells
        what a task came to right behind that.
        """
        kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._under_way.add(kept)
        kept.add_done_callback(self._under_way.discard)

        async def put() -> None:
            is_kept = False
            try:
                async with fence():
                    with self._telling():
                        below = self._down(config)
                        await self._inner.aput_writes(below, writes, task_id, task_path)
                is_kept = True
            finally:
                kept.set_result(is_kept)

        return put()

    async def wrote(self) -> bool:
        """Wait until what tasks came to by now is kept.

        Returns:
            Whether it is; otherwise the graph ends with the reason.
        """
        return all([await kept for kept in list(self._under_way)])

    def delete_thread(self, thread_id: str) -> None:
        """See `BaseCheckpointSaver.delete_thread`."""
        self._inner.delete_thread(self._mark + thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """See `BaseCheckpointSaver.adelete_thread`."""
        with self._telling():
            await self._inner.adelete_thread(self._mark + thread_id)

    def _named(self, config: RunnableConfig | None) -> RunnableConfig:
        if config is None or "thread_id" not in config.get("configurable", {}):
            mend = "name a thread: checkpoints of all owners are told to nobody"
            raise ConfigError("thread_id", "none is given", mend)
        return self._down(config)

    def _down(self, config: RunnableConfig) -> RunnableConfig:
        given = config.get("configurable", {})
        thread = f"{self._mark}{given['thread_id']}"
        return {**config, "configurable": {**given, "thread_id": thread}}

    def _up(self, found: CheckpointTuple | None) -> CheckpointTuple | None:
        return None if found is None else self._raised(found)

    def _raised(self, found: CheckpointTuple) -> CheckpointTuple:
        parent = found.parent_config
        return found._replace(
            config=self._raise(found.config),
            parent_config=None if parent is None else self._raise(parent),
        )

    def _raise(self, config: RunnableConfig) -> RunnableConfig:
        given = config.get("configurable", {})
        thread = str(given["thread_id"]).removeprefix(self._mark)
        return {**config, "configurable": {**given, "thread_id": thread}}


class Checkpoints:
    """The checkpoints of all owners, an owner's at a time.

    Args:
        behind: Gives what keeps those of a tag, which a colon separates from a thread's id.
        telling: See `OwnSaver`.
    """

    def __init__(self, behind: Callable[[str], BaseCheckpointSaver[Any]], telling: Telling) -> None:
        self._behind = behind
        self._telling = telling

    def of(self, owner: str) -> OwnSaver:
        """Give the checkpoints of one owner."""
        tag = hashlib.sha256(owner.encode()).hexdigest()[:32]
        return OwnSaver(self._behind(tag), tag, self._telling)


@asynccontextmanager
async def open_checkpoints(address: str) -> AsyncIterator[Checkpoints]:
    """Open the checkpoints of all owners for the running event loop.

    Args:
        address: The path of a file, or `postgresql://…`.

    Raises:
        ConfigError: An extra is not installed.
    """
    opened = _on_postgres if address.startswith(SERVERS) else _in_file
    async with opened(address) as checkpoints:
        yield checkpoints


@asynccontextmanager
async def _in_file(path: str) -> AsyncIterator[Checkpoints]:
    try:
        from thalweg.app.sqlite_checkpoints import ThreadedSqliteSaver  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise _missing(error, "server") from None

    @contextmanager
    def telling() -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise as_storage_error_of_file(path, error) from error

    make_private_file(path)
    async with ThreadedSqliteSaver.open(path, busy_s=BUSY_S) as saver:
        yield Checkpoints(lambda _: saver, telling)


@asynccontextmanager
async def _on_postgres(url: str) -> AsyncIterator[Checkpoints]:
    try:
        import psycopg  # noqa: PLC0415 (an extra)
        from psycopg.rows import dict_row  # noqa: PLC0415 (an extra)
        from psycopg_pool import AsyncConnectionPool  # noqa: PLC0415 (an extra)

        from thalweg.archive.postgres_schema import as_storage_error, place_of  # noqa: PLC0415 (an extra)
        from thalweg.durable.checkpoints import OwnedCheckpoints  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise _missing(error, "postgres") from None
    place = place_of(url)

    @contextmanager
    def telling() -> Iterator[None]:
        try:
            yield
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise as_storage_error(place, error) from error

    settings = {"autocommit": True, "prepare_threshold": None, "row_factory": dict_row}
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        url,
        min_size=1,
        max_size=MOST_CONNECTIONS,
        kwargs=settings,
        open=False,
        timeout=PATIENCE_S,
        check=AsyncConnectionPool.check_connection,
    )
    await asyncio.to_thread(_set_up, url)
    async with pool:
        yield Checkpoints(lambda tag: OwnedCheckpoints(pool, tag), telling)


def _set_up(url: str) -> None:
    """Make LangGraph's tables where they are missing, as far as this role may."""
    import psycopg  # noqa: PLC0415 (an extra)

    from thalweg.archive.postgres_schema import as_storage_error, place_of  # noqa: PLC0415 (an extra)
    from thalweg.durable.checkpoints import set_up_checkpoints  # noqa: PLC0415 (an extra)

    place = place_of(url)
    try:
        is_walled = set_up_checkpoints(url)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable):
        problem = "LangGraph's tables are missing or older, and this role may not make them"
        mend = "run `thalweg db upgrade` as the owner of the tables, then `thalweg db grants`"
        raise ConfigError(place, problem, mend) from None
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None
    if not is_walled:
        problem = "LangGraph's tables hold threads of another application"
        raise ConfigError(place, problem, "give Thalweg a database of its own")


def _missing(error: ModuleNotFoundError, extra: str) -> ConfigError:
    problem = f"{error.name} is not installed"
    return ConfigError("checkpoints", problem, f"pip install 'thalweg[{extra}]'")
