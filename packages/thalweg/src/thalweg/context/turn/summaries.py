"""Summaries of compacted messages by a model: choice of the model, requests, failures, and jobs.

After any failure the deterministic structured summary remains: a run never fails because of a
summary.

A process writes summaries in the background of its runs, each in a thread of its own. A job lasts
as long as the process, not as the event loop of the run that started it: it calls the sync methods
of models, and stores their summaries in the archive. Only unfinished jobs are lost with the
process: see `thalweg.archive.threads.summaries`.
"""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.spending import answer_usage
from thalweg.archive.threads.summaries import StoredSummary, keep_summary, source_digest
from thalweg.context.request.models import limits_for, model_name, provider_of
from thalweg.context.request.refusals import overflow_of
from thalweg.context.turn.effects import UNSEEN_TAGS, Flow, Send, SyncOrAsync, run
from thalweg.engine import summaries
from thalweg.engine.compaction.model_summary import (
    ANSWER_TOKENS,
    MIN_COLD_TOKENS,
    MIN_TOKENS,
    NO_COSTS,
    PROMPT_TOKENS,
    WINDOW_SHARE,
    SummaryAccount,
    first_unsummarized,
    pays_in_place,
    unsummarized_messages,
)
from thalweg.engine.edits import Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.snapshot import Record, with_summary
from thalweg.engine.summaries.summary import Summary, SummaryDefect
from thalweg.engine.tokens import Counter, counter_for, first_calibration, measure
from thalweg.engine.wires.repairs import encodable
from thalweg.errors import ConfigError, SummaryError

MAX_FAILURES = 2
"""After this many failures in a row, no more requests are sent in this turn: each may have been a
timeout."""
MOST_CHUNKS = 16
"""Requests for one summary. They are sent at once, so that a user waits as for one of them."""
LEAST_WORDS, MOST_WORDS = 100, 1_000
"""Length of the summary of one chunk at least, and of all chunks together."""
MAX_SHRINKINGS = 4
"""Most times that chunks are halved because one was too large for the summarizer."""


ReadFolded = Callable[[int, int], Sequence[tuple[int, Message]]]
"""Reads messages that are already folded, from one position to another, with their positions."""


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """Messages for a model to summarize; self-contained, as the thread may continue meanwhile."""

    first: int
    """Position from which all that was folded is summarized."""
    last: int
    """Last position that is folded."""
    older: tuple[tuple[int, Message], ...]
    """Messages of earlier folds that no summary is of, with their positions, oldest first."""
    newer: tuple[tuple[int, Message], ...]
    """Those that the fold takes."""
    source: tuple[Message, ...]
    """The messages that the summary is checked against."""
    live: tuple[AnyMessage, ...] = ()
    """The live request, if asking at its end costs less than sending the originals."""

    @property
    def covered(self) -> list[tuple[int, Message]]:
        """The messages from `first` to `last`; others were kept by earlier folds."""
        shown = (*self.older, *self.newer)
        return [(p, message) for p, message in shown if self.first <= p <= self.last]

    @property
    def digest(self) -> str:
        """The digest of the sources; see `source_digest`."""
        return source_digest(self.covered)


