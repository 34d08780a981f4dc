"""Crons of one owner: runs that are repeated by a schedule."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4, uuid5
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter
from pydantic import ValidationError

from thalweg.errors import (
    ConfigError,
    NoSuchThreadError,
    StorageError,
    ThalwegError,
)
from thalweg_server.api.graph_runs import NewCron
from thalweg_server.app.configured import TenantAssistants
from thalweg_server.app.graph_threads import TenantGraphThreads, View, webhook_host
from thalweg_server.app.parts import AppParts, TenantPart
from thalweg_server.app.registry import moment
from thalweg_server.app.runs import TenantGraphRuns, graph_run
from thalweg_server.app.spending import TenantUsage, reached_limit
from thalweg_server.runs.base import RunKey, RunRecord, now_ms
from thalweg_server.runs.crons import CronRecord, PostponedError

if TYPE_CHECKING:
    from thalweg_server.settings.sections import OwnerLimits

LATE_MS = 60_000
"""A due time that is this late has no run if the cron was due again since."""
_MOST_BYTES = 262_144
"""Maximum bytes of a cron's request."""
_PATIENCE_S = 10.0
"""How long runs that a cron cancels may take to end."""
_log = logging.getLogger("thalweg.server.crons")


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron with its request."""

    record: CronRecord
    new: NewCron


class TenantCrons(TenantPart):
    """The crons of one owner."""

    def __init__(self, owner: str, parts: AppParts) -> None:
        super().__init__(owner, parts)
        self._journal = parts.journal
        self._assistants = TenantAssistants(owner, parts.registry.documents, parts.settings)
        self._threads = TenantGraphThreads(owner, parts)
        self._runs = TenantGraphRuns(owner, parts)

    async def list(self) -> Sequence[Cron]:
        """Return all crons, the newest first."""
        return [_read(one) for one in await self._journal.crons(self._owner)]

    async def get(self, id_: str) -> Cron | None:
        """Return one cron."""
        found = await self._journal.crons(self._owner, id_)
        return _read(found[0]) if found else None

    async def create(self, thread: str | None, new: NewCron) -> Cron | None:
        """Store a cron; return `None` if the owner has `MOST_CRONS`.

        Args:
            thread: The thread of its runs; by default each has a new one.
            new: The request.

        Raises:
            NoSuchAssistantError: There is no such assistant.
            NoSuchThreadError: There is no such thread.
            ConfigError: The schedule, the time zone or the webhook is invalid.
        """
        if thread is not None:
            await self._threads.get(thread)
        assistant = await self._assistants.get(new.assistant_id)
        changes = {"assistant_id": assistant.id, "on_run_completed": _completion(thread, new)}
        new = new.model_copy(update=changes)
        now = now_ms()
        id_, due_ms = str(uuid4()), await asyncio.to_thread(first_due, new, now)
        record = CronRecord(self._owner, id_, thread or "", due_ms, self._body(new), now, now)
        return Cron(record, new) if await self._journal.put_cron(record) else None

    async def update(self, id_: str, fields: Mapping[str, Any]) -> Cron | None:
        """Change fields of a cron; `metadata` is merged. Return `None` if there is none.

        Raises:
            ConfigError: The schedule, the time zone or the webhook is invalid.
        """
        while (old := await self.get(id_)) is not None:
            new = NewCron.model_validate({**old.new.model_dump(exclude_unset=True), **fields})
            metadata = {**(old.new.metadata or {}), **(new.metadata or {})}
            completion = _completion(old.record.thread, new)
            changes = {"metadata": metadata, "on_run_completed": completion}
            new = new.model_copy(update=changes)
            due_ms, now = old.record.due_ms, now_ms()
            if _times(new) != _times(old.new):
                due_ms = await asyncio.to_thread(first_due, new, now)
            updated_ms = max(now, old.record.updated_ms + 1)
            record = replace(old.record, due_ms=due_ms, body=self._body(new), updated_ms=updated_ms)
            if await self._journal.put_cron(record, old.record):
                return Cron(record, new)
        return None

    def _body(self, new: NewCron) -> str:
        if new.webhook is not None:
            webhook_host(new.webhook, self._parts.settings().gateway.webhook_hosts)
        body = new.model_dump_json(exclude_unset=True)
        if len(body.encode()) > _MOST_BYTES:
            raise ConfigError(
                "cron", f"it has more than {_MOST_BYTES:,} bytes", "shorten its input"
            )
        return body

    async def delete(self, id_: str) -> bool:
        """Delete a cron; return False if there is none."""
        if (found := await self.get(id_)) is not None:
            await self._journal.delete_cron(found.record)
        return found is not None

    async def fire(self, key: RunKey) -> None:
        """Submit the run of a due time, unless it has one or the cron was changed.

        If no run can start, the reason is logged, and the cron waits for its next due time. A
        cron whose thread is deleted is deleted, too.

        Raises:
            PostponedError: A run that it cancels has not ended, or the owner has too many runs,
                up to the next due time: call it again later.
            ConfigError: The schedule or the time zone is invalid here.
            StorageError: A database failed.
        """
        cron = await self.get(key.thread)
        if cron is None or cron.record.job != key:
            return
        record, now = cron.record, now_ms()
        due_ms = record.due_ms
        if now - due_ms > LATE_MS:
            due_ms = max(due_ms, last_due(cron.new, now))
        next_ms = next_due(cron.new, due_ms)
        try:
            is_fired = await self._start(cron, due_ms, next_ms)
        except (StorageError, PostponedError):
            raise
        except NoSuchThreadError as error:
            if not record.thread:
                raise
            _log.warning("cron %s of %s is deleted: %s", record.id, self._owner, error)
            await self._journal.delete_cron(record)
        except (ThalwegError, ValidationError) as error:
            due = moment(due_ms).isoformat()
            _log.warning("cron %s of %s has no run at %s: %s", record.id, self._owner, due, error)
            await self._journal.skip(record, next_ms)
        else:
            if is_fired:
                await self._runs.delete_temporary()

    async def _start(self, cron: Cron, due_ms: int, next_ms: int) -> bool:
        limits = self._parts.settings().gateway.limits_of(self._owner)
        await self._check_limits(limits, cron.record.id, next_ms)
        record, new = cron.record, cron.new
        run = graph_run(await self._assistants.get(new.assistant_id), new, record.id)
        thread = record.thread or str(uuid5(UUID(record.id), f"thread {due_ms}"))
        await self._runs.prepare(
            thread,
            run,
            new.multitask_strategy or "enqueue",
            creates=not record.thread,
            is_temporary=not record.thread and new.on_run_completed == "delete",
            end=lambda unended: self._end(cron, unended),
        )
        if not record.thread:
            await self._threads.merge(thread, new.metadata or {})
        key = RunKey(self._owner, thread, str(uuid5(UUID(record.id), str(due_ms))))
        most = (limits.runs_at_once, limits.runs_per_minute)
        is_fired = await self._journal.fire(record, next_ms, key, run.model_dump_json(), most)
        current = None if is_fired else await self.get(record.id)
        if current == cron:
            problem = "another run reached a limit of runs first"
            raise PostponedError(record.id, record.id, problem, is_limit=True)
        if not (is_fired or record.thread):  # at the same due time, its job uses the thread
            is_left = current is None or current.record.due_ms != record.due_ms
            if is_left and await self._journal.get(key) is None:
                with suppress(ThalwegError):
                    await self._runs.delete_thread(thread)
        return is_fired

    async def _end(self, cron: Cron, unended: Sequence[RunRecord]) -> None:
        """End runs that were found before, unless one of them may be the cron's own."""
        id_ = cron.record.id
        if await self.get(id_) != cron:
            raise PostponedError(id_, id_, f"cron {id_} was changed since it was read")
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._runs.end(unended)
        except TimeoutError:
            raise PostponedError(id_, id_, f"a run that cron {id_} cancels has not ended") from None

    async def _check_limits(self, limits: "OwnerLimits", id_: str, next_ms: int) -> None:
        """Check the owner's limits before anything is changed for the run.

        Raises:
            PostponedError: The owner has too many runs; the next due time has not come.
            ConfigError: A limit is reached.
        """
        count = partial(self._journal.count_active, self._owner)
        name = await reached_limit(limits, count, TenantUsage(self._owner, self._parts).today)
        if name is None and limits.runs_per_minute is not None:
            earlier = await self._journal.created_at(self._owner, limits.runs_per_minute)
            if earlier is not None and datetime.now(UTC) - earlier < timedelta(minutes=1):
                name = "runs_per_minute"
        if name is not None:
            problem = f"{getattr(limits, name):,} is reached"
            error = ConfigError(f"limits.{name}", problem, "raise it")
            if name in {"runs_at_once", "runs_per_minute"} and not 0 < next_ms <= now_ms():
                raise PostponedError(id_, id_, str(error), is_limit=True)
            raise error


