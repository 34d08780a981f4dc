"""When a memory is full the least certain and oldest facts are dropped, never protected ones."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from thalweg_memory.facts.learning.lesson import certainty, plan_eviction
from thalweg_memory.facts.values import Category, Evidence, Fact, FactId, Status, Trust

NOW = "2026-06-01T00:00:00Z"
CATEGORIES: tuple[Category, ...] = ("preference", "knowledge", "context", "behavior", "goal")
STATUSES: tuple[Status, ...] = ("active", "superseded", "quarantined", "expired")


def fact(name: str, category: Category = "context", day: int = 1, said: int = 1) -> Fact:
    at = f"2026-05-{day:02}T00:00:00Z"
    quotes = tuple(Evidence("t", f"u{n}", "q", at, Trust.USER) for n in range(said))
    return Fact(FactId(name), name, category, 0.9, at, "t", evidence=quotes, observed_at=at)


FACTS = st.lists(
    st.builds(
        lambda name, category, day, said, status, protected, confidence: replace(
            fact(name, category, day, said),
            status=status,
            protected=protected,
            confidence=confidence,
        ),
        st.uuids().map(str),
        st.sampled_from(CATEGORIES),
        st.integers(1, 31),
        st.integers(1, 5),
        st.sampled_from([*["active"] * 5, *STATUSES]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([0.7, 0.9]),
    ),
    max_size=40,
)


def evicted(facts: list[Fact], most: int, *protected: Category) -> set[str]:
    return {put.fact.id for put in plan_eviction(facts, most, now=NOW, protected=protected)}


@given(FACTS, st.integers(1, 30), st.sampled_from(CATEGORIES))
def test_what_stays_fits_and_what_is_protected_stays(
    facts: list[Fact], most: int, protected: Category
) -> None:
    """It may not fit when more is protected than the limit allows."""
    gone = evicted(facts, most, protected)
    active = {f.id for f in facts if f.status == "active"}
    kept = {f.id for f in facts if f.protected or f.category == protected} & active

    assert gone <= active
    assert not gone & kept
    assert len(active - gone) == min(len(active), max(most, len(kept)))


@given(FACTS, st.integers(1, 30), st.randoms())
def test_the_order_of_the_facts_does_not_matter(
    facts: list[Fact], most: int, random: st.DrawFn
) -> None:
    """Nor does asking again, once it was done."""
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis gives a Random
    puts = plan_eviction(facts, most, now=NOW)
    changed = {put.fact.id: put.fact for put in puts}

    assert evicted(shuffled, most) == set(changed)
    assert plan_eviction([changed.get(f.id, f) for f in facts], most, now=NOW) == []


@given(FACTS, st.integers(1, 30))
def test_nothing_that_stays_is_less_certain_than_what_goes(facts: list[Fact], most: int) -> None:
    """Whatever its category."""
    gone = evicted(facts, most)
    free = [f for f in facts if f.status == "active" and not f.protected]
    for lost in (f for f in free if f.id in gone):
        for kept in (f for f in free if f.id not in gone):
            assert certainty(lost, now=NOW) <= certainty(kept, now=NOW)


def test_facts_that_went_stay_in_the_history() -> None:
    """With all they had, as `expired`."""
    old, new = fact("old", day=1), fact("new", day=31)

    (put,) = plan_eviction([new, old], 1, now=NOW)

    assert put.fact == replace(old, status="expired")


def test_of_one_age_the_least_confident_goes() -> None:
    """However often it was repeated, and of any category."""
    home = replace(fact("home"), confidence=0.95)
    goal = replace(fact("goal", "goal"), confidence=0.95)
    guess = replace(fact("guess", "preference", said=5), confidence=0.72)

    assert evicted([home, goal, guess], 2) == {"guess"}


def test_the_newest_goal_outlasts_an_old_preference() -> None:
    """Though one is inferred and the other was explicit; a month does not make it old."""
    goal = replace(fact("goal", "goal"), confidence=0.72, observed_at=NOW)
    old = replace(fact("old", "preference"), confidence=0.95, observed_at="2026-02-01T00:00:00Z")
    fresh = replace(old, id=FactId("fresh"), observed_at="2026-05-20T00:00:00Z")

    assert evicted([old, goal], 1) == {"old"}
    assert evicted([fresh, goal], 1) == {"goal"}


def test_of_one_confidence_the_oldest_goes_and_a_repetition_makes_it_new() -> None:
    """Age is counted from the last statement."""
    old, new = fact("old", day=1), fact("new", day=31)

    assert evicted([old, new], 1) == {"old"}
    assert evicted([replace(old, observed_at=NOW), new], 1) == {"new"}


@given(st.sampled_from(CATEGORIES), st.integers(0, 40))
def test_what_a_fact_is_worth_depends_on_when_it_is_asked_and_not_how_often(
    category: Category, times: int
) -> None:
    """Decay that was written back at each look would make facts older the more they are used."""
    one = fact("f", category)
    worth = [certainty(one, now=NOW) for _ in range(times + 1)]

    assert len(set(worth)) == 1
    assert certainty(one, now="2030-01-01T00:00:00Z") < worth[0]


def test_a_date_that_cannot_be_read_makes_a_fact_neither_old_nor_an_error() -> None:
    """An imported document has what dates it has."""
    odd = replace(fact("odd"), observed_at="last spring", created_at="?")

    assert certainty(odd, now=NOW) == certainty(replace(odd, observed_at=NOW), now=NOW)


@given(st.integers(1, 60), st.integers(0, 10), st.sampled_from(CATEGORIES))
def test_home_family_health_and_work_are_not_pushed_out_by_trifles(
    trifles: int, years: int, category: Category
) -> None:
    """A full memory of 100: what matters most was stated once, years ago; trifles often, today."""
    lasting = [
        replace(fact(name), importance=3, observed_at=f"{2026 - years}-01-01T00:00:00Z")
        for name in ("home", "family", "health", "work")
    ]
    held = [fact(f"held {n}", day=2) for n in range(96)]
    chatter = [
        replace(fact(f"trifle {n}", category, day=31, said=8), importance=1) for n in range(trifles)
    ]
    gone = evicted([*lasting, *held, *chatter], 100)
    assert len(gone) == trifles
    assert not gone & {one.id for one in lasting}
