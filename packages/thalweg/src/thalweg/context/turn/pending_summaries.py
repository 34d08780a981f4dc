"""Background summaries in one turn: shown once they are written, and requested.

A thread has one pending summary at a time. A compaction that finds it written shows it, and
requests one of its own messages; an earlier compaction keeps it pending, and its messages are
summarized with those of the next compaction.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AnyMessage

from thalweg.archive.threads.summaries import is_lost, source_digest, stored_summary
from thalweg.context.request.checked_model import with_transforms
from thalweg.context.request.last_check import LastCheck
from thalweg.context.turn.open_thread import OpenThread
from thalweg.context.turn.session_pool import SessionPool
from thalweg.context.turn.summaries import ReadFolded, Summarizer, SummaryTask
from thalweg.context.turn.summary_jobs import SummaryJob
from thalweg.engine.edits import Fold, PendingSummary
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import NO_USAGE


@dataclass(slots=True)
class PendingSummaries:
    """The pending summary of a thread, in one turn."""

    sessions: SessionPool
    open: OpenThread
    tariff: Tariff
    folded: ReadFolded
    _job: SummaryJob | None = None
    """The summary to be started once the turn is entered."""

    @property
    def is_planned(self) -> bool:
        """Whether a summary is requested in this turn."""
        return self._job is not None

    def plan_early(self) -> list[Fold]:
        """Plan to show the pending summary in the current structured summary, if it is written.

        For a turn in which a cache miss is expected: the cache writes the whole request again
        anyway. Reasoning that is bound to its prefix would be lost.
        """
        session, fold = self.open.session, self.open.session.engine.window.fold
        if fold is None or fold.pending is None or session.engine.binds:
            return []
        stored = stored_summary(session.archive, session.key, fold.pending.source)
        if stored is None or stored.summary is None:
            return []
        refolded = session.engine.plan_record_rerender(
            "a summary is ready, and the cache has expired"
        )
        return [refolded] if refolded else []

    def plan(self, fold: Fold, summarizer: Summarizer, live: Sequence[AnyMessage]) -> Fold:
        """Let a fold show the pending summary if it is written, and plan the next summary.

        Args:
            fold: The fold; it is not committed.
            summarizer: Of the turn: the cost of the pending summary is charged to it.
            live: The live request as it was last sent, and the messages since.
        """
        fold = self._join_written(fold, summarizer)
        if fold.pending is not None:
            return fold
        live_messages = () if self.open.added else live  # a job does not know what others add
        task = summarizer.plan(self.open.session.engine, fold, live_messages)
        if task is None:
            return fold
        self._job = self._make_job(task, summarizer)
        pending = PendingSummary(task.first, task.last, task.digest, time.time())
        return replace(fold, pending=pending)

    def _join_written(self, fold: Fold, summarizer: Summarizer) -> Fold:
        """Join the pending summary of a compaction if it is written; discard one that was lost."""
        pending, session = fold.pending, self.open.session
        if pending is None:
            return fold
        stored = stored_summary(session.archive, session.key, pending.source)
        if stored is None:
            is_summary_lost = not self._is_running(pending) and is_lost(pending, time.time())
            return replace(fold, pending=None) if is_summary_lost else fold
        fold = replace(fold, pending=None)
        summarizer.spent += stored.spent
        summarizer.faults += stored.faults
        summarizer.account = summarizer.account.with_answer(
            summarizer.units(stored.spent), is_usable=stored.summary is not None
        )
        first, last = pending.first, pending.last
        is_same = source_digest(self.folded(first, last)) == pending.source
        if stored.summary is None or not is_same:
            return fold
        cost = stored.spent.input, stored.spent.output
        return session.engine.joined(fold, stored.summary, cost, first=first, last=last)

    def start(self, summarizer: Summarizer) -> None:
        """Start to write the planned summary, or one that was lost with its process.

        Call it once the turn is entered. A lost summary is restarted after the thread was opened.
        """
        fold = self.open.session.engine.window.fold
        pending = fold.pending if fold else None
        if pending != self.open.pending and pending and self._needs_restart(pending):
            task = self._make_task(pending)
            if task.digest == pending.source:
                self._job = self._make_job(task, summarizer)
        self.open.pending = pending
        if self._job is not None:
            self.sessions.jobs.start(self._job)

    def _needs_restart(self, pending: PendingSummary) -> bool:
        policy, session = self.sessions.policy, self.open.session
        return (
            policy.summarize
            and policy.writes_in_background
            and is_lost(pending, time.time())
            and not self._is_running(pending)
            and not session.archive.summary(session.key, pending.source)
        )

    def _is_running(self, pending: PendingSummary) -> bool:
        return self.sessions.jobs.is_running(self.open.session.key, pending.source)

    def _make_task(self, pending: PendingSummary) -> SummaryTask:
        folded = self.folded(pending.first, pending.last)
        requests = self.open.session.engine.window.record.requests
        quoted = (Message("user", (Text(quote.text),)) for quote in requests)
        return SummaryTask(
            first=pending.first,
            last=pending.last,
            older=tuple(folded),
            newer=(),
            source=(*quoted, *(message for _, message in folded)),
        )

    def _make_job(self, task: SummaryTask, summarizer: Summarizer) -> SummaryJob:
        """Make the job that writes a summary, with nothing of the thread that a turn changes."""
        session, check, marking = self.open.session, LastCheck(), replace(self.open.cache_marker)
        key, has_record = session.key, session.engine.window.fold is not None

        def cacheable(request: ModelRequest[Any]) -> ModelRequest[Any]:
            request = check.request(request)
            if not self.sessions.policy.prompt_caching:
                return request
            marks = marking.transform(
                request.model, key, self.tariff, has_record=has_record, is_continued=False
            )
            return with_transforms(request, marks)

        job_summarizer = replace(
            summarizer, cacheable=cacheable, spent=NO_USAGE, faults=[], failures=0
        )
        return SummaryJob(session.archive, key, task, job_summarizer)
