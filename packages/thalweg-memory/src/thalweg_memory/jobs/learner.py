"""Fact extraction from one thread: its turns since the watermark, in portions, each one commit.

Facts are extracted from each turn exactly once: they and the new watermark are one commit, which
fails as a whole if the memory changed, another worker claimed the thread, or content was forgotten.
The profile is rewritten only from facts that are valid and trusted. A model is asked by schema, by
tool, or in plain words. Each job is one sentence of the logger `thalweg.memory`: counts, reasons
and cost, without any text of a thread. `Worker` performs the jobs of a store on threads.
"""

import json
import logging
import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from typing import Any, Literal
from weakref import ReferenceType, WeakValueDictionary, ref

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata

from thalweg.archive.threads.spending import answer_usage
from thalweg.database.jobs import LEASE_S, POLL_S, JobWorker
from thalweg.engine.pricing.cost import cost_of
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.tracing import trace
from thalweg.engine.undocumented import trace_params
from thalweg.errors import StaleWriteError, ThalwegError
from thalweg_memory.deciding import plan_room, related_facts, similar_facts, standing_facts
from thalweg_memory.facts.learning.lesson import (
    SECTION_CHARS,
    FactCandidate,
    LearningPlan,
    Lesson,
    RequestedRemoval,
    after,
    as_verified,
    candidates,
    contested,
    folded,
    in_order,
    is_known,
    is_reliable,
    nominated,
    plan_learning,
    plan_profile,
    removals,
    unsure_turns,
    verdicts_of,
    verified,
    worth,
)
from thalweg_memory.facts.learning.questions import (
    KNOWN_FACTS,
    Item,
    Kind,
    LearnerRequest,
    Pair,
    Paragraph,
    ParsedAnswer,
    Portion,
    Source,
    answer_schema,
    ask_for_facts,
    ask_for_profile,
    ask_for_verdicts,
    better,
    next_portion,
    proposals_of,
    read_answer,
    smaller,
)
from thalweg_memory.facts.merging import Verdicts
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Change,
    Fact,
    FactId,
    Hide,
    Proposal,
    PutFact,
    RemoveFact,
    Scope,
    Statement,
    WriteSection,
    facts_of,
    local,
    section_path,
)
from thalweg_memory.prompts import prompt
from thalweg_memory.store.records import Clock, Job, Learned, new_fact_id, utc_now
from thalweg_memory.store.tables import MemoryStore

Way = Literal["schema", "default", "tool", "text"]
WAYS: tuple[Way, ...] = ("schema", "default", "tool", "text")
"""`schema`: the provider enforces it. `default`: LangChain's way for this model. `tool`: as the
arguments of a tool. `text`: the schema is part of the prompt."""
_REFUSALS = frozenset({400, 404, 405, 415, 422, 501})
"""HTTP statuses that mean that a request is not understood, and not that it came too soon."""
TRIES = 2
"""Questions, each with one repetition, after which a model that answered none is not asked."""
_log = logging.getLogger("thalweg.memory")
PROBLEMS = 5
"""Problems of an answer that a repeated request lists."""


@dataclass(frozen=True, slots=True)
class StructuredAnswer:
    """What came of one question."""

    answer: ParsedAnswer
    spent: Usage
    text: str
    """As the model wrote it."""