def cron_view(cron: Cron) -> View:
    """Show a cron."""
    record, new = cron.record, cron.new
    payload = new.model_dump(mode="json", exclude_unset=True)
    return {
        "cron_id": record.id,
        "assistant_id": new.assistant_id,
        "thread_id": record.thread or None,
        "user_id": record.owner,
        "schedule": new.schedule,
        "timezone": new.timezone,
        "end_time": payload.get("end_time"),
        "enabled": new.enabled,
        "on_run_completed": new.on_run_completed,
        "metadata": new.metadata or {},
        "payload": payload,
        "next_run_date": moment(record.due_ms).isoformat() if record.due_ms else None,
        "created_at": moment(record.created_ms).isoformat(),
        "updated_at": moment(record.updated_ms).isoformat(),
    }


def next_due(new: NewCron, after_ms: int) -> int:
    """Return the first due time after a time, both in milliseconds since 1970; 0 for none.

    Raises:
        ConfigError: The schedule or the time zone is invalid.

    Example:
        >>> daily = NewCron(assistant_id="agent", schedule="0 9 * * *", timezone="Europe/Berlin")
        >>> next_due(daily, 0), next_due(daily, 28_800_000)
        (28800000, 115200000)
    """
    try:
        due_ms = round(1000 * float(_dates(new, after_ms).get_next(float)))
    except CroniterBadDateError:
        return 0
    return due_ms if due_ms <= _end_ms(new) else 0


