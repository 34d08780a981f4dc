"""Runs of one owner: started, followed, cancelled, deleted.

`TenantRuns` has those of `/api`; `TenantGraphRuns` those of LangGraph's API, which may start behind
others of their thread, or instead of them.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import TypeAdapter

from thalweg.archive import ThreadKey, parse_thread_id
from thalweg.archive.threads.finding import title_of
from thalweg.errors import BusyError, ConfigError, NoSuchRunError, ThalwegError
from thalweg_server.api.events import EVENT, Numbered
from thalweg_server.api.graph_runs import GraphRun, Mode, NewGraphRun, Strategy, as_graph_run
from thalweg_server.api.problems import Problem
from thalweg_server.api.runs import NewRun, Run, Runs
from thalweg_server.app.configured import Assistant, named_model
from thalweg_server.app.graph_threads import TenantGraphThreads, check_media_urls, webhook_host
from thalweg_server.app.parts import AppParts, TenantPart
from thalweg_server.app.registry import check_writable
from thalweg_server.app.threads import TenantThreads
from thalweg_server.runs.base import ENDED, Event, RunKey, RunRecord, now_ms

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from thalweg_server.app.agents import Agent


async def check_run(parts: AppParts, owner: str, thread: str, request: GraphRun) -> None:
    """Validate a new run.

    Raises:
        ThreadIdError: The thread's id is invalid.
        RecordedThreadError: The thread is an imported session.
        NoSuchModelError: The request names a model that there is not.
        ConfigError: A message or a webhook has an address that is not allowed.
    """
    parse_thread_id(thread)
    gateway = parts.settings().gateway
    if request.webhook is not None:
        webhook_host(request.webhook, gateway.webhook_hosts)
    await asyncio.to_thread(check_writable, parts.archive, ThreadKey(owner, thread))
    if request.model_name is not None:
        named_model(parts.settings(), request.model_name, any_model=parts.any_model)
    if not gateway.private_urls:
        command = request.command or {}
        check_media_urls([request.input, *map(command.get, ("update", "resume", "goto"))])


def title_in(request: GraphRun) -> str:
    """Return the title of a thread whose first run this is: the text of its first message."""
    messages = request.input.get("messages") if isinstance(request.input, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else messages
    content = first.get("content") if isinstance(first, dict) else first
    if isinstance(content, list):
        texts = [str(block.get("text", "")) for block in content if isinstance(block, dict)]
        content = " ".join(texts)
    return title_of(content) if isinstance(content, str) else ""


class TenantRuns(TenantPart):
    """The runs of one owner.

    Raises (all that name a run):
        NoSuchRunError: There is none.
    """

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
        await self.touch(thread, title_in(as_graph))  # what is refused makes no thread
        return shown(run)

    async def list(self, thread: str, *, limit: int = 50, before: str | None = None) -> Runs:
        """List runs of a thread, newest first.

        Raises:
            NoSuchThreadError: There is no such thread.
        """
        found = await self._parts.journal.list(self._owner, thread, limit=limit, before=before)
        if not found and before is None:
            await asyncio.to_thread(self._finder.get, thread)
        items = tuple(map(shown, found))
        return Runs(items=items, before=items[-1].id if len(items) == limit else None)

    async def active(self, *, delayed: bool = False) -> int:
        """Return the number of unended runs that are due; if `delayed`, of others, too."""
        return await self._parts.journal.count_active(self._owner, delayed=delayed)

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

    def lines(self, thread: str, run: str, after: int = 0) -> AsyncIterator[Event]:
        """Yield the same as `follow`, as the journal's unparsed lines of JSON."""
        return self._parts.journal.follow(RunKey(self._owner, thread, run), after)

    async def wait(self, thread: str, run: str, timeout_s: float | None = None) -> Run:
        """Wait for a run to end.

        Returns:
            The run; it has not ended if the timeout expired first.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._parts.runs.join(RunKey(self._owner, thread, run))
        return await self.get(thread, run)

    async def cancel(self, thread: str, run: str) -> Run:
        """Request cancellation of a run; no effect on one that has ended."""
        await self.get(thread, run)
        await self._parts.runs.cancel(RunKey(self._owner, thread, run))
        return await self.get(thread, run)


def shown(run: RunRecord) -> Run:
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


_MODES: TypeAdapter[tuple[Mode, ...]] = TypeAdapter(tuple[Mode, ...])
TEMPORARY = "temporary"
"""The kind of the documents that name threads to delete once their runs have ended."""
_READ_MS = 60_000
"""Milliseconds after its end in which the stream of a run on such a thread may be read."""
_PAGE = 32
"""Checkpoints that are read at a time."""
_REWIND = "rewind the thread: POST /api/threads/ID/rewind"


class TenantGraphRuns(TenantPart):
    """The runs of graphs of one owner.

    Raises (all that name a run):
        NoSuchRunError: There is none.
    """

    def __init__(self, owner: str, parts: AppParts) -> None:
        super().__init__(owner, parts)
        self._threads = TenantGraphThreads(owner, parts)

    async def start(
        self,
        thread: str | None,
        new: GraphRun,
        *,
        strategy: Strategy = "enqueue",
        creates: bool = True,
        after_s: float = 0,
        is_temporary: bool = False,
    ) -> RunRecord:
        """Start a run.

        Args:
            thread: The thread; a new one by default.
            new: The request.
            strategy: What happens to runs of the thread that have not ended: the new one waits,
                it is refused, they are cancelled, or they are deleted with what they did.
            creates: Whether a missing thread is created.
            after_s: Seconds until the run starts.
            is_temporary: Whether the thread is deleted after the run.

        Raises:
            BusyError: A run of the thread has not ended, and the strategy is `reject`.
            NoSuchThreadError: The thread is missing, and not to be created.
            NoSuchModelError: The config names a model that there is not.
            RecordedThreadError: The thread is an imported session.
        """
        id_ = thread or str(uuid4())
        creates = creates or thread is None
        await self.prepare(id_, new, strategy, creates=creates, is_temporary=is_temporary)
        key = RunKey(self._owner, id_, str(uuid4()))
        due_ms = now_ms() + round(1000 * after_s) if after_s > 0 else 0
        return await self._parts.runs.start(key, new.model_dump_json(), due_ms=due_ms)

    async def check(self, new: GraphRun) -> None:
        """Validate a run on a thread of its own; see `check_run`."""
        await check_run(self._parts, self._owner, str(uuid4()), new)

    async def prepare(
        self,
        id_: str,
        new: GraphRun,
        strategy: Strategy,
        *,
        creates: bool,
        is_temporary: bool,
        end: Callable[[Sequence[RunRecord]], Awaitable[None]] | None = None,
    ) -> None:
        """Make a thread ready for a new run; see `start`.

        Args:
            id_: The thread.
            new: The request.
            strategy: See `start`.
            creates: See `start`.
            is_temporary: See `start`.
            end: Ends the runs that have not ended; `self.end` by default.
        """
        parts = self._parts
        await check_run(parts, self._owner, id_, new)
        if not creates:
            await self._threads.get(id_)
        if is_temporary:
            documents, now = parts.registry.documents, now_ms()
            await asyncio.to_thread(documents.put, self._owner, TEMPORARY, id_, {}, now)
        await self.touch(id_, title_in(new))
        known = {"graph_id": new.graph, "assistant_id": new.assistant}
        await self._threads.merge(id_, known)
        unended = await parts.journal.unended(self._owner, id_)
        if unended and strategy == "reject":
            raise BusyError(id_, unended[-1].key.run)
        if unended and strategy in {"interrupt", "rollback"}:
            await (end or self.end)(unended)
            if strategy == "rollback":
                await self.roll_back(id_, {run.key.run for run in unended})

    async def get(self, thread: str, run: str) -> RunRecord:
        """Return one run."""
        return await self._parts.journal.existing(RunKey(self._owner, thread, run))

    async def graph(self, assistant: Assistant) -> "Agent":
        """Return the graph of an assistant, to read its schemas and its nodes."""
        agents = await self._parts.agents()
        return await agents.graph(self._parts.settings(), assistant.graph, {"configurable": {}})

    async def list(self, thread: str, limit: int = 1_000) -> Sequence[RunRecord]:
        """Return the newest runs of a thread, the newest first."""
        await self._threads.get(thread)
        return await self._parts.journal.list(self._owner, thread, limit=limit)

    async def read_all(self, run: RunRecord) -> Sequence[Event]:
        """Return the rows of a run, none if it was deleted."""
        return await self._parts.journal.read_all(run.key)

    async def follow_thread(
        self, thread: str, pause_s: float = 0.25, *, since: datetime | None = None
    ) -> AsyncIterator[tuple[RunRecord, Event]]:
        """Yield the rows of the runs of a thread that have not ended, and of each later one.

        Runs come in the order of their starts; a delayed one is followed once it is running.

        Args:
            thread: The thread.
            pause_s: Least seconds between two reads of the list of runs; each follows a change.
            since: Yield also those of runs that another one had not followed at that time; of
                the newest 1,000.
        """
        journal = self._parts.journal
        runs = await journal.list(self._owner, thread, limit=1_000)
        seen = {run.key.run for run in runs if run.status in ENDED}
        if since is not None:
            begun = sorted((run.started, run.key.run) for run in runs if run.started)
            seen = {run for (_, run), (later, _) in pairwise(begun) if later <= since}
        while True:
            for run in sorted(runs, key=lambda run: run.started or run.created):
                if run.status != "queued" and run.key.run not in seen:
                    seen.add(run.key.run)
                    with suppress(NoSuchRunError):  # it was deleted in the meantime
                        async for event in journal.follow(run.key):
                            yield run, event
            change, read_at = journal.change, time.monotonic()
            new = set(await journal.begun(self._owner, thread)) - seen
            if not new:
                await change.wait()
                await asyncio.sleep(read_at + pause_s - time.monotonic())
            keys = (RunKey(self._owner, thread, run) for run in new)
            runs = [found for key in keys if (found := await journal.get(key)) is not None]

    async def under_way(self, thread: str) -> Sequence[RunRecord]:
        """Return the runs of a thread that have not ended and are due, the oldest first."""
        return await self._parts.journal.unended(self._owner, thread, now_ms())

    async def wait(self, run: RunRecord) -> RunRecord:
        """Wait for a run to end."""
        if run.status in ENDED:
            return run
        return await self._parts.runs.join(run.key)

    async def end(self, runs: Sequence[RunRecord]) -> None:
        """Cancel runs, and wait for their end."""
        for run in runs:
            await self._end(run.key)

    async def delete(self, thread: str, run: str) -> None:
        """Delete a run and its events; the state of its thread remains.

        Raises:
            BusyError: It has not ended.
        """
        await self.get(thread, run)
        await self._parts.journal.delete(self._owner, thread, run)

    async def roll_back(self, thread: str, runs: Collection[str]) -> None:
        """End runs of a thread, and delete them and what they did to its state.

        Raises:
            ConfigError: A later run continued from their state, or the state before them is no
                longer kept; the runs remain.
            BusyError: Another run of the thread works or waits: it would continue from their state.
        """
        await self._check_last(thread, runs)
        for run in runs:
            await self._end(RunKey(self._owner, thread, run))
        await self._check_last(thread, runs)  # another one may have come while they ended
        await self._restore_before(thread, runs)
        for run in runs:
            await self._parts.journal.delete(self._owner, thread, run)

    async def _check_last(self, thread: str, runs: Collection[str]) -> None:
        """Check that no run outside of `runs` is active, or continued from their state."""
        for other in await self._parts.journal.unended(self._owner, thread, now_ms()):
            if other.key.run not in runs:
                raise BusyError(thread, other.key.run)
        listed = await self._parts.journal.list(self._owner, thread, limit=1_000)
        performed = sorted((run.started, run.key.run) for run in listed if run.attempt)
        while performed and performed[-1][1] in runs:
            performed.pop()
        if later := [run for _, run in performed if run in runs]:
            problem = f"run {performed[-1][1]} continued from the state of run {later[-1]}"
            raise ConfigError(
                "rollback", problem, f"roll back run {performed[-1][1]} first, or {_REWIND}"
            )

    async def _restore_before(self, thread: str, runs: Collection[str]) -> None:
        """Restore the state of a thread from before its newest runs."""
        from thalweg_server.app.graph_execution import RUN  # noqa: PLC0415 (LangChain: seconds)

        saver = self._parts.checkpoints.of(self._owner)
        place: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        before, parent, is_newest = None, None, True
        # Pages: a list that is open holds a connection, and `restore` takes another one.
        while page := [found async for found in saver.alist(place, before=before, limit=_PAGE)]:
            for found in page:
                if found.metadata.get(RUN) not in runs:
                    if not is_newest:
                        await self._threads.restore(thread, found.checkpoint["id"])
                    return
                is_newest = False
            before, parent = page[-1].config, page[-1].parent_config
        if parent is not None:
            problem = f"the state of thread {thread!r} before the run is no longer kept"
            raise ConfigError("rollback", problem, _REWIND)
        await saver.adelete_thread(thread)

    async def delete_thread(self, thread: str) -> None:
        """End the runs of a thread, and delete it with all that it has."""
        await self._threads.get(thread)
        await self.end(await self._parts.journal.unended(self._owner, thread))
        await TenantThreads(self._owner, self._parts).delete(thread)

    async def delete_temporary(self) -> None:
        """Delete some threads of earlier stateless runs that ended a while ago."""
        documents, journal = self._parts.registry.documents, self._parts.journal
        every = await asyncio.to_thread(documents.list, self._owner, TEMPORARY)
        left = 3  # few, for a new run waits for it; more than the one thread that this run adds
        for one in sorted(every, key=lambda one: one.updated):
            if not left or now_ms() - one.updated < _READ_MS:
                return
            if await journal.unended(self._owner, one.name):
                continue
            newest = await journal.list(self._owner, one.name, limit=1)
            ended = newest[0].ended if newest else None
            if ended is None or now_ms() - ended.timestamp() * 1000 > _READ_MS:
                with suppress(ThalwegError):  # another request may delete it now
                    await self.delete_thread(one.name)
                await asyncio.to_thread(documents.delete, self._owner, TEMPORARY, one.name)
                left -= 1

    async def _end(self, key: RunKey) -> None:
        with suppress(NoSuchRunError):
            await self._parts.runs.cancel(key)
            await self._parts.runs.join(key)


def graph_run(assistant: Assistant, new: NewGraphRun, cron: str | None = None) -> GraphRun:
    """Return the request of a run, with what its assistant sets, and the id of its cron."""
    given, config = new.config or {}, assistant.config
    configurable = {**_object(config.get("configurable")), **_object(given.get("configurable"))}
    if cron is not None:
        configurable["cron_id"] = cron
    context = new.context
    if isinstance(assistant.context, dict) and assistant.context:
        context = {**assistant.context, **_object(new.context)}
    place = new.checkpoint
    recorded = [mode if mode != "messages-tuple" else "messages" for mode in new.modes]
    return GraphRun(
        graph=assistant.graph,
        assistant=assistant.id,
        input=new.input,
        command=new.command,
        config={**config, **given, "configurable": configurable},
        context=context,
        metadata={**assistant.metadata, **(new.metadata or {})},
        checkpoint=(place.checkpoint_id if place else None) or new.checkpoint_id,
        modes=_MODES.validate_python(tuple(dict.fromkeys(recorded))),
        subgraphs=new.stream_subgraphs,
        interrupt_before=new.interrupt_before or (),
        interrupt_after=new.interrupt_after or (),
        webhook=new.webhook,
        client={
            "stream_mode": list(new.modes),
            "multitask_strategy": new.multitask_strategy or "enqueue",
        },
    )


def _object(given: object) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}