@dataclass(slots=True)
class Respondent:
    """A chat model for questions, and its supported ways of structured output."""

    model: BaseChatModel
    count: Counter
    name: str = ""
    """`provider:name`, for events."""
    _ways: list[Way] = field(default_factory=list)
    """Ways that may work, the best first."""
    _unread: int | None = 0
    """Questions without a readable answer; `None` after the first readable one."""

    def __post_init__(self) -> None:
        """Remove the ways that the model does not support."""
        profile = getattr(self.model, "profile", None)
        holds = isinstance(profile, dict) and profile.get("structured_output") is True
        self._ways = [way for way in WAYS if way != "schema" or holds]
        self.name = self.name or named(self.model)

    def ask(self, question: LearnerRequest, kind: Kind) -> StructuredAnswer:
        """Ask, and retry once if the answer cannot be parsed completely.

        The model's errors are raised, unless another way may succeed.
        """
        sent: list[BaseMessage] = [SystemMessage(question.rules)]
        for request, answered in question.examples:
            sent += HumanMessage(request), AIMessage(answered)
        sent.append(HumanMessage(question.text))
        reply, spent = self._send(sent, kind)
        answer = read_answer(written(reply), kind)
        if not answer.problems:
            return self._counted(StructuredAnswer(answer, spent, written(reply)))
        problem = "; ".join(answer.problems[:PROBLEMS])
        again = HumanMessage(prompt("learn_again").render(problem=problem))
        # As plain text: an answer with tool calls would need their results after it.
        shown = AIMessage(written(reply) or "nothing")
        reply, more = self._send([*sent, shown, again], kind)
        second = read_answer(written(reply), kind)
        return self._counted(StructuredAnswer(better(answer, second), spent + more, written(reply)))

    def _counted(self, response: StructuredAnswer) -> StructuredAnswer:
        """Note whether the model answers in form."""
        if response.answer.is_whole or response.answer.items:
            self._unread = None
        elif self._unread is not None:
            self._unread += 1
            if self.is_unfit:
                _log.warning(
                    "the model %s answered %d questions of memory, none in the form that it was"
                    " asked for: nothing is learned; set memory.model_name to another model",
                    self.name,
                    self._unread,
                )
        return response

    @property
    def is_unfit(self) -> bool:
        """Whether the model never answered in form, and is not asked any more."""
        return self._unread is not None and self._unread >= TRIES

    def _send(self, messages: Sequence[BaseMessage], kind: Kind) -> tuple[AIMessage, Usage]:
        ways = self._ways
        while True:
            try:
                reply = _sent(self.model, messages, ways[0], kind)
            except Exception as error:
                if isinstance(error, NotImplementedError) or _status(error) in _REFUSALS:
                    if len(ways) == 1:
                        raise
                    ways = ways[1:]
                    continue
                self._ways = ways
                if (cut := _cut_off(error)) is None:
                    raise
                reply = cut
            self._ways = ways  # those before it are not supported
            return reply, self._spent(reply)

    def _spent(self, reply: AIMessage) -> Usage:
        return answer_usage(reply, written(reply), self.name, self.count)


def _sent(model: BaseChatModel, messages: Sequence[BaseMessage], way: Way, kind: Kind) -> AIMessage:
    schema = answer_schema(kind)
    if way == "text":
        words = prompt("learn_json").render(schema=json.dumps(schema))
        reply: Any = model.invoke([*messages, HumanMessage(words)])
    else:
        method = {"schema": "json_schema", "tool": "function_calling"}.get(way)
        given = {"method": method} if method else {}
        structured = model.with_structured_output(schema, include_raw=True, **given)
        found: Any = structured.invoke(list(messages))
        reply = found["raw"]
    answer: AIMessage = reply
    return answer


def written(reply: AIMessage) -> str:
    """Return the model's output: the arguments of its tool calls, or its text.

    The lists of several calls are joined. If an argument is no list, the first call is returned.
    """
    calls = [call["args"] for call in reply.tool_calls]
    if calls[1:] and all(isinstance(value, list) for one in calls for value in one.values()):
        names = dict.fromkeys(chain(*calls))
        calls = [{name: [*chain(*(one.get(name, ()) for one in calls))] for name in names}]
    if calls:
        return json.dumps(calls[0], ensure_ascii=False)
    for broken in reply.invalid_tool_calls:
        return broken["args"] or ""
    return str(reply.text)


def _cut_off(error: Exception) -> AIMessage | None:
    """Return the text of an answer that became too long, if a client raises an error for that.

    OpenAI's does for answers that are held to a schema; the error holds the answer so far.
    """
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    text = getattr(getattr(choices[0], "message", None), "content", None) if choices else None
    if not isinstance(text, str):
        return None
    usage = getattr(completion, "usage", None)
    read, wrote = getattr(usage, "prompt_tokens", 0), getattr(usage, "completion_tokens", 0)
    counted = UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
    return AIMessage(text, usage_metadata=counted)


