"""One model call, from the state of an agent to the answer: the flow of `ContextMiddleware`."""

import logging
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from thalweg.archive.threads.journal import GivenAnswer, TurnRecord
from thalweg.archive.threads.session import Retry
from thalweg.archive.threads.summaries import is_lost, source_digest, stored_summary
from thalweg.context.ready_tools import OwnTools
from thalweg.context.request.cache_marks import is_anthropic
from thalweg.context.request.last_check import (
    Ceilings,
    LastCheck,
    Overhead,
    RequestGuard,
    RequestSize,
    SizeRefusal,
    TooLarge,
)
from thalweg.context.request.messages import (
    TargetModel,
    is_own,
    is_text_only,
    merge_changes,
    parse_message,
    read_state,
    target_model_of,
    without_thinking,
)
from thalweg.context.request.models import (
    BodyTransform,
    KnownModel,
    ModelLimits,
    known_model,
    with_kept_settings,
    with_transforms,
)
from thalweg.context.request.refusals import (
    ALTERNATION,
    Overflow,
    Rejection,
    overflow_of,
    plan_repair,
    refuses_tools,
    rejection_of,
)
from thalweg.context.turn.additions import INSERTS_KEY, Inserts, inserts_of, listed_additions
from thalweg.context.turn.effects import Flow, Send
from thalweg.context.turn.events import (
    TurnReport,
    count_edits,
    emit_rejection,
    emit_repairs,
    emit_turn,
    report_assumptions,
)
from thalweg.context.turn.provider_editing import CLEAR_TOOL_USES, EDITING_FIELD, ProviderEdits
from thalweg.context.turn.summaries import ReadFolded, Summarizer, SummaryJob, SummaryTask
from thalweg.context.turn.threads import AgentRun, OpenThread, SessionPool
from thalweg.engine.additions import AdditionSize, with_instructions
from thalweg.engine.compaction.model_summary import SummaryAccount
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.compaction.provider_edits import (
    COMPACTED_BY_PROVIDER,
    compaction_index,
    min_compaction_tokens,
    plan_received,
    unseen_tokens,
)
from thalweg.engine.edits import Edit, Fold, PendingSummary
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.matching import Priced
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import NO_USAGE
from thalweg.engine.tokens import (
    Calibration,
    Counter,
    counter_for,
    exact_counter,
    first_calibration,
)
from thalweg.engine.window.binding import binds_thinking, is_binding_refusal
from thalweg.engine.window.items import has_compaction, is_signed, text_for_tool
from thalweg.engine.window.rejected import REFUSED, plan_plain
from thalweg.engine.wires.fields import unpack
from thalweg.engine.wires.langchain import WIRE
from thalweg.errors import (
    ConflictError,
    RefusedError,
    RejectedRequestError,
    ThalwegError,
    WindowExceededError,
)

if TYPE_CHECKING:
    from thalweg.context.deferral.tool_layout import ToolLayout


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
        key, has_record = session.key, self.open.has_record(self.sessions.policy)

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


ATTEMPTS = 6
"""Most attempts to send one request; each one is smaller."""
ANSWER_SHARE = 0.25
"""Most of another model's window that is kept free for its answer."""
INPUT_TOKENS, CACHED_TOKENS = "thalweg_input_tokens", "thalweg_cached_tokens"
"""Metadata of a call for callbacks: the request's own count, and how much may be cached."""
_SECTION_LABELS = {"added": "added by other middleware"}
"""Labels of sections of the ledger whose own names are not clear."""
_log = logging.getLogger("thalweg.requests")
_BINDS_LOG = (
    "%s refused reasoning that is bound to another conversation: it is removed from requests "
    "when its prefix changes; the provider's message: %s"
)
_TOOLLESS_LOG = (
    "%s takes no tools: requests have none of ours from now on, and what is removed from them "
    "cannot be read back there; the server's message: %s"
)
_LEARNED_LOG = "%s accepts less than assumed, %s from now on; it refused a request: %s"


def _describe(ceilings: Ceilings) -> str:
    limits = (
        (ceilings.window, "tokens with the answer"),
        (ceilings.bytes, "bytes"),
        (ceilings.media, "images and documents"),
    )
    return ", ".join(f"at most {limit} {unit}" for limit, unit in limits if limit is not None)


