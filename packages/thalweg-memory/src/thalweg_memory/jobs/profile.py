"""Rewriting of the profile, only from facts that are valid and trusted."""

from collections.abc import Callable, Mapping, Sequence

from thalweg.engine.tokens import Counter
from thalweg.errors import StaleWriteError
from thalweg_memory.base import Job, MemoryStore
from thalweg_memory.facts.learning.asking import LearnerRequest, ask_for_profile
from thalweg_memory.facts.learning.eviction import value
from thalweg_memory.facts.learning.extraction import Paragraph
from thalweg_memory.facts.learning.lesson import SECTION_CHARS, is_reliable, plan_profile
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, FactId
from thalweg_memory.jobs.events import LEARNER_PREFIX, MOST_RACES, JobReport
from thalweg_memory.jobs.structured import Respondent
from thalweg_memory.store.candidates import standing_facts

FACT_TOKENS = 16
"""Tokens that the name, category and date of a fact add."""


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
        question = ask_for_profile(facts, profile, now=now, max_chars=SECTION_CHARS)
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
                return  # nobody changed anything: the lease ran out
        else:
            report.count(writes)
            return


def _most_valuable(facts: Sequence[Fact], most: int, *, now: str, count: Counter) -> list[Fact]:
    """Pick the facts that a profile is written from, the most valuable that fit."""
    reliable = [fact for fact in facts if is_reliable(fact)]
    reliable.sort(key=lambda fact: (-value(fact, now=now), fact.id))
    kept: list[Fact] = []
    for fact in reliable:
        most -= count(fact.content) + FACT_TOKENS
        if most < 0:
            break
        kept.append(fact)
    return kept


def _answered(
    respondent: Respondent, question: LearnerRequest, report: JobReport
) -> Sequence[Paragraph]:
    """Ask for the sections of a profile, and report the cost of the answer."""
    response = respondent.ask(question, "sections", Paragraph)
    report.spent += response.spent
    report.unreadable += bool(response.answer.problems)
    return response.answer.items
