"""Laws of learning: the watermark only rises, and every turn is learned from exactly once."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from memory_tests.learning import Clock, answer, learner, say
from thalweg_memory.facts.learning.lesson import (
    Lesson,
    after,
    candidates,
    plan_eviction,
    plan_learning,
    plan_profile,
)
from thalweg_memory.facts.learning.questions import Paragraph
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Fact,
    FactId,
    Profile,
    ProfileSection,
    Proposal,
    PutFact,
    RemoveFact,
    Scope,
    Statement,
    Trust,
    WriteSection,
)
from thalweg_memory.handle import open_memory
from thalweg_memory.store.records import Selection
from thalweg_memory.store.tables import MemoryStore

ADA = Scope("ada")
THREADS = ("t", "u")
SETTINGS = MemorySettings(profile=False, learn_turns=2, overlap_turns=1)
LEASE_S = 100.0


@dataclass
class World:
    """A memory, people who talk and change it, and workers who die, are late or lose races."""

    store: MemoryStore
    clock: Clock = field(default_factory=Clock)
    said: Counter[str] = field(default_factory=Counter)
    forgotten: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    learned: Counter[str] = field(default_factory=Counter)

    def do(self, action: tuple[str, int], meanwhile: Sequence[tuple[str, int]] = ()) -> None:
        """Do one thing; `meanwhile` happens while a model thinks."""
        what, number = action
        match what:
            case "say":
                self._say(THREADS[number % 2])
            case "forget":
                self._forget(number)
            case "drop":
                self._drop(number)
            case "wait":
                self.clock.forward(20 * (number % 8))
            case _:
                self._work(what, meanwhile)
        for thread in THREADS:
            now = self.store.learned(ADA, thread)
            assert now >= self.learned[thread]
            self.learned[thread] = now

    def _say(self, thread: str) -> None:
        drawer = f"{thread}-{self.said[thread]}"
        say(self.store, ADA, f"I keep the key in drawer {drawer}.", clock=self.clock, thread=thread)
        self.said[thread] += 1

    def _forget(self, number: int) -> None:
        thread = THREADS[number % 2]
        if self.said[thread]:
            uid = f"{thread}-{number % self.said[thread]}"
            self.store.forget(ADA, Selection(uids=(uid,)), now=self.clock())
            self.forgotten.add(uid)

    def _drop(self, number: int) -> None:
        facts = self.store.facts(ADA)
        if facts:
            fact = facts[number % len(facts)]
            version = self.store.version(ADA)
            drop = RemoveFact(fact.id, "by hand")
            self.store.commit(ADA, [drop], expected=version, actor="user", now=self.clock())
            self.dropped.add(fact.subject.removeprefix("drawer "))

    def _work(self, what: str, meanwhile: Sequence[tuple[str, int]]) -> None:
        job = self.store.lease(now=self.clock(), lease_s=LEASE_S, worker="w")
        if job is None:
            return
        left = list(meanwhile)

        def script(messages: Sequence[BaseMessage]) -> str:
            while left:
                self.do(left.pop(0))
            if what == "late":
                self.clock.forward(LEASE_S)
                self._work("work", ())
            if what == "fail":
                raise TimeoutError
            return answer(messages)

        works = learner(self.store, self.clock, script=script, settings=SETTINGS)
        if what == "die":
            works.store = _Dying(self.store)  # type: ignore[assignment]  # what it is asked for
            try:
                works.learn(job)
            except KeyboardInterrupt:
                return
        works.learn(job)

    def drain(self) -> None:
        """Learn all that remains."""
        for _ in range(200):
            self.clock.forward(400)
            self.do(("work", 0))
            if self.store.next_due() is None:
                return

    def check(self) -> None:
        """See that every turn that is there was learned from once, and no other."""
        drawers = Counter(
            evidence.uid
            for fact in self.store.facts(ADA, statuses=None)
            for evidence in fact.evidence
        )
        said = {f"{thread}-{n}" for thread in THREADS for n in range(self.said[thread])}
        assert drawers == Counter(said - self.forgotten - self.dropped)
        for thread in THREADS:
            left = self.store.turns(ADA, thread, self.store.learned(ADA, thread))
            assert left == []


class _Dying:
    """A store whose worker is killed right after its first commit."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., object]:
        found: Callable[..., object] = getattr(self._store, name)
        if name != "commit":
            return found

        def commit(*args: object, **kwargs: object) -> object:
            found(*args, **kwargs)
            raise KeyboardInterrupt

        return commit


QUIET = st.tuples(
    st.sampled_from(["say", "say", "say", "forget", "drop", "wait"]), st.integers(0, 99)
)
ACTIONS = st.lists(
    st.one_of(
        QUIET.map(lambda one: (one, [])),
        st.tuples(
            st.tuples(st.sampled_from(["work", "work", "fail", "late", "die"]), st.just(0)),
            st.lists(QUIET, max_size=3),
        ),
    ),
    max_size=25,
)


@given(ACTIONS)
@settings(max_examples=60)
def test_every_turn_is_learned_from_once_under_any_interleaving(
    actions: list[tuple[tuple[str, int], list[tuple[str, int]]]],
) -> None:
    """Workers fail, come late, die after their commit; people talk, forget and delete."""
    with open_memory(":memory:") as store:
        world = World(store)
        for action, meanwhile in actions:
            world.do(action, meanwhile)
        world.drain()
        world.check()


