"""Runs of one owner: asking an agent, and following what comes of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from thalweg.archive import ThreadKey, parse_thread_id
from thalweg.archive.threads.finding import title_of
from thalweg_server.api.events import EVENT, Numbered
from thalweg_server.api.graph_runs import GraphRun, as_graph_run
from thalweg_server.api.problems import Problem
from thalweg_server.api.runs import NewRun, Run, Runs
from thalweg_server.app.agents.models import named_model
from thalweg_server.app.finding import Finder, check_writable
from thalweg_server.app.media_urls import check_media_urls
from thalweg_server.runs.base import ENDED, RunKey
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.base import RunRecord as Known

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts


async def check_run(parts: "AppParts", owner: str, thread: str, request: GraphRun) -> None:
    """Validate a new run.

    Raises:
        ThreadIdError: The thread's id is invalid.
        RecordedThreadError: The thread is an imported session.
        NoSuchModelError: The request names a model that there is not.
        ConfigError: A message has an address that is not allowed.
    """
    parse_thread_id(thread)
    await asyncio.to_thread(check_writable, parts.archive, ThreadKey(owner, thread))
    if request.model_name is not None:
        named_model(parts.settings(), request.model_name, any_model=parts.any_model)
    if not parts.settings().gateway.private_urls:
        command = request.command or {}
        check_media_urls([request.input, *map(command.get, ("update", "resume", "goto"))])


async def touch_thread(parts: "AppParts", owner: str, thread: str, request: GraphRun) -> None:
    """Record the use of a thread; its title is the text of the first message of its first run."""
    messages = request.input.get("messages") if isinstance(request.input, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else messages
    content = first.get("content") if isinstance(first, dict) else first
    if isinstance(content, list):
        texts = [str(block.get("text", "")) for block in content if isinstance(block, dict)]
        content = " ".join(texts)
    title = title_of(content) if isinstance(content, str) else ""
    touch = partial(parts.registry.touch, owner, thread, now_ms(), title=title)
    await asyncio.to_thread(touch)


class TenantRuns:
    """The runs of one owner.

    Raises (all that name a run):
        NoSuchRunError: There is none.
    """

    def __init__(self, owner: str, parts: "AppParts") -> None:
        self._owner = owner
        self._parts = parts

    async def start(self, thread: str, new: NewRun) -> Run:
        """Start a run; a missing thread is created.

        The same id a second time starts nothing and returns the existing run.

        Raises:
            BusyError: Another run of the thread has not ended, and the new one is not to wait.
            RunExistsError: A run with that id has other input.
            NoSuchModelError: There is no such model.
            ConfigError: No model is configured.
            ThreadIdError: The thread's id is invalid.
            RecordedThreadError: The thread is an imported session.
        """
        parts, as_graph = self._parts, as_graph_run(new)
        await check_run(parts, self._owner, thread, as_graph)
        named_model(parts.settings(), new.model, any_model=parts.any_model)
        key = RunKey(self._owner, thread, new.id or uuid4().hex)
        request = new.model_dump_json(exclude={"id", "if_busy", "priority"})
        run = await parts.runs.start(key, request, if_busy=new.if_busy, priority=new.priority)
        await touch_thread(parts, self._owner, thread, as_graph)  # what is refused makes no thread
        return shown(run)

    async def list(self, thread: str, *, limit: int = 50, before: str | None = None) -> Runs:
        """List runs of a thread, newest first.

        Raises:
            NoSuchThreadError: There is no such thread.
        """
        found = await self._parts.journal.list(self._owner, thread, limit=limit, before=before)
        if not found and before is None:
            finder = Finder(self._owner, self._parts.archive, self._parts.registry)
            await asyncio.to_thread(finder.get, thread)
        items = tuple(map(shown, found))
        return Runs(items=items, before=items[-1].id if len(items) == limit else None)

    async def active(self) -> int:
        """Return how many runs of the owner are queued or running, on all gateways."""
        return await self._parts.journal.count_active(self._owner)

    async def get(self, thread: str, run: str) -> Run:
        """Return one run."""
        return shown(await self._parts.journal.existing(RunKey(self._owner, thread, run)))

    async def follow(self, thread: str, run: str, after: int = 0) -> AsyncIterator[Numbered]:
        """Yield a run's events after a number, as they are emitted, up to its end.

        Raises:
            NoSuchRunError: There is none; raised with the first event.
        """
        async for event in self.lines(thread, run, after):
            yield Numbered(seq=event.seq, event=EVENT.validate_json(event.data))

    def lines(self, thread: str, run: str, after: int = 0) -> AsyncIterator[Line]:
        """Yield the same as `follow`, as the journal's unparsed lines of JSON."""
        return self._parts.journal.follow(RunKey(self._owner, thread, run), after)

    async def wait(self, thread: str, run: str, timeout_s: float | None = None) -> Run:
        """Wait for a run to end.

        Returns:
            The run; it has not ended if the timeout expired first.
        """
        found = await self.get(thread, run)
        if found.status not in ENDED:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._parts.runs.join(RunKey(self._owner, thread, run))
            found = await self.get(thread, run)
        return found

    async def cancel(self, thread: str, run: str) -> Run:
        """Request cancellation of a run; no effect on one that has ended."""
        await self.get(thread, run)
        await self._parts.runs.cancel(RunKey(self._owner, thread, run))
        return await self.get(thread, run)


def shown(run: Known) -> Run:
    """Return a run in the API's form."""
    return Run(
        id=run.key.run,
        thread=run.key.thread,
        status=run.status,
        created=run.created,
        started=run.started,
        ended=run.ended,
        attempts=run.attempt,
        last_event=run.last_seq,
        problem=None if run.error is None else Problem.model_validate_json(run.error),
    )


def now_ms() -> int:
    """Return the current time in the registry's unit, milliseconds."""
    return time.time_ns() // 1_000_000