NOTE_CHARS = 2_000
"""Most characters of the journal's note on the defects of a summary."""
_COMPACTING = ("anthropic", "openai-responses")
"""Clients whose providers compact within a request."""
_WITHOUT_SUMMARY = (REFUSED, COMPACTED_BY_PROVIDER)
"""Compactions whose summary would be refused, or is the provider's."""


def take_turn(
    sessions: SessionPool,
    request: ModelRequest[Any],
    config: RunnableConfig,
    tools: Sequence[BaseTool],
) -> Flow[ExtendedModelResponse[Any]]:
    """Make a request fit, and send it; `tools` are ours that the agent can execute."""
    turn = _Turn(sessions, request, sessions.run(config, request.state), tools)
    turn.report_assumptions()
    yield from turn.prepare()
    response = yield from turn.send()
    return turn.settle(response)


@dataclass(slots=True)
class _Turn:
    sessions: SessionPool
    request: ModelRequest[Any]
    run: AgentRun
    registered: Sequence[BaseTool]
    """Our tools."""
    own: OwnTools = field(init=False)
    model: KnownModel = field(init=False)
    limits: ModelLimits = field(init=False)
    count: Counter = field(init=False)
    priced: Priced = field(init=False)
    tariff: Tariff = field(init=False)
    """Prices of the model in use."""
    tools_for: tuple[bool, bool] = field(init=False)
    """Whether its tools are those of a request with references."""
    overhead: Overhead = field(init=False)
    inserts: Inserts | None = field(init=False)
    open: OpenThread = field(init=False)
    target: TargetModel = field(init=False)
    layout: "ToolLayout | None" = None
    """Its tools, sorted, where tools are deferred."""
    pending: PendingSummaries = field(init=False)
    viewed: ModelRequest[Any] = field(init=False)
    """The request with the view of the thread, as the turn was entered."""
    ceilings: Ceilings = field(default_factory=Ceilings)
    """Limits that hold in this turn alone."""
    refusals: list[SizeRefusal] = field(default_factory=list)
    attempts: int = 0
    tried: str = ""
    """How the request was repaired after its content was refused; empty before."""
    is_toolless: bool = False
    """Whether tools were refused in this turn."""
    rejected: str = ""
    """The provider's words, if it refused the repaired request as well."""
    _repairs: Sequence[Edit] = ()

    def __post_init__(self) -> None:
        policy = self.sessions.policy
        self.model = known_model(
            self.request.model,
            window=policy.window,
            max_output=policy.max_output,
            ignores_profile=policy.tools == "on",
        )
        if self.model.with_late_system is not None:
            self.request = self.request.override(model=self.model.with_late_system)
        self.limits = self.model.limits
        self.count = counter_for(self.sessions.count, self.limits.model)
        self.priced = self.sessions.price(self.model.provider, self.limits.model)
        self.tariff = self.priced.tariff
        is_taken = self.model.takes_tools and self.limits.model not in self.sessions.toolless
        self.own = OwnTools.of(self.request, self.registered, policy, is_taken=is_taken)
        self.inserts = inserts_of(self.request) if INSERTS_KEY in self.request.state else None

    def _set_tools(self) -> None:
        """Set the tools of the request, with ours if it has references, and count them."""
        refers = self.open.refers(edits_on_server=self.sessions.edits_on_server)
        self.tools_for = refers, self.own.is_taken
        self.request = self.request.override(tools=self.own.sent(refers=refers))
        tools, later = self._lay_out_tools()
        last = self.sessions.overheads.get(self.count)
        self.overhead = Overhead.of(self.request, self.count, tools, later, last)
        self.sessions.overheads[self.count] = self.overhead
        self.open.set_overhead(self.overhead)

    def _lay_out_tools(self) -> tuple[Sequence[Any], Sequence[Any]]:
        policy = self.sessions.policy
        if policy.defer_tools == "off" or self.own.recall is None:
            return self.request.tools, ()
        from thalweg.context.deferral.tool_layout import lay_out_tools  # noqa: PLC0415 (if used)

        self.layout = lay_out_tools(
            self.request, policy, self.tariff, self.limits.window, self.count
        )
        self.request = self.request.override(tools=[*self.layout.bound])
        return self.layout.prefix, self.layout.later

    def report_assumptions(self) -> None:
        """Report once the assumptions about a model: its window, and the prices if used."""
        model, policy = self.limits.model, self.sessions.policy
        if model not in self.sessions.assumed and not self.model.is_stand_in:
            priced = self.priced if policy.weighs_prices else None
            report_assumptions(self.limits, priced, self.request.runtime)
        self.sessions.assumed.add(model)

    def prepare(self) -> Flow[None]:
        """Log the messages, plan, and enter the turn; retry if another run was first.

        Raises:
            ConflictError: Other runs were first at each attempt.
        """
        retry = Retry()
        while True:
            try:
                self._acquire_thread()
                requested = bool(self.request.state.get("thalweg_compact"))
                yield from self._plan(requested=requested, repairs=self._plan_rejected_removal())
            except ConflictError as conflict:
                retry.spend(conflict)
            else:
                return

    def _acquire_thread(self) -> None:
        self.open = self.sessions.open(self.run, self.limits.model)
        session, engine = self.open.session, self.open.session.engine
        self.sessions.sync(self.open, self.run)
        limits = self.limits
        budget = self.sessions.budget(limits.window, limits.output, limits.model)
        if (learned := self.sessions.ceilings.get(limits.model)) is not None:
            budget = learned.under(budget)
        engine.budget = self.ceilings.under(budget) if self.refusals else budget
        engine.speak_to(self.limits.model)
        engine.binds = (
            binds_thinking(self.limits.model) or self.limits.model in self.sessions.binding
        )
        engine.calibration = session.calibrations.get(self.limits.model) or (
            first_calibration(
                self.limits.model, (item.message.text for item in reversed(engine.window.items))
            )
            if self.sessions.count is exact_counter()
            else Calibration()
        )
        if isinstance(engine.policy, RentOrBuy):
            engine.policy.tariff = self.tariff
        self._set_target()
        self._set_tools()
        if self.inserts is not None:
            engine.window.set_inserts(self.inserts.read(), self.inserts.of_memory)
        elif engine.window.inserts:
            engine.window.set_inserts({})
        self._leave_to_provider()

    def _set_target(self) -> None:
        role, known = self.sessions.policy.summary_role, self.open.target
        key = self.model, {**self.request.model_settings}
        if known is None or known[:2] != key:
            known = self.open.target = *key, target_model_of(self.request, self.limits.model)
        *_, self.target = known
        self.open.writer.speak_to(self.target, self.own.reference, role)

    @property
    def _provider_clears(self) -> bool:
        """Whether the provider clears old results: only for models that bind their reasoning."""
        policy = self.sessions.policy
        requested = policy.clear_on_server or policy.compaction == "provider"
        return requested and self.open.session.engine.binds and is_anthropic(self.request.model)

    def _leave_to_provider(self) -> None:
        """Set whether we or the provider edit the next request; count the results last cleared."""
        engine, uses, clears = self.open.session.engine, 0, self._provider_clears
        if isinstance(engine.policy, RentOrBuy):
            engine.policy.provider_clears = clears
            engine.policy.provider_compacts = self._compaction_minimum()
        if clears:
            uses, _ = cleared_uses(self.request.state["messages"])
        if uses or self.open.clearing.cleared:
            engine.window.settle()
            self.open.clearing.resume(engine.window, uses)

    def _compaction_minimum(self) -> int | None:
        """Return the fewest tokens that the provider compacts; `None` if we compact."""
        if self.sessions.policy.compaction == "ours":
            return None
        fewest = min_compaction_tokens(self.target.model, self.target.client)
        limit = RentOrBuy.FULL * self.open.session.engine.budget.limit
        return fewest if fewest is not None and fewest < limit else None

    def _plan_received_fold(self) -> Sequence[Edit]:
        """Plan the reported compaction of everything before an answer of the target model."""
        engine, index = self.open.session.engine, self._received_index()
        fold = None if index is None else plan_received(engine.planning_context(), index)
        if index is None or fold is None:
            return ()
        read, written = compaction_cost(engine.window.items[index].message)
        return [replace(fold, summary_input=read, summary_output=written)]

    def _provider_transform(self, *, is_continued: bool) -> BodyTransform | None:
        """Return the function that asks the provider for edits in a request's body.

        Args:
            is_continued: Whether the thread continues from this request: no other one is compacted.

        Returns:
            `None` for a client without such edits.
        """
        if self.target.client not in _COMPACTING:
            return None
        engine, index = self.open.session.engine, self._received_index()
        self.open.unseen = (0, 0) if index is None else unseen_tokens(engine.window, index)
        is_compacted = (
            is_continued
            and isinstance(engine.policy, RentOrBuy)
            and engine.policy.requests_compaction
        )
        kept = self.open.clearing.kept(engine.window) if self._provider_clears else None
        return ProviderEdits(kept, engine.window.tokens if is_compacted else None).transform

    def _received_index(self) -> int | None:
        """Return the index of the newest item that the target model compacted; `None` for none."""
        window, may_compact = self.open.session.engine.window, self.target.client in _COMPACTING
        index = compaction_index(window) if may_compact else None
        if index is None or is_own(window.items[index].message, self.target):
            return index
        return None

    def _plan(self, *, requested: bool = False, repairs: Sequence[Edit] = ()) -> Flow[None]:
        """Plan and commit edits, with the external results that they need, and enter the turn."""
        engine = self.open.session.engine
        is_cold = self._is_cold()
        engine.window.settle()
        if self._provider_clears:
            limit = engine.budget.limit
            self.open.clearing.plan(engine.window, self.tariff, limit, is_cold=is_cold)
        sent, before = list(engine.window.items), engine.window.tokens
        self.pending = PendingSummaries(self.sessions, self.open, self.tariff, self._read_folded)
        repairs = [*repairs, *self._plan_received_fold()]
        if is_cold and self.sessions.policy.summarize and self.sessions.policy.writes_in_background:
            repairs = [*repairs, *self.pending.plan_early()]
        steps = engine.steps(cold=is_cold, is_requested=requested, repairs=repairs)
        summarizer = self._summarizer(is_cold=is_cold)
        edits = yield from self._commit_edits(steps, summarizer)
        edits += yield from self._view_with_tools(summarizer, is_cold=is_cold)
        last_tokens = sum(self.open.session.page.tokens.values())
        changed = self.open.overhead_changed(self.overhead)
        same = 0 if changed else engine.window.shared_tokens(sent)
        self._enter(edits, summarizer, min(last_tokens, same), is_cold=is_cold)
        self.pending.start(summarizer)
        if not self.open.session.page.edits:
            return
        report = TurnReport(
            key=self.run.key,
            page=self.open.session.page,
            tariff=self.tariff,
            before=before,
            after=engine.window.tokens,
            last=last_tokens,
            messages=len(engine.window.items),
            messages_before=len(sent),
            window=self.limits.window,
            thresholds=getattr(engine.policy, "reached", ()),
            faults=tuple(summarizer.faults),
            allowed=self.open.session.page.account.allowed(summarizer.share),
        )
        emit_turn(report, self.request.runtime)

    def _commit_edits(
        self, steps: Generator[Sequence[Edit], Sequence[Edit] | None], summarizer: Summarizer
    ) -> Flow[list[Edit]]:
        edits: list[Edit] = []
        try:
            batch = next(steps)
            while True:
                batch = yield from self._with_summaries(batch, summarizer)
                edits += batch
                batch = steps.send(batch)
        except StopIteration:
            return edits
        except WindowExceededError as error:
            self.open.session.write()
            raise self._exceeded(error) from error

    def _view_with_tools(self, summarizer: Summarizer, *, is_cold: bool) -> Flow[list[Edit]]:
        """Make the view, with our tools if it has a reference; shrink it if they do not fit."""
        self.viewed, old_overhead = self._view(), self.overhead
        refers = self.open.refers(edits_on_server=self.sessions.edits_on_server)
        if (refers, self.own.is_taken) == self.tools_for:
            return []
        self._set_tools()
        if self.overhead == old_overhead:
            return []
        edits = yield from self._commit_edits(
            self.open.session.engine.steps(cold=is_cold), summarizer
        )
        self.viewed = self._view()
        return edits

    def _plan_rejected_removal(self) -> Sequence[Edit]:
        """Plan to remove the content that a provider refused last, and its repair (I43)."""
        session = self.open.session
        messages = self.run.messages
        begins_run = bool(messages) and messages[-1].role == "user"
        if not self.tried and not (begins_run and session.last_rejection()):
            return ()
        return plan_plain(session.engine.planning_context())

    def _summarizer(self, *, is_cold: bool) -> Summarizer:
        engine = self.open.session.engine
        return Summarizer(
            policy=self.sessions.policy,
            named=self.sessions.summarizer,
            request=self.request,
            limit=engine.calibrated_budget.limit,
            tariff=self.tariff,
            is_cold=is_cold,
            count=self.sessions.count,
            unread=self._read_folded,
            cacheable=partial(self._cacheable, is_continued=False),
            account=self.open.session.page.account,
            share=self.sessions.allowed_share,
        )

    def _read_folded(self, first: int, last: int) -> list[tuple[int, Message]]:
        """Read the thread's messages from one position to another, but for the live ones."""
        session = self.open.session
        session.write()
        live, first = session.engine.window.entries, max(first, session.engine.window.systems)
        logged = enumerate(session.archive.messages(session.key, first, last), first)
        return [(p, m) for p, m in logged if p in session.line and p not in live]

    def _with_summaries(
        self, batch: Sequence[Edit], summarizer: Summarizer
    ) -> Flow[Sequence[Edit]]:
        if not self.sessions.policy.summarize:
            return batch
        improved: list[Edit] = []
        for edit in batch:
            if isinstance(edit, Fold) and edit.reason not in _WITHOUT_SUMMARY:
                improved.append((yield from self._with_summary(edit, summarizer)))
            else:
                improved.append(edit)
        return improved

    def _with_summary(self, fold: Fold, summarizer: Summarizer) -> Flow[Fold]:
        engine = self.open.session.engine
        items = engine.window.items[: engine.window.end_of(fold.last)]
        live = self.open.writer.write(items, engine.window.rewrites)
        if self.sessions.policy.writes_in_background:
            return self.pending.plan(fold, summarizer, live)
        return (yield from summarizer.summarize(engine, fold, live))

    def _is_cold(self) -> bool:
        """Return whether a miss of the provider's cache is expected for the prefix."""
        page, lifetime = self.open.session.page, self.tariff.lifetime_s
        is_expired = lifetime is not None and time.time() - page.at > lifetime
        return (
            is_expired
            or page.model != self.limits.model
            or self.open.overhead_changed(self.overhead)
        )

    def _enter(
        self, edits: Sequence[Edit], summarizer: Summarizer, same: int, *, is_cold: bool
    ) -> None:
        session = self.open.session
        additions, system_tokens = tuple[AdditionSize, ...](), self.overhead.system_tokens
        if system_tokens or self.inserts is not None:
            positions = session.engine.window.insert_positions
            listed = listed_additions(self.request, positions, self.count)
            additions = tuple(with_instructions(listed, system_tokens))
        (system, tools, tariff), attachments = self.open.attachments(self.overhead, self.tariff)
        is_same_model = session.page.model == self.limits.model
        tokens = {k: n for k, n in session.engine.window.ledger.tokens.items() if n}
        page = TurnRecord(
            kind="call",
            at=time.time(),
            length=session.length,
            model=self.limits.model,
            window=self.limits.window,
            limit=session.engine.budget.limit,
            tokens=tokens,
            system=system,
            tools=tools,
            tariff=tariff,
            same=same,
            is_cold=is_cold,
            spent=summarizer.spent if summarizer.spent.calls else None,
            account=self._account(edits, summarizer, sum(tokens.values()), 0 if is_cold else same),
            note="; ".join(map(str, summarizer.faults))[:NOTE_CHARS],
            cleared=cleared_uses(self.request.state["messages"]),
            repairs=self.open.last_check.take(session.page.length if is_same_model else 0),
            additions=additions,
        )
        session.enter(page, edits, attachments)
        if session.page.repairs:
            emit_repairs(session.key, session.page, self.request.runtime)

    def _account(
        self, edits: Sequence[Edit], summarizer: Summarizer, tokens: int, cached: int
    ) -> SummaryAccount:
        """Return the account of summaries after a turn of so many tokens."""
        session, account = self.open.session, summarizer.account
        if any(isinstance(edit, Fold) for edit in edits) and not self.pending.is_planned:
            account = account.with_pass()
        entries = session.engine.window.entries
        last = next((e for e in reversed(entries.values()) if e.message.role == "assistant"), None)
        return account.with_request(
            self.tariff,
            tokens,
            cached=min(cached, tokens),
            freed=sum(map(attrgetter("freed"), edits)),
            limit=session.engine.budget.limit,
            answered=last.tokens if last and last.position >= session.page.length else 0,
        )

    def send(self) -> Flow[ModelResponse[Any]]:
        """Send the request; after a refusal, send a smaller or a repaired one.

        Raises:
            WindowExceededError: What cannot be compacted is larger than the provider accepts.
            RejectedRequestError: The provider refused its content, and its repair.
        """
        try:
            while True:
                response = yield from self._attempt()
                if response is not None:
                    return response
                yield from self._plan_again()
        except BaseException as error:  # a cancelled run, too
            self._enter_run_end(is_cut=not isinstance(error, Exception))
            raise

    def _attempt(self) -> Flow[ModelResponse[Any] | None]:
        """Send the request.

        Returns:
            `None` if it was refused. If it was too large, the thread's budget is lower now, to plan
            with again; if its content was refused, the next plan begins with its repairs.

        Raises:
            WindowExceededError: That was the last attempt.
            RejectedRequestError: Its content was refused, and nothing can be changed, or the
                repaired request was refused as well.
        """
        engine = self.open.session.engine
        budget, window = engine.calibrated_budget, engine.window
        limit = budget.limit + window.tokens - budget.tokens_to_fit(window.ledger)
        guard = RequestGuard(engine.count, self.open.last_check, limit, engine.model, self.overhead)
        self.attempts += 1
        size = self.open.session.page.usage
        metadata = {INPUT_TOKENS: size.input, CACHED_TOKENS: size.cached}
        request = self._cacheable(self.viewed)
        try:
            response: ModelResponse[Any] = yield Send(request, (guard,), metadata=metadata)
        except TooLarge:
            self.open.learn_overhead(guard.tokens)
            if self.attempts >= ATTEMPTS:
                raise self._exceeded() from None
        except GraphBubbleUp:  # not an error: LangGraph's own way out of a step
            raise
        except Exception as error:
            model = guard.model or self.limits.model
            if refuses_tools(error):  # the user's own tools are refused as they are without us
                if self.is_toolless or not self.viewed.tools or self.own.others:
                    raise
                self.is_toolless = True
                self.sessions.toolless.add(model)
                _log.warning(_TOOLLESS_LOG, model, str(error)[:200])
            elif not self._adapt(error, model):
                raise
        else:
            self.open.learn_overhead(guard.tokens)
            self._observe(response, guard)
            return response
        return None

    def _adapt(self, error: Exception, model: str) -> bool:
        """Change the thread after a refusal; return whether another attempt makes sense."""
        overflow = overflow_of(error)
        if overflow is None:
            rejection = rejection_of(error, model)
            if rejection is not None:
                self._repair(rejection, error)
            return rejection is not None
        self._shrink(overflow, model, str(error))
        if self.attempts >= ATTEMPTS:
            raise self._exceeded() from error
        return True

    def _repair(self, rejection: Rejection, error: Exception) -> None:
        """Plan the repair of a request whose content was refused; there is one in a turn."""
        session, key = self.open.session, self.open.session.key
        engine, turn = session.engine, session.page.turns
        if is_binding_refusal(rejection.message) and rejection.model not in self.sessions.binding:
            self.sessions.binding.add(rejection.model)
            _log.warning(_BINDS_LOG, rejection.model, rejection.message[:200])
        is_alternation = ALTERNATION.words.search(rejection.message) is not None
        if is_alternation and rejection.model not in self.sessions.alternating:
            self.sessions.alternating.add(rejection.model)
            emit_rejection(key, turn, rejection, ALTERNATION, (), self.request.runtime)
            return
        cause_and_edits = None if self.tried else plan_repair(rejection, engine)
        if cause_and_edits is None:
            self.rejected = rejection.message
            model, status, message = rejection.model, rejection.status, rejection.message
            raise RejectedRequestError(model, status, message, self.tried, key.thread) from error
        cause, self._repairs = cause_and_edits
        self.tried = f"{count_edits(self._repairs)} ({cause.name})"
        emit_rejection(key, turn, rejection, cause, self._repairs, self.request.runtime)

    def _shrink(self, overflow: Overflow, model: str, message: str) -> None:
        """Make the next request smaller, after a refusal by the provider or by our own check."""
        engine = self.open.session.engine
        calibration = self._calibrate(model, overflow.counted)
        if calibration.factor > engine.calibration.factor:
            engine.calibration = calibration  # until the thread is taken for the next turn
        ledger = engine.window.ledger
        size = RequestSize.of(ledger, calibration, overflow.counted)
        earlier_refusals = len(self.refusals)
        self.refusals.append(SizeRefusal(model, overflow, size, message))
        budget = engine.budget
        if model != self.limits.model and overflow.limit:  # its answers are of its own size
            output = min(budget.output, int(overflow.limit * ANSWER_SHARE))
            budget = budget.model_copy(update={"max_output": output})
        self.ceilings = self.ceilings.lowered(
            overflow, ledger, budget, engine.calibration, earlier_refusals
        )
        engine.budget = self.ceilings.under(budget)

    def _observe(self, response: ModelResponse[Any], guard: RequestGuard) -> None:
        model, counted = guard.model or self.limits.model, None
        for message in response.result:
            if isinstance(message, AIMessage):
                answer = None if is_text_only(message) else parse_message(message)
                self._record_answer(model, message, answer, guard)
                is_compacted = answer is not None and has_compaction(answer)
                if message.usage_metadata and not is_compacted:
                    counted = message.usage_metadata["input_tokens"]
        calibration = self._calibrate(model, counted)
        engine = self.open.session.engine
        old_ceilings = self.sessions.ceilings.get(model, Ceilings())
        refusals = [refusal for refusal in self.refusals if refusal.model == model]
        if not refusals and old_ceilings == Ceilings():
            return
        accepted = RequestSize.of(engine.window.ledger, calibration, counted)
        new_ceilings = old_ceilings.learned(refusals, accepted, engine.budget.output)
        if new_ceilings != old_ceilings:
            self.sessions.ceilings[model] = new_ceilings
        if refusals and new_ceilings != old_ceilings:
            _log.warning(_LEARNED_LOG, model, _describe(new_ceilings), refusals[-1].message[:200])

    def _record_answer(
        self, model: str, message: AIMessage, answer: Message | None, guard: RequestGuard
    ) -> None:
        """Record in the thread the model of an answer, and the binding of its reasoning."""
        session, bond = self.open.session, ""
        if answer is not None and is_signed(answer):
            bond = str(session.engine.bond(read_state(guard.behind)))
        session.answers.came(GivenAnswer(message.id or "", model, bond))

    def _calibrate(self, model: str, counted: int | None) -> Calibration:
        session, engine = self.open.session, self.open.session.engine
        calibration = session.calibrations.get(model) or first_calibration(model)
        if counted:
            ledger, (unseen, unseen_media) = engine.window.ledger, self.open.unseen
            calibration = calibration.observe(
                estimated=ledger.total - unseen,
                reported=counted,
                slack=ledger.slack,
                media=ledger.media_tokens - unseen_media,
            )
            session.calibrations[model] = calibration
            if model == self.limits.model:
                engine.calibration = calibration
        return calibration

    def _exceeded(self, engine_error: WindowExceededError | None = None) -> WindowExceededError:
        """Return the error that explains why nothing smaller can be sent.

        Args:
            engine_error: The error of the engine, which counts in our tokens.
        """
        engine = self.open.session.engine
        as_provider_counts = engine.calibration.upper
        sections = sorted(engine.window.ledger.tokens.items(), key=lambda pair: -pair[1])
        parts = tuple(
            f"{_SECTION_LABELS.get(name, name)} {as_provider_counts(tokens)} tokens"
            for name, tokens in sections
            if tokens
        )
        if not self.refusals:
            if engine_error is not None and engine_error.unit != "tokens":
                return WindowExceededError(
                    engine_error.needed, engine_error.window, parts, engine_error.unit
                )
            needed = as_provider_counts(engine.window.tokens)
            return WindowExceededError(needed, engine.budget.limit, parts, "tokens")
        last = self.refusals[-1]
        return RefusedError(
            last.overflow.counted or last.size.tokens,
            last.overflow.limit or engine.budget.limit,
            parts,
            "tokens",
            kind=last.overflow.kind,
            model=last.model,
            message=last.message,
        )

    def _plan_again(self) -> Flow[None]:
        """Plan with the effects of a refusal; if another run came in between, from its result."""
        self.own.is_taken = self.own.is_taken and not self.is_toolless
        self._set_target()
        repairs, self._repairs = self._repairs, ()
        try:
            yield from self._plan(repairs=repairs)
        except ConflictError:
            yield from self.prepare()

    def _enter_run_end(self, *, is_cut: bool) -> None:
        """Write to the journal that the run has ended, so that it does not count as active."""
        repairs, rejected = self.open.last_check.take(0), self.rejected
        with suppress(ThalwegError):
            self.open.session.enter_end(repairs=repairs, rejected=rejected, is_cut=is_cut)

    def _view(self) -> ModelRequest[Any]:
        """Return the request with the view of the thread for the state's messages, checked."""
        engine, writer = self.open.session.engine, self.open.writer
        view = writer.write(engine.window.items, engine.window.rewrites)
        reference_name = self.own.reference
        self.open.last_check.expect(
            writer.written,
            lambda p: text_for_tool(engine.planning_context().pointer(p), reference_name),
            reference_name,
        )
        original = self.request.messages
        if self.inserts is not None:
            original = self.inserts.without(original)
        messages = merge_changes(self.request.state["messages"], original, view)
        request = self.request.override(messages=messages)
        request = without_thinking(request) if writer.lacks_thinking else request
        self.open.last_check.foresee(request, self.target)
        return request

    def _cacheable(
        self, request: ModelRequest[Any], *, is_continued: bool = True
    ) -> ModelRequest[Any]:
        if request.tools and not self.own.others and request.response_format is None:
            request = request.override(model=with_kept_settings(request.model))
        refers = self.open.refers(edits_on_server=self.sessions.edits_on_server)
        recall = self.own.recall if refers else None
        self.open.last_check.alternates = self.limits.model in self.sessions.alternating
        marks = None
        if self.sessions.policy.prompt_caching and self.target.client != "other":
            marks = self.open.cache_marker.transform(
                request.model,
                self.run.key,
                self.tariff,
                has_record=self.open.has_record(self.sessions.policy),
                is_continued=is_continued,
            )
        deferral = self.layout.transform if self.layout is not None else None
        provider = self._provider_transform(is_continued=is_continued)
        request = with_transforms(request, deferral, provider, marks)
        return self.open.last_check.request(request, recall, self.target)

    def settle(self, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
        """Return the thread to the pool for the next turn, and return the changes of the state.

        Raises:
            DeletedThreadError: The thread was deleted while the model answered.
        """
        session = self.open.session
        if self.run.keeps_state:
            session.check_exists()
        session.is_running = True
        if self.inserts is not None:
            self.inserts.sent({*session.engine.window.insert_positions}, self.sessions)
        self.sessions.put_back(self.open)
        update: dict[str, Any] = {}
        if mark := self.open.mark:
            update["thalweg_turn"] = mark
        if newest_answer := session.answers.newest:
            update["thalweg_model"] = newest_answer.model
        if self.request.state.get("thalweg_compact"):
            update["thalweg_compact"] = False
        if self.layout is not None:
            update |= self.layout.update(self.request.state)
        return ExtendedModelResponse(response, Command(update=update))


def cleared_uses(messages: Sequence[AnyMessage]) -> tuple[int, int]:
    """Return the tool uses and tokens that the API cleared from the request of the last answer."""
    last_answer = next(
        (message for message in reversed(messages) if isinstance(message, AIMessage)), None
    )
    report = last_answer.response_metadata.get(EDITING_FIELD) if last_answer is not None else None
    edits = report.get("applied_edits") if isinstance(report, Mapping) else None
    for edit in edits or ():
        if isinstance(edit, Mapping) and edit.get("type") == CLEAR_TOOL_USES:
            uses, tokens = edit.get("cleared_tool_uses"), edit.get("cleared_input_tokens")
            return int(uses or 0), int(tokens or 0)
    return 0, 0


def compaction_cost(message: Message) -> tuple[int, int]:
    """Return the tokens that Anthropic's API read and wrote to compact, apart from the answer's.

    Zeros if the client does not pass them on, as for a streamed answer.
    """
    usage: object = unpack(message.extra, WIRE).get("response_metadata")
    for name in ("usage", "iterations"):
        usage = usage.get(name) if isinstance(usage, Mapping) else None
    steps = usage if isinstance(usage, list) else []
    compactions = [s for s in steps if isinstance(s, Mapping) and s.get("type") == "compaction"]
    return (
        sum(int(step.get(name) or 0) for step in compactions for name in _INPUT_FIELDS),
        sum(int(step.get("output_tokens") or 0) for step in compactions),
    )


_INPUT_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