def last_due(new: NewCron, now_ms: int) -> int:
    """Return the newest due time up to a time, and to the end of the cron; see `next_due`."""
    return round(1000 * float(_dates(new, min(now_ms, _end_ms(new)) + 1).get_prev(float)))


def first_due(new: NewCron, now_ms: int) -> int:
    """Return when a new cron is due first; 0 if it is not enabled, or ends before.

    Raises:
        ConfigError: The schedule has no date; see also `next_due`.
    """
    due_ms = next_due(new, now_ms)
    if not due_ms and new.end_time is None:
        problem = f"{new.schedule!r} has no date in the next 50 years"
        raise ConfigError("schedule", problem, "change the schedule")
    return due_ms if new.enabled else 0


def _dates(new: NewCron, at_ms: int) -> croniter:
    try:
        zone = ZoneInfo(new.timezone or "UTC")
    except (KeyError, ValueError, OSError):
        fix = "use an IANA name such as Europe/Berlin"
        raise ConfigError("timezone", f"there is no {new.timezone!r}", fix) from None
    try:
        return croniter(new.schedule, datetime.fromtimestamp(at_ms / 1000, zone))
    except ValueError as error:
        fix = "use minute, hour, day, month and weekday, such as */5 * * * *"
        raise ConfigError("schedule", f"{new.schedule!r} is invalid: {error}", fix) from None


def _end_ms(new: NewCron) -> int:
    end = new.end_time or datetime(9999, 1, 1, tzinfo=UTC)
    return round(1000 * (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp())


def _times(new: NewCron) -> tuple[object, ...]:
    return new.schedule, new.timezone, new.end_time, new.enabled


def _completion(thread: str | None, new: NewCron) -> str | None:
    """Return what happens to the threads of runs; a thread that the user made is kept."""
    return None if thread else new.on_run_completed or "delete"


def _read(record: CronRecord) -> Cron:
    return Cron(record, NewCron.model_validate_json(record.body))
