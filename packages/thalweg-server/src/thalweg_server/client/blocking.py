"""The blocking client, derived from `AsyncThalwegClient`: same methods, signatures and errors.

It is for programs without an event loop: its calls run on a loop in a thread of its own.
"""

import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import ExitStack
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

from anyio.from_thread import BlockingPortal, start_blocking_portal

from thalweg_server.api.events import Numbered
from thalweg_server.client.aio import AsyncThalwegClient

if TYPE_CHECKING:  # httpx2 is imported when a client connects
    from thalweg_server.client.places import At
    from thalweg_server.client.streams import RunStream

Result = TypeVar("Result")
_UNWINDING_S = 5.0
"""How long a call may take to clean up after a Ctrl-C."""
_open: "WeakSet[Portal]" = WeakSet()
Params = ParamSpec("Params")


class Portal:
    """Runs awaitables on its loop, from any thread; starts with its first call."""

    def __init__(self, last: Callable[[], Awaitable[None]]) -> None:
        """Prepare it.

        Args:
            last: Awaited on the loop before it ends.
        """
        self._last = last
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()
        self._starting = threading.Lock()

    def call(self, make: Callable[[], Awaitable[Result]]) -> Result:
        """Await something on the loop; a Ctrl-C meanwhile cancels it."""
        ended = threading.Event()

        async def performed() -> Result:
            try:
                return await make()
            finally:
                ended.set()

        future = self._started().start_task_soon(performed)
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(_UNWINDING_S)
            raise

    def close(self) -> None:
        """End the loop, after the last call on it."""
        with self._starting:
            portal, self._portal = self._portal, None
            if portal is not None:
                try:
                    portal.call(self._last)
                finally:
                    self._stack.close()

    def _started(self) -> BlockingPortal:
        with self._starting:
            if self._portal is None:
                started = start_blocking_portal(name="thalweg-client")
                self._portal = self._stack.enter_context(started)
                _open.add(self)
                _close_at_exit()
            return self._portal


@cache
def _close_at_exit() -> None:
    """Close portals that a program did not close, while threads can still be started for it."""
    # `atexit` is too late: by then executors accept no work, and closing files needs them.
    # Hooks that shut executors down are registered at their import, and later hooks run first.
    at_exit = getattr(threading, "_register_atexit", lambda _: None)
    at_exit(_close_all)


def _close_all() -> None:
    for portal in list(_open):
        portal.close()


class BlockingStream:
    """See `RunStream`: iterate it for `Numbered` events.

    Attributes:
        thread: The thread.
        run: The run.
    """

    def __init__(self, portal: Portal, stream: "RunStream") -> None:
        self._call = portal.call
        self._stream = stream
        self.thread, self.run = stream.thread, stream.run

    @property
    def seq(self) -> int:
        """The number of the last returned event."""
        return self._stream.seq

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Generator[Numbered]:
        events = aiter(self._stream)
        try:
            while (numbered := self._call(lambda: anext(events, None))) is not None:
                yield numbered
        finally:
            self._call(events.aclose)

    def close(self) -> None:
        """Close the stream; the run continues."""
        self._call(self._stream.aclose)