def _status(error: Exception) -> int | None:
    for place in (error, getattr(error, "response", None)):
        status = getattr(place, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def named(model: BaseChatModel) -> str:
    """Return a chat model's name as `provider:name`, as far as its integration has it."""
    params = trace_params(model)
    return f"{params.get('ls_provider', '')}:{params.get('ls_model_name', '')}".strip(":")


EVENT = "thalweg.memory"
"""Type of the events, and name of those in a trace."""
LEARNER_PREFIX = "learned:"
"""Begins the actor of a learner's commits."""
MOST_RACES = 100
"""Maximum plans for one answer. Each retry follows another process's commit."""


@dataclass(slots=True)
class JobReport:
    """What one job did. It is filled in while the job lasts."""

    thread: str
    attempt: int
    turns: int = 0
    """Turns that were learned from."""
    proposed: int = 0
    refused: Tally[str] = field(default_factory=Tally)
    """Proposals that came to nothing, by why."""
    changed: Tally[str] = field(default_factory=Tally)
    """Changes that were made: statuses of facts, `dropped`, `section`."""
    confidences: list[float] = field(default_factory=list)
    """Those of the facts that were written."""
    sections: list[str] = field(default_factory=list)
    """Names of the sections of the profile that were written, as in the document."""
    place: str = ""
    """Where the memory is: a path or an address without a password."""
    races: int = 0
    """How often another writer changed the memory first."""
    unreadable: int = 0
    """Answers of which something could not be read."""
    skipped: int = 0
    """Turns that were passed over, since no answer about them could ever be read."""
    spent: Usage = NO_USAGE
    cost: float | None = None
    """Cost of the calls in the tariff's unit; `None` if no price is available."""
    failed: str = ""
    """Class of the error that ended it; empty if it completed."""
    retry_s: float | None = None

    def count(self, changes: Iterable[Change]) -> None:
        """Count changes that were made."""
        for change in changes:
            match change:
                case PutFact(fact):
                    self.changed[fact.status] += 1
                    self.confidences.append(fact.confidence)
                case RemoveFact():
                    self.changed["dropped"] += 1
                case WriteSection():
                    self.changed["section"] += 1
                    self.sections.append(section_path(change.name))
                case Hide():
                    self.changed["hidden"] += 1


ReportHandler = Callable[[JobReport], None]


def emit(report: JobReport) -> None:
    """Log and trace a job."""
    event = event_of(report)
    level = logging.WARNING if report.failed or report.skipped else logging.INFO
    _log.log(level, "%s", sentence(report), extra={"thalweg": event})
    if report.changed and report.place:
        _log.debug("thread %s: memory persisted to %s", report.thread, report.place)
    trace(event)


def event_of(report: JobReport) -> dict[str, Any]:
    """Make the event of a job: plain values that JSON can hold."""
    spent = report.spent
    kept = {one.name: getattr(report, one.name) for one in fields(report)}
    del kept["place"], kept["spent"]
    return {
        **kept,
        "type": EVENT,
        "refused": dict(report.refused),
        "changed": dict(report.changed),
        "model": spent.model,
        "calls": spent.calls,
        "input_tokens": spent.input,
        "cached_tokens": spent.cached,
        "output_tokens": spent.output,
    }


def sentence(report: JobReport) -> str:
    """Return a report as one line for a person."""
    made = ", ".join(f"{n} {what}" for what, n in sorted(report.changed.items())) or "no change"
    why = ", ".join(f"{n} {what}" for what, n in sorted(report.refused.items()))
    sure = ", ".join(f"{confidence:g}" for confidence in report.confidences)
    sections, spent = ", ".join(report.sections), report.spent
    text = (
        f"thread {report.thread}: learned from {report.turns} turns: {made}"
        f"{f' (confidence: {sure})' if sure else ''}"
        f"{f'; updated {sections}' if sections else ''}"
        f"{f'; not taken: {why}' if why else ''}"
        f"; {spent.calls} calls, {spent.input} tokens in, {spent.output} out"
    )
    if report.cost is not None:
        text += f", {report.cost:.4f}"
    if report.failed:
        text += f"; it failed ({report.failed}), again in {report.retry_s:.0f} s"
    return text


FACT_TOKENS = 16
"""Tokens that the name, category and date of a fact add."""
SHRINK_AFTER, SKIP_AFTER = 2, 6
"""Attempts after which portions become smaller; and after which a turn is skipped whose answers
could not be parsed. It remains among the turns for recall."""
AROUND = 40
"""Turns before and after a portion that the gates are shown."""
FIRST_S, MOST_S = 30.0, 3_600.0
NO_MODEL_S = 600.0
"""Until a thread is looked at again that no model was there to learn from."""
TURN_S = 60.0
"""Seconds after which a job begins no other portion: another thread's job, or the end of the
process, comes first."""


def write_profile(
    store: MemoryStore,
    respondent: Respondent,
    job: Job,
    settings: MemorySettings,
    clock: Callable[[], str],
    report: JobReport,
) -> None:
    """Rewrite the profile of a scope.

    Sections whose facts are no longer valid are removed in any case; the others are written if the
    settings enable it.
    """
    now = clock()
    profile = store.profile(job.scope)
    known = standing_facts(store, job.scope, profile)
    facts = _most_valuable(known, settings.learn_tokens, now=now, count=respondent.count)
    paragraphs: Sequence[Paragraph] = ()
    names: Mapping[str, FactId] = {}
    if facts and settings.profile:
        today = local(now, settings.time_zone)
        question = ask_for_profile(facts, profile, now=today, max_chars=SECTION_CHARS)
        items = _asked(respondent, question, "sections", report).answer.items
        paragraphs = [one for one in items if isinstance(one, Paragraph)]
        names = question.names
    for _ in range(MOST_RACES):
        with store.view(job.scope):
            version = store.version(job.scope)
            profile = store.profile(job.scope)
            cited = {id_ for section in profile.sections for id_ in section.cites}
            current = store.facts(job.scope, ids=sorted({*cited, *names.values()}))
        writes = plan_profile(paragraphs, names, current, profile, now=now)
        if not writes:
            return
        try:
            store.commit(
                job.scope,
                writes,
                expected=version,
                actor=f"{LEARNER_PREFIX}{respondent.name}",
                now=clock(),
                why="profile",
                lease=job.lease,
            )
        except StaleWriteError:
            report.races += 1
            if store.version(job.scope) == version:
                return  # the memory is unchanged: the claim is void
        else:
            report.count(writes)
            return


def _most_valuable(facts: Sequence[Fact], most: int, *, now: str, count: Counter) -> list[Fact]:
    """Pick the facts that a profile is written from, the most valuable that fit."""
    reliable = [fact for fact in facts if is_reliable(fact, now)]
    kept: list[Fact] = []
    for fact in sorted(reliable, key=lambda fact: worth(fact, now=now), reverse=True):
        most -= count(fact.content) + FACT_TOKENS
        if most < 0:
            break
        kept.append(fact)
    return kept


def _asked(
    respondent: Respondent, question: LearnerRequest, kind: Kind, report: JobReport
) -> StructuredAnswer:
    """Ask a model, and report the cost of its answer."""
    response = respondent.ask(question, kind)
    report.spent += response.spent
    report.unreadable += bool(response.answer.problems)
    return response


class UnreadableError(ThalwegError):
    """A model's answer holds nothing that can be read."""

    code = "memory.unreadable"


@dataclass(frozen=True, slots=True)
class _PortionWork:
    """A portion of a job, and the memory as it was when the learner was asked."""

    portion: Portion
    job: Job
    respondent: Respondent
    report: JobReport
    facts: list[Fact]
    """Those that the turns may relate to; all active ones, if these are few."""
    operation: int
    """The newest commit then."""


@dataclass(frozen=True, slots=True)
class _AskedFacts:
    """A question for facts, its answer, and the proposals in it."""

    question: LearnerRequest
    answered: str
    proposals: Sequence[Proposal]


@dataclass(frozen=True, slots=True)
class _Judged:
    """The results of the gates for a portion, and a model's verdicts on them."""

    made: Sequence[FactCandidate] = ()
    removed: Sequence[RequestedRemoval] = ()
    unsure: frozenset[str] = frozenset()
    """Turns that are recalled no more: see `unsure_turns`."""
    refused: Sequence[str] = ()
    verdicts: Verdicts = field(default_factory=dict)


@dataclass(slots=True)
class Learner:
    """Learns from the threads of one store."""

    store: MemoryStore
    respondent: Respondent | None
    """Who is asked. Without one nothing is learned, and every job waits."""
    settings: MemorySettings = field(default_factory=MemorySettings)
    clock: Clock = utc_now
    new_id: Callable[[], FactId] = new_fact_id
    count: Counter = field(default_factory=exact_counter)
    emit: ReportHandler = emit
    tariff: Tariff | None = None
    """The model's prices, if available."""

    def learn(self, job: Job) -> JobReport:
        """Run a job to its end, and return it to the store.

        After any error, the job is returned to continue later from its current position.
        """
        report = JobReport(job.thread, job.attempt)
        try:
            self._learn(job, report)
        except Exception as error:  # noqa: BLE001 (a model may raise anything; the job is durable)
            report.failed = type(error).__name__
            report.retry_s = backoff_s(job.attempt)
        report.cost = cost_of(report.spent, self.tariff)
        report.place = self.store.place
        self.store.finish(job, now=self.clock(), retry_s=report.retry_s)
        self.emit(report)
        return report

    def _learn(self, job: Job, report: JobReport) -> None:
        if not self._may_learn(job):
            return
        if self.respondent is None or self.respondent.is_unfit:
            report.retry_s = NO_MODEL_S
            return
        end = time.monotonic() + TURN_S
        while (portion := self._next(job)) is not None:
            if report.turns and time.monotonic() > end:
                # The rest is a job of its own, submitted before this one ends.
                now = self.clock()
                self.store.note(job.scope, job.thread, now=now, debounce_s=0, max_wait_s=0)
                return
            if not self._learn_from(portion, job, self.respondent, report):
                report.retry_s = 0.0
                return
        # A job that failed or was killed may have changed facts before.
        if report.changed.keys() - {"quarantined", "hidden"} or job.attempt > 1:
            write_profile(self.store, self.respondent, job, self.settings, self.clock, report)

    def _may_learn(self, job: Job) -> bool:
        settings = self.settings
        if not settings.enabled or settings.read_only:
            return False
        return self.store.mode(job.scope, job.thread) == "on"

    # -- one portion -----------------------------------------------------------------------

    def _next(self, job: Job) -> Portion | None:
        """Read the next portion of a thread; `None` where all was learned from."""
        settings = self.settings
        for _ in range(max(0, job.attempt - SHRINK_AFTER)):
            settings = smaller(settings)
        learned = self.store.learned(job.scope, job.thread)
        first = max(0, learned - settings.overlap_turns)
        turns = self._turns(job, first)
        before = [turn for turn in turns if turn.seq < learned]
        new = turns[len(before) :]
        return next_portion(before, new, settings=settings, count=self.count) if new else None

    def _learn_from(
        self, portion: Portion, job: Job, respondent: Respondent, report: JobReport
    ) -> bool:
        """Process a portion; return `False` if another worker has the thread."""
        newest = self._newest(job)
        texts = [turn.text for turn in portion.turns]
        facts = related_facts(self.store, job.scope, texts, all_up_to=KNOWN_FACTS)
        work = _PortionWork(portion, job, respondent, report, facts, newest)
        judged = _Judged()
        if portion.learnable:
            try:
                asked = self._ask(work)
            except UnreadableError:
                if job.attempt < SKIP_AFTER or len(portion.learnable) > 1:
                    raise
                report.skipped += len(portion.learnable)
            else:
                report.proposed += len(asked.proposals)
                judged = self._judge(work, asked)
        report.refused.update(judged.refused)
        return self._commit(work, judged)

    def _newest(self, job: Job) -> int:
        newest = self.store.operations(job.scope, limit=1)
        return newest[0].id if newest else 0

    def _ask(self, work: _PortionWork) -> _AskedFacts:
        portion, report = work.portion, work.report
        known = [fact for fact in work.facts if is_known(fact)]
        answer_tokens = self.settings.answer_tokens
        question = ask_for_facts(portion, known, answer_tokens=answer_tokens, count=self.count)
        response = _asked(work.respondent, question, "facts", report)
        if not response.answer.is_whole and not response.answer.items:
            raise UnreadableError(*response.answer.problems)
        items = [one for one in response.answer.items if isinstance(one, Item)]
        proposals, refused = proposals_of(items, portion, question.names)
        report.refused.update(refused)
        return _AskedFacts(question, response.text, proposals)

    def _judge(self, work: _PortionWork, asked: _AskedFacts) -> _Judged:
        """Pass proposals through the gates, and ask once whose they are, and what they touch."""
        proposals = asked.proposals
        if not proposals:
            return _Judged()
        lesson = Lesson(self.settings, self.clock(), self._writer, self.new_id)
        known = {fact.id: fact for fact in work.facts}
        learnable = work.portion.learnable
        turns = self._around(work)
        made, refused = candidates(proposals, turns, learnable, lesson, work.facts)
        gone = self.store.is_forgotten(work.job.scope, [one.fact.statement for one in made])
        refused += ["forgotten"] * sum(gone)
        left = [one for one, is_gone in zip(made, gone, strict=True) if not is_gone]
        removed = removals(proposals, turns, learnable, known)
        unsure = unsure_turns(proposals, turns, self.settings)
        verdicts, own = self._verdicts(work, left, asked)
        left = [
            replace(one, fact=as_verified(one.fact)) if one.fact.id in own else one for one in left
        ]
        return _Judged(in_order(left, verdicts), removed, unsure, refused, verdicts)

    def _around(self, work: _PortionWork) -> list[Statement]:
        """Return a portion's turns and those around it, which show its meaning."""
        turns = work.portion.turns
        first = max(0, turns[0].seq - AROUND)
        return self._turns(work.job, first, turns[-1].seq + AROUND)

    def _turns(self, job: Job, first: int, last: int | None = None) -> list[Statement]:
        """Read turns of the thread, each with the time zone of its author."""
        zone = self.settings.time_zone
        turns = self.store.turns(job.scope, job.thread, first, last)
        return [turn if turn.zone else replace(turn, zone=zone) for turn in turns]

    def _verdicts(
        self, work: _PortionWork, made: Sequence[FactCandidate], asked: _AskedFacts
    ) -> tuple[Verdicts, set[FactId]]:
        """Ask how candidates relate to facts, and which of them the user stated.

        If the answer cannot be parsed, all of them are kept side by side, and quoted.
        """
        new = [one for one in made if one.fact.status == "active"]
        if not new:
            return {}, set()
        near: dict[FactId, Fact] = {}
        for one in new:
            there = {fact.id: fact for fact in work.facts}
            text = f"{one.fact.statement} {one.fact.value}"
            there |= {f.id: f for f in similar_facts(self.store, work.job.scope, text, most=20)}
            near |= {f.id: f for f in nominated(one, [*there.values()]) if is_known(f)}
        known = sorted(near.values(), key=lambda fact: (fact.observed_at, fact.id))
        question = ask_for_verdicts(
            asked.question, asked.answered, work.portion, [one.fact for one in new], known
        )
        response = _asked(work.respondent, question.request, "verdicts", work.report)
        items = response.answer.items
        pairs = [one for one in items if isinstance(one, Pair)]
        sources = [one for one in items if isinstance(one, Source)]
        verdicts = verdicts_of(pairs, question.new, question.request.names, question.planted)
        verdicts = contested(verdicts, sources, question.new, new)
        return verdicts, verified(sources, question.new, question.planted)

    def _commit(self, work: _PortionWork, judged: _Judged) -> bool:
        """Commit the facts of a portion; plan again after each conflict."""
        job, report = work.job, work.report
        for _ in range(MOST_RACES):
            with self.store.view(job.scope):
                version = self.store.version(job.scope)
                reached = self._reached(work.portion, job)
                if reached is None:
                    return False
                learned, learnable = reached
                plan = self._plan(work, judged, learnable)
            try:
                self.store.commit(
                    job.scope,
                    plan.changes,
                    expected=version,
                    actor=self._writer,
                    now=self.clock(),
                    why="learned",
                    learned=learned,
                    lease=job.lease,
                )
            except StaleWriteError:
                report.races += 1
                if self.store.version(job.scope) == version:
                    return False  # the memory is unchanged: the claim is void
                continue
            report.turns += learned.upto - learned.expected
            report.refused.update(plan.refused)
            report.count(plan.changes)
            return True
        return False

    def _reached(self, portion: Portion, job: Job) -> tuple[Learned, frozenset[str]] | None:
        """Return the watermark after a portion, and which of its turns still exist.

        Returns:
            `None` if another worker processed it, or all of it was forgotten.
        """
        learned = self.store.learned(job.scope, job.thread)
        uids = {turn.uid for turn in portion.turns}
        left = self.store.turns(job.scope, job.thread, learned)
        remaining = [turn for turn in left if turn.uid in uids]
        if not remaining:
            return None
        may = portion.learnable & {turn.uid for turn in remaining}
        return Learned(job.thread, learned, remaining[-1].seq + 1), may

    def _plan(self, work: _PortionWork, judged: _Judged, learnable: frozenset[str]) -> LearningPlan:
        """Plan on the memory as it is now: turns may have been taken out since."""
        scope = work.job.scope
        made = [one for one in judged.made if _rests_on(one.fact, learnable)]
        removed = [one for one in judged.removed if one.uid in learnable]
        hidden: list[Change] = []
        if judged.unsure:
            uids = tuple(sorted(judged.unsure))
            hidden.append(Hide("it was stated with too little confidence", uids=uids))
        if not made and not removed:
            refused = ("its turn was removed",) * len(judged.made)
            return LearningPlan(tuple(hidden), refused)
        ids = {fact.id for fact in work.facts} | {one.id for one in removed}
        ids |= {id_ for of in judged.verdicts.values() for id_ in of}
        ids |= {
            fact.id
            for one in made
            for fact in similar_facts(self.store, scope, one.fact.statement, most=20)
        }
        facts = self.store.facts(scope, ids=sorted(ids), statuses=None)
        waiting = any(one.fact.status == "quarantined" for one in made)
        if waiting:
            facts += self.store.facts(scope, statuses=("quarantined",), limit=KNOWN_FACTS)
        plan = plan_learning(
            made,
            facts,
            verdicts=judged.verdicts,
            removed=removed,
            facts_before=work.facts,
            settled=self._settled(work, facts),
        )
        room = plan_room(self.store, scope, plan.changes, self.settings, self.clock())
        gone = ("its turn was removed",) * (len(judged.made) - len(made))
        changes = folded([*plan.changes, *room, *hidden])
        return LearningPlan((*changes, *self._stale(scope, changes)), (*plan.refused, *gone))

    def _stale(self, scope: Scope, changes: Sequence[Change]) -> Sequence[Change]:
        """Plan to remove the sections of the profile that cite facts which changes end."""
        profile = self.store.profile(scope)
        cited = sorted({id_ for section in profile.sections for id_ in section.cites})
        facts = after(self.store.facts(scope, ids=cited), changes)
        return plan_profile((), {}, facts, profile, now=self.clock())

    def _settled(self, work: _PortionWork, facts: Sequence[Fact]) -> set[FactId]:
        """Find the facts that a person changed or took out since the learner was asked."""
        there = {fact.id for fact in facts}
        settled = {fact.id for fact in work.facts if fact.id not in there}
        newer = self._newest(work.job) - work.operation
        for operation in self.store.operations(work.job.scope, limit=newer) if newer > 0 else ():
            if not operation.actor.startswith(LEARNER_PREFIX):
                settled |= facts_of(operation.changes)
        return settled

    @property
    def _writer(self) -> str:
        return f"{LEARNER_PREFIX}{self.respondent.name if self.respondent else ''}"


def _rests_on(fact: Fact, uids: Collection[str]) -> bool:
    return any(each.uid in uids for each in fact.evidence)


def backoff_s(attempt: int) -> float:
    """Return the seconds that a job waits after a failed attempt; `attempt` is from 1.

    Example:
        >>> [backoff_s(attempt) for attempt in (1, 2, 3, 40)]
        [30.0, 60.0, 120.0, 3600.0]
    """
    return min(MOST_S, FIRST_S * (1 << min(attempt - 1, 20)))


_GIVEN_UP_S = 3_600.0


class Worker(JobWorker[Job]):
    """Learns from the due threads of a store; see `thalweg.database.jobs.JobWorker`.

    Jobs of different threads run concurrently, those of one thread never.

    Args:
        store: The store of the jobs.
        learn: Performs one; see `Learner.learn`.
        threads: Number of concurrent jobs.
        clock: Returns the time in place of the database.
        wait: See the base class.
        lease_s: See the base class.
        poll_s: See the base class.
        rests: See the base class.
    """

    def __init__(
        self,
        store: MemoryStore,
        learn: Callable[[Job], object],
        *,
        threads: int = 2,
        clock: Clock | None = None,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        rests: bool = False,
    ) -> None:
        super().__init__(
            _LearningQueue(store, learn, clock, lease_s), "memory", threads=threads, wait=wait,
            lease_s=lease_s, poll_s=poll_s, rests=rests,
        )  # fmt: skip


class _LearningQueue:
    """The queue of the threads to learn from."""

    def __init__(
        self,
        store: MemoryStore,
        learn: Callable[[Job], object],
        clock: Clock | None,
        lease_s: float,
    ) -> None:
        self._store, self._learn, self._clock, self._lease_s = store, learn, clock, lease_s

    def claim(self, worker: str) -> Job | None:
        now = None if self._clock is None else self._clock()
        return self._store.lease(worker=worker, now=now, lease_s=self._lease_s)

    def renew(self, worker: str, job: Job) -> None:
        self._store.renew(job, worker=worker, lease_s=self._lease_s)

    def perform(self, job: Job) -> None:
        _log.debug("thread %s: learning from its new turns", job.thread)
        self._learn(job)

    def fail(self, job: Job) -> None:
        now = (self._clock or utc_now)()
        self._store.finish(job, now=now, retry_s=backoff_s(job.attempt))

    def give_up(self, job: Job) -> None:
        """Postpone a job: its turns are not lost, and may be learned by another version."""
        self._store.finish(job, now=(self._clock or utc_now)(), retry_s=_GIVEN_UP_S)

    def wait_s(self) -> float | None:
        return self._store.wait_s(None if self._clock is None else self._clock())


_LOCK = threading.Lock()
_WORKERS: WeakValueDictionary[int, Worker] = WeakValueDictionary()
"""By the identity of their stores, which they hold."""


def background(
    store: MemoryStore,
    model: BaseChatModel,
    settings: MemorySettings | None = None,
    *,
    tariff: Tariff | None = None,
    emit: ReportHandler = emit,
) -> Worker:
    """Return this process's worker for a store; call its `wake` when a turn was recorded.

    It has threads only while there are jobs, and another process resumes unfinished ones. A store
    of `open_memory` ends it when it is closed; stop it before any other store is closed.

    Args:
        store: The store of the jobs.
        model: The model to call. The first one passed for a store serves all callers.
        settings: Likewise.
        tariff: The model's prices, if available.
        emit: Called with the report of every job.
    """
    with _LOCK:
        worker = _WORKERS.get(id(store))
        if worker is None:
            count = exact_counter()
            learner = Learner(
                store,
                Respondent(model, count),
                settings or MemorySettings(),
                count=count,
                emit=emit,
                tariff=tariff,
            )
            worker = Worker(store, learner.learn, rests=True)
            _WORKERS[id(store)] = worker
            store.before_close(partial(_end, ref(worker)))
        return worker


def _end(reference: ReferenceType[Worker]) -> None:
    worker = reference()  # the worker refers to its store
    if worker is not None:
        worker.stop()
