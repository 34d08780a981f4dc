"""Runs of one owner: asking an agent, and following what comes of it.

The default title of a thread: the beginning of its first message.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, get_args
from uuid import uuid4

from thalweg.errors import ConfigError, NoSuchRunError, NoSuchThreadError
from thalweg_server.api.events import EVENT, Numbered
from thalweg_server.api.problems import Problem
from thalweg_server.api.runs import NewRun, Run, Runs
from thalweg_server.api.shape import Identifier
from thalweg_server.app.agents.models import named_model
from thalweg_server.runs.base import ENDED, RunKey
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.base import RunRecord as Known

if TYPE_CHECKING:
    from thalweg_server.app.parts import AppParts


MOST_CHARS = 60


def title_of(new: NewRun) -> str:
    """Return a title from the message of a run; empty if it has no text.

    Example:
        >>> title_of(NewRun(message="Fix the build, please.  It fails since Tuesday."))
        'Fix the build, please. It fails since Tuesday.'
    """
    texts = [new.message] if new.message is not None else []
    for given in new.messages:
        if isinstance(given.content, str):
            texts.append(given.content)
        else:
            texts += [str(block.get("text", "")) for block in given.content]
    words = " ".join(" ".join(texts)[: 20 * MOST_CHARS].split())
    if len(words) <= MOST_CHARS:
        return words
    whole, _, _ = words[:MOST_CHARS].rpartition(" ")
    return f"{whole or words[: MOST_CHARS - 1]}…"


_IDENTIFIER = re.compile(get_args(Identifier)[1].pattern)
_MOST_CHARS = get_args(Identifier)[1].max_length


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
            BusyError: Another run of the thread has not ended, and is not to be cancelled.
            RunExistsError: A run with that id has other input.
            NoSuchModelError: There is no such model.
            ConfigError: No model is configured, or the thread's id is invalid.
        """
        check_identifier("thread", thread)
        parts = self._parts
        named_model(parts.settings(), new.model, any_model=parts.any_model)
        key = RunKey(self._owner, thread, new.id or uuid4().hex)
        request = new.model_dump_json(exclude={"id", "if_busy"})
        run = await parts.runs.start(key, request, if_busy=new.if_busy)
        registry, now = parts.registry, now_ms()
        title = title_of(new)  # noted when it runs: what is refused makes no thread
        await asyncio.to_thread(lambda: registry.touch(self._owner, thread, now, title=title))
        return shown(run)

    async def list(self, thread: str, *, limit: int = 50, before: str | None = None) -> Runs:
        """List runs of a thread, newest first.

        Raises:
            NoSuchThreadError: There is no such thread.
        """
        found = await self._parts.journal.list(self._owner, thread, limit=limit, before=before)
        if not found and before is None:
            row = await asyncio.to_thread(self._parts.registry.get, self._owner, thread)
            if row is None:
                raise NoSuchThreadError(thread)
        items = tuple(map(shown, found))
        return Runs(items=items, before=items[-1].id if len(items) == limit else None)

    async def active(self) -> int:
        """Return how many runs of the owner are queued or running, on all gateways."""
        return await self._parts.journal.count_active(self._owner)

    async def get(self, thread: str, run: str) -> Run:
        """Return one run."""
        found = await self._parts.journal.get(RunKey(self._owner, thread, run))
        if found is None:
            raise NoSuchRunError(run)
        return shown(found)

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


def check_identifier(what: str, given: str) -> None:
    """Validate an id that a caller chose.

    Raises:
        ConfigError: It is invalid.
    """
    if not (_IDENTIFIER.fullmatch(given) and len(given) <= _MOST_CHARS):
        problem = f"{given[:200]!r} is no id"
        fix = "use letters, digits, '.', '_' and '-', 128 at most, and begin with one of the first"
        raise ConfigError(what, problem, fix)


def now_ms() -> int:
    """Return the current time in the registry's unit, milliseconds."""
    return time.time_ns() // 1_000_000