def blocking(
    method: Callable[Concatenate[AsyncThalwegClient, Params], Coroutine[Any, Any, Result]],
) -> "Callable[Concatenate[ThalwegClient, Params], Result]":
    """Return the blocking version of a method; type checkers and editors see its signature."""

    @wraps(method)
    def blocked(self: "ThalwegClient", /, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        return self._portal.call(lambda: method(self._client, *args, **kwargs))

    return blocked


def streaming(
    method: "Callable[Concatenate[AsyncThalwegClient, Params], RunStream]",
) -> "Callable[Concatenate[ThalwegClient, Params], BlockingStream]":
    """Return the blocking version of a method that returns a stream."""

    @wraps(method)
    def blocked(
        self: "ThalwegClient", /, *args: Params.args, **kwargs: Params.kwargs
    ) -> BlockingStream:
        return BlockingStream(self._portal, method(self._client, *args, **kwargs))

    return blocked


class ThalwegClient:
    """`AsyncThalwegClient`, one blocking call at a time.

    It opens with its first call, or with `with`; call `close`, or the end of the program closes it.

    Example:
        ```python
        with ThalwegClient() as client:
            print(client.chat("Which rivers meet here?", "geography"))
            print(client.get_memory()["facts"])
        ```
    """

    def __init__(
        self,
        at: "At" = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        agent: str | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Create a client; see `AsyncThalwegClient`."""
        self._client = AsyncThalwegClient(
            at, key=key, owner=owner, agent=agent, timeout_s=timeout_s
        )
        self._portal = Portal(self._client.aclose)

    def __enter__(self) -> Self:
        self._portal.call(self._client.__aenter__)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a run in this process continues when a gateway opens again."""
        self._portal.close()

    health = blocking(AsyncThalwegClient.health)
    metrics = blocking(AsyncThalwegClient.metrics)
    list_models = blocking(AsyncThalwegClient.list_models)
    get_model = blocking(AsyncThalwegClient.get_model)
    list_skills = blocking(AsyncThalwegClient.list_skills)
    get_skill = blocking(AsyncThalwegClient.get_skill)
    get_usage = blocking(AsyncThalwegClient.get_usage)
    get_thread_usage = blocking(AsyncThalwegClient.get_thread_usage)
    get_memory = blocking(AsyncThalwegClient.get_memory)
    reload_memory = blocking(AsyncThalwegClient.reload_memory)
    get_memory_config = blocking(AsyncThalwegClient.get_memory_config)
    get_memory_status = blocking(AsyncThalwegClient.get_memory_status)
    clear_memory = blocking(AsyncThalwegClient.clear_memory)
    export_memory = blocking(AsyncThalwegClient.export_memory)
    import_memory = blocking(AsyncThalwegClient.import_memory)
    list_facts = blocking(AsyncThalwegClient.list_facts)
    add_fact = blocking(AsyncThalwegClient.add_fact)
    get_fact = blocking(AsyncThalwegClient.get_fact)
    edit_fact = blocking(AsyncThalwegClient.edit_fact)
    delete_fact = blocking(AsyncThalwegClient.delete_fact)
    review_fact = blocking(AsyncThalwegClient.review_fact)
    search_memory = blocking(AsyncThalwegClient.search_memory)
    explain_memory = blocking(AsyncThalwegClient.explain_memory)
    memory_history = blocking(AsyncThalwegClient.memory_history)
    undo_memory = blocking(AsyncThalwegClient.undo_memory)
    forget_memory = blocking(AsyncThalwegClient.forget_memory)
    set_memory_mode = blocking(AsyncThalwegClient.set_memory_mode)
    list_threads = blocking(AsyncThalwegClient.list_threads)
    create_thread = blocking(AsyncThalwegClient.create_thread)
    get_thread = blocking(AsyncThalwegClient.get_thread)
    update_thread = blocking(AsyncThalwegClient.update_thread)
    delete_thread = blocking(AsyncThalwegClient.delete_thread)
    get_state = blocking(AsyncThalwegClient.get_state)
    get_history = blocking(AsyncThalwegClient.get_history)
    list_turns = blocking(AsyncThalwegClient.list_turns)
    get_context = blocking(AsyncThalwegClient.get_context)
    compact_thread = blocking(AsyncThalwegClient.compact_thread)
    rewind_thread = blocking(AsyncThalwegClient.rewind_thread)
    undo_compaction = blocking(AsyncThalwegClient.undo_compaction)
    branch_thread = blocking(AsyncThalwegClient.branch_thread)
    pin = blocking(AsyncThalwegClient.pin)
    unpin = blocking(AsyncThalwegClient.unpin)
    export_thread = blocking(AsyncThalwegClient.export_thread)
    chat = blocking(AsyncThalwegClient.chat)
    stream = streaming(AsyncThalwegClient.stream)
    join_stream = streaming(AsyncThalwegClient.join_stream)
    list_runs = blocking(AsyncThalwegClient.list_runs)
    start_run = blocking(AsyncThalwegClient.start_run)
    get_run = blocking(AsyncThalwegClient.get_run)
    wait_run = blocking(AsyncThalwegClient.wait_run)
    cancel_run = blocking(AsyncThalwegClient.cancel_run)
    upload_files = blocking(AsyncThalwegClient.upload_files)
    upload_file = blocking(AsyncThalwegClient.upload_file)
    list_uploads = blocking(AsyncThalwegClient.list_uploads)
    delete_upload = blocking(AsyncThalwegClient.delete_upload)
    list_artifacts = blocking(AsyncThalwegClient.list_artifacts)
    download_artifact = blocking(AsyncThalwegClient.download_artifact)
    get_artifact = blocking(AsyncThalwegClient.get_artifact)