SAYINGS = {
    "I live in Oslo.": "The user lives in Oslo.",
    "I moved to Rome last week.": "The user moved to Rome last week.",
    "I am allergic to peanuts.": "The user is allergic to peanuts.",
    "I work at Nordlicht.": "The user works at Nordlicht.",
    "I don't like coffee anymore.": "The user does not like coffee anymore.",
    "I love coffee.": "The user loves coffee.",
    "My sister is called Ana.": "The user's sister is called Ana.",
    "I'm learning Rust.": "The user is learning Rust.",
    "我住在杭州。": "用户住在杭州。",
    "我对花生过敏。": "用户对花生过敏。",
}
PROPOSALS = st.lists(
    st.tuples(
        st.sampled_from(sorted(SAYINGS)), st.integers(0, 3), st.sampled_from([0.6, 0.8, 0.95])
    ),
    min_size=1,
    max_size=6,
)


def proposed(rows: list[tuple[str, int, float]]) -> tuple[list[Proposal], list[Statement]]:
    turns = [
        Statement(
            "t", n, "user", text, f"2026-03-0{day + 1}T10:00:00Z", Trust.USER, uid=f"u{n}-{day}"
        )
        for n, (text, day, _) in enumerate(rows)
    ]
    proposals = [
        Proposal(SAYINGS[text], "context", confidence, turn.uid, text, subject="user")
        for turn, (text, _, confidence) in zip(turns, rows, strict=True)
    ]
    return proposals, turns


def plan_all(
    rows: list[tuple[str, int, float]], facts: list[Fact], prefix: str, max_facts: int = 100
) -> list[Fact]:
    ids = iter(FactId(f"{prefix}{n}") for n in range(100))
    lesson = Lesson(
        MemorySettings(max_facts=max_facts), "2026-04-01T00:00:00Z", "learned:x", lambda: next(ids)
    )
    proposals, turns = proposed(rows)
    made, _ = candidates(proposals, turns, {turn.uid for turn in turns}, lesson)
    learned = after(facts, plan_learning(made, facts).changes)
    return after(learned, plan_eviction(learned, max_facts, now=lesson.now))


@given(PROPOSALS, PROPOSALS)
def test_the_same_proposals_planned_twice_change_nothing_more(
    first: list[tuple[str, int, float]], second: list[tuple[str, int, float]]
) -> None:
    """This holds for any facts that existed before them."""
    known = plan_all(first, [], "a")
    once = plan_all(second, known, "b")

    assert plan_all(second, once, "c") == once


@given(PROPOSALS, st.integers(1, 3))
def test_a_memory_never_holds_more_active_facts_than_it_may(
    rows: list[tuple[str, int, float]], most: int
) -> None:
    """Those it let go of are still in it."""
    facts = plan_all(rows, [], "a", max_facts=most)

    assert sum(fact.status == "active" for fact in facts) <= most
    assert len(facts) >= len(plan_all(rows, [], "a", max_facts=100))


FACTS = st.lists(
    st.builds(
        lambda n, status, trust: Fact(
            FactId(f"f{n}"), "x", "context", 0.9, "", "t", status=status, trust=trust
        ),
        st.integers(0, 5),
        st.sampled_from(["active", "active", "superseded", "quarantined"]),
        st.sampled_from([Trust.USER, Trust.USER, Trust.IMPORT, Trust.ASSISTANT, Trust.WEB]),
    ),
    unique_by=lambda fact: fact.id,
)
NAMES = {f"F{n}": FactId(f"f{n}") for n in range(6)}
PARAGRAPHS = st.lists(
    st.builds(
        Paragraph,
        section=st.sampled_from(["workContext", "topOfMind"]),
        text=st.sampled_from(["One.", "Two. " * 300, "no end " * 200, " "]),
        facts=st.lists(st.sampled_from([*NAMES, "F9"]), max_size=3),
    ),
    max_size=4,
)
PROFILES = st.sampled_from(
    [
        Profile(),
        Profile((ProfileSection("workContext", "Mine."),)),
        Profile((ProfileSection("workContext", "Old.", "", (FactId("f0"), FactId("f1"))),)),
        Profile((ProfileSection("topOfMind", "One.", "", (FactId("f2"),)),)),
    ]
)


@given(PARAGRAPHS, FACTS, PROFILES)
def test_a_profile_rests_on_facts_that_hold_and_are_trusted(
    paragraphs: list[Paragraph], facts: list[Fact], profile: Profile
) -> None:
    """For any output of a model; the user's own sections are kept, and no section is long."""
    sections = {section.name: section for section in profile.sections}
    for write in plan_profile(paragraphs, NAMES, facts, profile, now="2026-04-01T00:00:00Z"):
        assert isinstance(write, WriteSection)
        sections[write.name] = write.section
    told = {f.id for f in facts if f.status == "active" and f.trust >= Trust.IMPORT}
    if profile.text("workContext") == "Mine.":
        assert sections["workContext"].text == "Mine."
    for section in sections.values():
        assert len(section.text) <= 600
        if section.text and section.text != "Mine.":
            assert set(section.cites) <= told
            assert section.cites
    after_it = Profile(tuple(s for s in sections.values() if s.text))
    assert plan_profile((), NAMES, facts, after_it, now="2026-05-01T00:00:00Z") == ()


def test_a_put_is_all_a_learner_does_to_facts() -> None:
    """It deletes none: what it drops is kept in the history."""
    proposals, turns = proposed([(text, 0, 0.95) for text in SAYINGS])
    ids = iter(FactId(f"a{n}") for n in range(100))
    lesson = Lesson(MemorySettings(max_facts=2), "2026-04-01T00:00:00Z", "x", lambda: next(ids))
    made, _ = candidates(proposals, turns, {turn.uid for turn in turns}, lesson)

    plan = plan_learning(made, [])

    assert len(plan.changes) == len(made) == len(SAYINGS)
    assert all(isinstance(change, PutFact) for change in plan.changes)