@dataclass(slots=True)
class Summarizer:
    """Asks for the summaries of one turn."""

    policy: ContextPolicy
    named: BaseChatModel | None
    """The model that was named for it; `None` for the agent's own."""
    request: ModelRequest[Any]
    limit: int
    """Tokens of ours that a request to the agent's own model may fill."""
    tariff: Tariff
    is_cold: bool
    """Whether the provider's cache has lost the prefix of the live request."""
    count: Counter
    unread: ReadFolded
    cacheable: Callable[[ModelRequest[Any]], ModelRequest[Any]]
    """Marks a request, so that it is read from the provider's cache if possible."""
    spent: Usage = NO_USAGE
    faults: list[SummaryDefect] = field(default_factory=list)
    """Errors, and omitted content."""
    failures: int = 0
    """Errors in a row."""
    account: SummaryAccount = NO_COSTS
    """Of the thread: whether a summary is requested depends on it."""
    share: float | None = None
    """The share of its costs that summaries may have; `None` for any cost."""

    def summarize(self, engine: Engine, fold: Fold, live: Sequence[AnyMessage]) -> Flow[Fold]:
        """Return a compaction with a summary of the messages that it removes, from the originals.

        Args:
            engine: The thread's engine; the compaction is not committed.
            fold: The compaction.
            live: The live request as it was last sent, up to the last removed message.

        Returns:
            The same compaction if no model wrote a valid summary.
        """
        before, task = self.spent, self.plan(engine, fold, live)
        if task is None:
            return fold
        summary = yield from self.write(task)
        units = self.units(self.spent) - self.units(before)
        self.account = self.account.with_answer(units, is_usable=summary is not None)
        if summary is None:
            return fold
        cost = self.spent.input - before.input, self.spent.output - before.output
        return engine.joined(fold, summary, cost, first=task.first)

    def plan(self, engine: Engine, fold: Fold, live: Sequence[AnyMessage]) -> SummaryTask | None:
        """Plan the summary of the messages of a fold; see `summarize`.

        Messages of folds that were too small for a summary, or whose summary failed, are included.

        Returns:
            `None` if all of it together is too small for one, or if the account of the thread does
            not permit it.
        """
        window, record = engine.window, engine.window.record
        if fold.summary is not None:  # of earlier folds
            summary_end = fold.last if fold.summary_last is None else fold.summary_last
            record = with_summary(record, fold.summary_first or 0, summary_end, fold.summary)
        folded = [
            e
            for position, e in window.entries.items()
            if position <= fold.last and position not in fold.kept
        ]
        tokens = sum(entry.tokens for entry in folded)
        older = self._older(record, tokens)
        older_tokens = self._tokens(older)
        min_tokens = MIN_COLD_TOKENS if self.is_cold and self.named is None else MIN_TOKENS
        if tokens + older_tokens < min_tokens:
            return None
        live_tokens = window.tokens - window.tokens_from(window.end_of(fold.last))
        # After an unusable answer the other way is tried.
        is_in_place = self.account.failures % 2 == 0 and self._pays_in_place(live_tokens, tokens)
        expected = Usage(input=older_tokens + tokens, output=ANSWER_TOKENS)
        if is_in_place:
            expected = Usage(
                input=older_tokens + live_tokens,
                cached=0 if self.is_cold else live_tokens,
                written=live_tokens if self.is_cold else 0,
                output=ANSWER_TOKENS,
            )
        if not self.account.permits(self.units(expected), self.share):
            return None
        quoted = [Message("user", (Text(quote.text),)) for quote in record.requests]
        live_messages = (entry.message for entry in window.entries.values())
        return SummaryTask(
            first=older[0][0] if older else record.last + 1,
            last=fold.last,
            older=tuple(older),
            newer=tuple((entry.position, entry.message) for entry in folded),
            source=(*quoted, *(message for _, message in older), *live_messages),
            live=tuple(live) if is_in_place else (),
        )

    def write(self, task: SummaryTask) -> Flow[Summary | None]:
        """Request a summary.

        If the configured model fails, the agent's own is used. An unusable answer after the live
        request is not requested again from the originals, at their full price.

        Returns:
            The summary; `None` if no model wrote a valid one.
        """
        source = summaries.SummarySource.of(task.source)
        shown = [*task.older, *task.newer]
        answers = (yield from self._ask_separately(self.named, shown)) if self.named else []
        model = self.request.model
        if not answers and task.live:
            in_place_summaries = self._read_summaries(
                (yield from self._ask_in_place(task.live, task.last)), source
            )
            if not in_place_summaries:
                return None
            older_answers = (
                (yield from self._ask_separately(model, task.older)) if task.older else []
            )
            return summaries.merged(
                [*self._read_summaries(older_answers, source), *in_place_summaries]
            )
        if not answers:
            answers = yield from self._ask_separately(model, shown)
        in_place_summaries = self._read_summaries(answers, source)
        return summaries.merged(in_place_summaries) if in_place_summaries else None

    def units(self, usage: Usage) -> float:
        """Return the cost of usage of the summarizer, in units of the model in use."""
        if self.named is None:
            return units_of(usage, self.tariff)
        model, pricing = self.named, self.policy.pricing
        tariff = pricing.of(provider_of(model), model_name(model)).tariff
        ratio = 1.0
        if tariff.base and self.tariff.base and tariff.unit == self.tariff.unit:
            ratio = tariff.base / self.tariff.base
        return units_of(usage, tariff) * ratio

    def _older(self, record: Record, tokens: int) -> list[tuple[int, Message]]:
        first_position = first_unsummarized(record)
        if first_position > record.last:
            return []
        unread = reversed(self.unread(first_position, record.last))
        count = self._counter(self.request.model)
        return unsummarized_messages(unread, tokens, lambda one: measure(one[1], count).tokens)

    def _tokens(self, messages: Sequence[tuple[int, Message]]) -> int:
        count = self._counter(self.request.model)
        return sum(measure(message, count).tokens for _, message in messages)

    def _counter(self, model: BaseChatModel) -> Counter:
        """Return the counter of a model's vocabulary."""
        return counter_for(self.count, model_name(model))

    def _pays_in_place(self, live_tokens: int, folded: int) -> bool:
        """Return whether to ask at the end of the live request; see `pays_in_place`.

        A response format for answers rules it out.
        """
        if self.policy.summary_prompt or self.request.response_format:
            return False
        return pays_in_place(
            self.tariff,
            live_tokens=live_tokens,
            folded_tokens=folded,
            limit=self.limit,
            is_cold=self.is_cold,
            max_request_tokens=self.policy.trim_tokens_to_summarize,
        )

    def _ask_in_place(self, live: Sequence[AnyMessage], last: int) -> Flow[list[AIMessage]]:
        question = HumanMessage(summaries.ask_in_place(last))
        request = self.request.override(messages=[*live, question])
        try:
            response: ModelResponse[Any] = yield Send(self.cacheable(request), tags=UNSEEN_TAGS)
        except GraphBubbleUp:  # not an error: LangGraph's own way out of a step
            raise
        except Exception as error:  # noqa: BLE001 (as below)
            self.failures += overflow_of(error) is None
            self._record_error(error)
            return []
        self.failures = 0
        return self._take_answer(response.result, self.request.model)

    def _ask_separately(
        self, model: BaseChatModel, shown: Sequence[tuple[int, Message]]
    ) -> Flow[list[AIMessage]]:
        """Show originals to a model, in chunks that fit its window.

        Returns:
            Its answers, in order; empty when none came.
        """
        count = self._counter(model)
        asking = count(summaries.ask_for("", custom=self.policy.summary_prompt))
        room = int((self._limit(model) - asking) * WINDOW_SHARE)
        if room < summaries.LEAST_BUDGET:
            detail = (
                f"a request of {self._limit(model)} tokens holds nothing besides {asking} of words"
            )
            self.faults.append(SummaryDefect("no room", detail))
            return []
        budget = max(
            summaries.LEAST_BUDGET, min(room, self.policy.trim_tokens_to_summarize or room)
        )
        for shrinkings_left in reversed(range(MAX_SHRINKINGS)):
            transcripts = self._transcripts(shown, budget, room, count)
            answers, smaller_tokens = yield from self._ask_chunks(model, transcripts)
            if not smaller_tokens or not shrinkings_left:
                return answers
            room = budget = max(summaries.LEAST_BUDGET, min(smaller_tokens, room // 2))
        return []

    def _limit(self, model: BaseChatModel) -> int:
        """Return how many tokens of ours a request to a model may fill."""
        if model is self.request.model:
            return self.limit
        return first_calibration(model_name(model)).lower(limits_for(model, None).input)

    def _transcripts(
        self, shown: Sequence[tuple[int, Message]], budget: int, room: int, count: Counter
    ) -> list[str]:
        transcripts = summaries.chunks(shown, budget, count)
        most = self.policy.summary_requests
        if most is not None and len(transcripts) > most:
            return self._newest_transcripts(shown, budget, most, count)
        while len(transcripts) > MOST_CHUNKS and budget < room:
            mean_tokens = sum(map(count, transcripts)) // MOST_CHUNKS
            budget = min(room, max(mean_tokens, budget) * 9 // 8)
            transcripts = summaries.chunks(shown, budget, count)
        excess = len(transcripts) - MOST_CHUNKS
        if excess > 0:
            detail = f"the oldest {excess} of {len(transcripts)} chunks were not read"
            self.faults.append(SummaryDefect("chunks left out", detail))
        return transcripts[-MOST_CHUNKS:]

    def _newest_transcripts(
        self, shown: Sequence[tuple[int, Message]], budget: int, most: int, count: Counter
    ) -> list[str]:
        """Return the transcripts of as many of the newest messages as so many requests hold."""
        left_out = bisect_left(
            range(len(shown) - 1),
            True,  # noqa: FBT003 (what is looked for)
            key=lambda first: len(summaries.chunks(shown[first:], budget, count)) <= most,
        )
        detail = f"the oldest {left_out} of {len(shown)} messages were not read (summary_requests)"
        self.faults.append(SummaryDefect("chunks left out", detail))
        return summaries.chunks(shown[left_out:], budget, count)[-most:]

    def _ask_chunks(
        self, model: BaseChatModel, transcripts: Sequence[str]
    ) -> Flow[tuple[list[AIMessage], int]]:
        """Ask for the summary of each transcript, all at once.

        Returns:
            The answers; and, where one was too large for the model, the tokens of a smaller one.
        """
        if self.failures >= MAX_FAILURES:
            return [], 0
        words = min(summaries.WORDS, max(LEAST_WORDS, MOST_WORDS // max(1, len(transcripts))))
        custom = self.policy.summary_prompt
        texts = (summaries.ask_for(text, words=words, custom=custom) for text in transcripts)
        requests = [[HumanMessage(encodable(text))] for text in texts]
        results: list[BaseMessage | Exception] = yield _at_once(model, requests)
        answers, smaller_tokens = [], 0
        for text, answer in zip(transcripts, results, strict=True):
            if isinstance(answer, GraphBubbleUp):  # as above
                raise answer
            if not isinstance(answer, Exception):
                answers += self._take_answer([answer], model)
            elif overflow := overflow_of(answer):
                max_tokens = int(((overflow.limit or 0) - PROMPT_TOKENS) * WINDOW_SHARE)
                half = self._counter(model)(text) // 2
                smaller_tokens = max(
                    smaller_tokens, 1, min(half, max_tokens) if max_tokens > 0 else half
                )
                self._record_error(answer)
            else:
                self._record_error(answer)
        self.failures = 0 if answers or smaller_tokens else self.failures + 1
        return answers, smaller_tokens

    def _record_error(self, error: Exception) -> None:
        """Record an error of a model; raise one that reports a wrong setup."""
        if isinstance(error, ConfigError):
            raise error
        detail = f"{type(error).__name__}: {str(error)[:200]}"
        self.faults.append(SummaryDefect(f"failed ({type(error).__name__})", detail))

    def _take_answer(self, result: Sequence[BaseMessage], model: BaseChatModel) -> list[AIMessage]:
        answer = next((m for m in result if isinstance(m, AIMessage)), None)
        if answer is None:
            return []
        self.spent += answer_usage(answer, str(answer.text), model_name(model), self.count)
        return [answer]

    def _read_summaries(
        self, answers: Sequence[AIMessage], source: "summaries.SummarySource"
    ) -> list[Summary]:
        valid: list[Summary] = []
        for answer in answers:
            meta = answer.response_metadata
            finish = str(meta.get("finish_reason") or meta.get("stop_reason") or "")
            try:
                summary, dropped = source.checked(
                    summaries.read_summary(
                        str(answer.text),
                        finish=finish,
                        is_custom=self.policy.summary_prompt is not None,
                    )
                )
            except SummaryError as error:
                self.faults.append(SummaryDefect("refused", str(error)))
            else:
                self.faults += dropped
                valid.append(summary)
        return valid


def _at_once(model: BaseChatModel, prompts: Sequence[Sequence[BaseMessage]]) -> SyncOrAsync:
    """Ask a model several things at once, unseen; the result has each answer or `Exception`."""
    inputs: list[LanguageModelInput] = [list(prompt) for prompt in prompts]
    config: RunnableConfig = {"tags": list(UNSEEN_TAGS), "max_concurrency": max(1, len(inputs))}
    return SyncOrAsync(
        partial(model.batch, inputs, config, return_exceptions=True),
        partial(model.abatch, inputs, config, return_exceptions=True),
    )


MOST_JOBS = 8
"""Summaries that one process writes at once; others wait for them."""
_log = logging.getLogger("thalweg.context")
_FAILED = "thread %s: no usable summary of messages %d-%d: %s"
_LOST = "thread %s: the summary of messages %d-%d could not be stored: %s"


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """A summary to be written, and its place in the archive."""

    archive: Archive
    key: ThreadKey
    task: SummaryTask
    summarizer: Summarizer
    """Used by this job alone."""

    def write(self) -> StoredSummary:
        """Have the summary written; blocks as long as the models take."""
        summarizer = self.summarizer
        try:
            summary = run(summarizer.write(self.task), send_directly)
        except Exception as error:  # noqa: BLE001 (nobody waits for it: the journal has it)
            summary = None
            summarizer.faults.append(
                SummaryDefect(f"failed ({type(error).__name__})", str(error)[:200])
            )
        if summary is None:
            first, last, faults = self.task.first, self.task.last, summarizer.faults
            kinds = "; ".join(dict.fromkeys(fault.kind for fault in faults))
            _log.warning(_FAILED, self.key.thread, first, last, kinds)
        return StoredSummary(summary, summarizer.spent, tuple(summarizer.faults))

    def keep(self, stored: StoredSummary) -> None:
        """Store the written summary, unless the thread was deleted or restarted meanwhile."""
        task = self.task
        messages = self.archive.messages(self.key, task.first, task.last)
        positions = {position for position, _ in task.covered}
        covered = [(p, m) for p, m in enumerate(messages, task.first) if p in positions]
        if source_digest(covered) == task.digest:
            keep_summary(self.archive, self.key, task.digest, stored)


class SummaryJobs:
    """The summaries that are being written; safe to share between threads."""

    def __init__(self) -> None:
        self._running: dict[tuple[ThreadKey, str], Thread] = {}
        self._lock = Lock()
        self._storing = Lock()
        self._slots = BoundedSemaphore(MOST_JOBS)
        self._is_closed = False

    def start(self, job: SummaryJob) -> None:
        """Begin to write a summary, unless it is being written; callbacks are the caller's."""
        job_key = job.key, job.task.digest
        worker = Thread(
            target=copy_context().run, args=(self._work, job), name="thalweg-summary", daemon=True
        )
        with self._lock:
            if self._is_closed or job_key in self._running:
                return
            self._running[job_key] = worker
            worker.start()

    def is_running(self, key: ThreadKey, source: str) -> bool:
        """Return whether the summary of some messages is being written here."""
        with self._lock:
            return (key, source) in self._running

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for all that are being written; return whether all of them are done."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            workers = [*self._running.values()]
        for worker in workers:
            worker.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return not any(worker.is_alive() for worker in workers)

    def close(self) -> None:
        """Keep nothing from now on: the archive is about to be closed.

        Blocks while a summary is being stored.
        """
        with self._storing:
            self._is_closed = True

    def _work(self, job: SummaryJob) -> None:
        try:
            with self._slots:
                stored = None if self._is_closed else job.write()
            with self._storing:
                if stored is not None and not self._is_closed:
                    job.keep(stored)
        except Exception as error:  # noqa: BLE001 (nobody waits for it)
            _log.warning(_LOST, job.key.thread, job.task.first, job.task.last, error)
        finally:
            with self._lock:
                self._running.pop((job.key, job.task.digest), None)


def send_directly(request: ModelRequest[Any]) -> ModelResponse[Any]:
    """Send a request to its model, past the agent's middleware: its run may be over."""
    model, settings = request.model, request.model_settings
    bound = (
        model.bind_tools(request.tools, tool_choice=request.tool_choice, **settings)
        if request.tools
        else model.bind(**settings)
    )
    system = [] if request.system_message is None else [request.system_message]
    return ModelResponse(result=[bound.invoke([*system, *request.messages])])
