"""Fact extraction from one thread: its turns since the watermark, in portions, each one commit.

Facts are extracted from each turn exactly once: they and the new watermark are one commit, which
fails as a whole if the memory changed, another worker claimed the thread, or content was forgotten.
The profile is rewritten only from facts that are valid and trusted.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thalweg.engine.pricing.cost import cost_of
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.errors import StaleWriteError, ThalwegError
from thalweg_memory.base import Clock, Job, Learned, new_fact_id, utc_now
from thalweg_memory.deciding import plan_room, related_facts, similar_facts, standing_facts
from thalweg_memory.facts.days import local
from thalweg_memory.facts.learning.extraction import Item, Pair, Paragraph, Source, proposals_of
from thalweg_memory.facts.learning.learner_prompt import (
    KNOWN_FACTS,
    LearnerRequest,
    Portion,
    ask_for_facts,
    ask_for_profile,
    ask_for_verdicts,
    next_portion,
    smaller,
)
from thalweg_memory.facts.learning.lesson import (
    SECTION_CHARS,
    FactCandidate,
    LearningPlan,
    Lesson,
    RequestedRemoval,
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
from thalweg_memory.facts.merging.planning import Verdicts
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Change, Fact, FactId, Hide, Proposal, Statement, facts_of
from thalweg_memory.jobs.events import (
    LEARNER_PREFIX,
    MOST_RACES,
    JobReport,
    ReportHandler,
    emit,
)
from thalweg_memory.jobs.structured import Respondent
from thalweg_memory.store.tables import MemoryStore

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
        paragraphs, names = _answered(respondent, question, report), question.names
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


def _answered(
    respondent: Respondent, question: LearnerRequest, report: JobReport
) -> Sequence[Paragraph]:
    """Ask for the sections of a profile, and report the cost of the answer."""
    response = respondent.ask(question, "sections")
    report.spent += response.spent
    report.unreadable += bool(response.answer.problems)
    return [one for one in response.answer.items if isinstance(one, Paragraph)]


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
    vectors: Mapping[FactId, bytes] = field(default_factory=dict)
    """Of the contents; they are made once, and not while a snapshot is read."""


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
        if report.changed.keys() - {"quarantined", "hidden"}:
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
        response = work.respondent.ask(question, "facts")
        report.spent += response.spent
        report.unreadable += bool(response.answer.problems)
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
        vectors = {one.fact.id: self.store.vector(one.fact.statement) for one in left}
        return _Judged(in_order(left, verdicts), removed, unsure, refused, verdicts, vectors)

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
        response = work.respondent.ask(question.request, "verdicts")
        work.report.spent += response.spent
        work.report.unreadable += bool(response.answer.problems)
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
            for fact in similar_facts(
                self.store, scope, one.fact.statement, vector=judged.vectors[one.fact.id], most=20
            )
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
        return LearningPlan(folded([*plan.changes, *room, *hidden]), (*plan.refused, *gone))

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
