"""The handle: what people do with a memory."""

import asyncio
import inspect
from collections.abc import Iterator
from dataclasses import replace

import pytest

from thalweg.engine.entries import Message, Text
from thalweg.errors import ConfigError, FactRefusedError, MemoryOffError, NoSuchFactError
from thalweg_memory import Memory, MemorySettings, MemoryStore, Scope, open_memory
from thalweg_memory.deciding import similar_facts
from thalweg_memory.facts.values import (
    NO_FACT,
    Evidence,
    Fact,
    FactId,
    PutFact,
    Statement,
    Trust,
)
from thalweg_memory.store.forgetting import Lineage
from thalweg_memory.store.records import Learned

NOW = "2026-03-01T10:00:00Z"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """Open an empty store."""
    with open_memory(":memory:") as opened:
        yield opened


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    """Return the memory of one owner."""
    return Memory(store, Scope("ada"), clock=lambda: NOW)


def test_every_method_has_a_twin_to_be_awaited_with_the_same_parameters() -> None:
    """A method that is added to one side and forgotten on the other fails here."""
    methods = dict(inspect.getmembers(Memory, inspect.isfunction))
    public = {name for name in methods if not name.startswith("_")}
    twins = {name for name in public if inspect.iscoroutinefunction(methods[name])}
    blocking = public - twins
    assert twins == {f"a{name.removesuffix('_')}" for name in blocking - {"remember_as_agent"}}
    for name in blocking - {"remember_as_agent"}:
        twin = methods[f"a{name.removesuffix('_')}"]
        assert inspect.signature(twin) == inspect.signature(methods[name]), name


def test_a_corrected_fact_begins_now_and_has_no_end(memory: Memory) -> None:
    """The dates of the old wording are not those of the new one."""
    rented = memory.remember("User rents a car", since="2025-01", until="2026-03-02")
    fact = memory.edit(rented.id, content="User owns a car")
    assert (fact.valid_from, fact.valid_to, fact.is_temporary) == (NOW, "", False)


@pytest.mark.parametrize(("since", "until"), [("next week", ""), ("2026", "2026-13-01")])
def test_a_day_that_is_none_is_refused(memory: Memory, since: str, until: str) -> None:
    """The fact would begin now, or never end."""
    with pytest.raises(FactRefusedError, match="is not a date such as 2026-03-02"):
        memory.remember("User rents a car", since=since, until=until)
    assert memory.facts() == []


def waiting(memory: Memory, content: str, *turns: Statement) -> Fact:
    """Store a fact that waits for the user, as one from a web page."""
    fact = memory.remember_as_agent(content, category="context", turns=turns, least=Trust.WEB)
    assert fact.status == "quarantined"
    return fact


def test_a_fact_that_waits_is_hidden_as_well(memory: Memory) -> None:
    waiting(memory, "User banks at Fox Bank")
    waiting(memory, "User likes foxes")
    assert memory.hide("Fox Bank") == 1
    assert [fact.content for fact in memory.review()] == ["User likes foxes"]
    assert memory.hide("the") == 0


def test_the_message_of_a_fact_that_is_accepted_is_recalled(memory: Memory) -> None:
    """Also if another fact states the same: the waiting one is merged, not removed."""
    scope, store = memory.scope, memory.store
    turn = Statement("t", 0, "user", "I live in Oslo", NOW, Trust.USER, uid="m1")
    store.capture(scope, "t", [turn])
    held = waiting(memory, "User lives in Oslo")
    quoted = replace(held, evidence=(Evidence("t", "m1", "I live in Oslo", NOW, Trust.WEB, 0),))
    at = store.version(scope)
    store.commit(scope, [PutFact(quoted, "w")], expected=at, actor="agent", now=NOW)
    memory.remember("User lives in Oslo")
    memory.accept(held.id)
    assert [one.text for one in store.turns(scope, "t")] == ["I live in Oslo"]
    assert [fact.content for fact in memory.facts()] == ["User lives in Oslo"]


def test_a_section_may_be_as_long_as_a_learned_one(memory: Memory) -> None:
    memory.write_profile("workContext", "a" * 600)
    assert len(memory.profile().text("workContext")) == 600
    with pytest.raises(FactRefusedError, match="601 characters long, and 600 are the most"):
        memory.write_profile("workContext", "a" * 601)


def test_what_may_be_about_the_same_is_kept_linked_and_told_with_both_dates(
    memory: Memory,
) -> None:
    """Without a model nothing is superseded; the newer one comes first."""
    memory.remember("User's home city is Berlin", stated_at="2025-01-05T10:00:00Z")
    memory.remember("User's home city is Munich", stated_at="2026-02-01T10:00:00Z")

    old, new = memory.facts()
    assert (old.related, new.related) == ((new.id,), (old.id,))
    now = memory.recall("Which home city?").text
    assert "is Munich (earlier, 5 January 2025: User's home city is Berlin)" in now


def test_what_ends_is_not_told_after_its_last_day(memory: Memory) -> None:
    """A day or a month by hand; what held before was never superseded."""
    memory.remember("User lives in Bonn", stated_at="2025-01-05T10:00:00Z")
    memory.remember("User stays in Tokyo", until="2025-03", stated_at="2025-02-01T10:00:00Z")

    told = memory.recall("Where in Bonn or Tokyo?").text
    assert "Bonn" in told
    assert "Tokyo" not in told


def test_a_conversation_is_told_what_matters_whatever_it_is_about(memory: Memory) -> None:
    """How a user wants to be answered shares no word with the question; a search is strict."""
    memory.remember("User wants answers in German", category="preference")
    hello = [Message("user", (Text("What is a monad?"),))]

    assert "German" in memory.recall(hello).text
    assert memory.recall("What is a monad?").text == ""


def test_a_thread_that_begins_recalls_what_shares_words_with_its_first_hits(
    memory: Memory, store: MemoryStore
) -> None:
    """A question gets what it asks for; so does a thread under way."""

    def said(text: str) -> Statement:
        return Statement(text, 0, "user", text, NOW, Trust.USER)

    for text in ("I bought a telescope from Piet", "Piet moved to Ghent", "I dislike coriander"):
        store.capture(Scope("ada"), text, [said(text)])
        learned = Learned(text, 0, 1)
        version = store.version(Scope("ada"))
        store.commit(Scope("ada"), [], expected=version, actor="u", now=NOW, learned=learned)
    hello = [Message("user", (Text("Which telescope is best?"),))]
    begun = memory.recall(hello, budget_tokens=500)
    store.capture(Scope("ada"), "t", [said("Good evening")])
    later = memory.recall(hello, budget_tokens=500, thread="t")

    assert "Ghent" in begun.text
    assert "coriander" not in begun.text
    assert begun.tokens <= 500
    assert "Ghent" not in later.text
    assert "Ghent" not in memory.recall("Which telescope is best?").text


def test_a_thread_that_begins_is_told_the_newest_messages_that_no_fact_holds_yet(
    memory: Memory, store: MemoryStore
) -> None:
    """Like the facts of a small memory: for any question, in any language."""
    for number, text in enumerate(("I keep bees", "我住在杭州", "Meu cão é o Rex")):
        turn = Statement("x", number, "user", text, NOW, Trust.USER, uid=f"m{number}")
        store.capture(Scope("ada"), "x", [turn])
    hello = [Message("user", (Text("What do you know about me?"),))]

    told = memory.recall(hello, budget_tokens=500, thread="t").text
    assert all(text in told for text in ("bees", "杭州", "Rex"))
    assert memory.recall("What do you know about me?").text == ""
    learned, version = Learned("x", 0, 3), store.version(Scope("ada"))
    store.commit(Scope("ada"), [], expected=version, actor="u", now=NOW, learned=learned)
    assert memory.recall(hello, thread="t").text == ""


def test_what_is_remembered_again_after_its_end_is_recalled(store: MemoryStore) -> None:
    """The same words are stored once for the same time; a later end is kept."""
    now = "2026-02-01T10:00:00Z"
    memory = Memory(store, Scope("ada"), clock=lambda: now)
    first = memory.remember("User is on leave", until="2026-02")
    longer = memory.remember("User is on leave", until="2026-03")
    assert (longer.id, longer.valid_to[:10]) == (first.id, "2026-03-31")
    now = "2026-06-01T10:00:00Z"
    again = memory.remember("User is on leave")
    assert (again.id == first.id, again.valid_to) == (False, "")
    assert "on leave" in memory.recall("leave").text


def test_what_is_hidden_by_its_words_is_recalled_no_more_until_undo(
    memory: Memory, store: MemoryStore
) -> None:
    """Facts and messages, and the message that asked for it; what is protected is kept."""
    memory.remember("User pays 950 in rent")
    kept = memory.remember("User's rent is due on the first", protected=True)
    for number, text in enumerate(("We rent here, 950 a month", "Forget that about the rent")):
        turn = Statement("x", number, "user", text, NOW, Trust.USER, uid=f"m{number}")
        store.capture(Scope("ada"), "x", [turn])

    assert memory.hide("rent", asked_in=["m1"], by="agent") == 2
    assert memory.facts() == [kept]
    assert store.turns(Scope("ada"), "x") == []
    memory.undo(memory.history()[0].id)
    assert len(memory.facts()) == 2
    assert len(store.turns(Scope("ada"), "x")) == 2
    assert memory.hide("xylophone", asked_in=["m1"]) == 0
    assert len(store.turns(Scope("ada"), "x")) == 2


def captured(store: MemoryStore, *texts: str) -> None:
    """Store messages of the user."""
    turns = [
        Statement("x", n, "user", text, NOW, Trust.USER, uid=f"m{n}")
        for n, text in enumerate(texts)
    ]
    store.capture(Scope("ada"), "x", turns)


def test_hiding_finds_words_that_many_newer_messages_have(
    memory: Memory, store: MemoryStore
) -> None:
    """Among more items than a search considers, and with more words than it looks up."""
    words = [f"word{n}" for n in range(70)]
    memory.remember("User pays the rent in Oslo")
    captured(store, " ".join(words), *["rent"] * 1_001, *["Oslo"] * 1_001)

    assert memory.hide("rent Oslo") == 1
    assert memory.hide(" ".join(words)) == 1


def test_a_fact_is_similar_however_many_newer_messages_have_its_words(
    memory: Memory, store: MemoryStore
) -> None:
    """Of one word, of all, and of words that are rarer."""
    fact = memory.remember("User's home city is Berlin")
    said = [f"Berlin {n}" for n in range(100)] + ["home city Berlin"] * 30
    captured(store, *said, *["My home and my work"] * 20)

    for text in ("User's home city is Munich", "The home city is Berlin", "Berlin"):
        assert similar_facts(store, Scope("ada"), text) == [fact]


@pytest.mark.parametrize("newer", [0, 15, 45, 200])
def test_among_many_facts_one_is_found_behind_newer_messages(
    memory: Memory, store: MemoryStore, newer: int
) -> None:
    fact = memory.remember("User owns a copper kettle")
    store.commit(
        memory.scope,
        [
            PutFact(replace(fact, id=FactId(f"f{n}"), content=f"User owns item{n}"), "")
            for n in range(100)
        ],
        expected=store.version(memory.scope),
        actor="user",
        now="2026-03-01T10:00:00Z",
    )
    captured(store, *["a copper kettle"] * newer)

    found = store.find(memory.scope, ["copper", "kettl"], limit=10, facts_only=True)

    numbers = {number for there in found.places.values() for number in there}
    items = store.items(memory.scope, sorted(numbers))
    assert [item.fact.id for item in items if item.fact is not None] == [fact.id]


def test_no_link_through_a_forgotten_fact_ends_at_a_fact_that_is_not_there(memory: Memory) -> None:
    absent, fact = FactId("absent"), memory.remember("User likes tea")
    gone = replace(fact, id=FactId("gone"), supersedes=(absent,), superseded_by=absent)
    older, newer = replace(fact, superseded_by=gone.id), replace(fact, supersedes=(gone.id,))

    assert Lineage([gone, older], {gone.id}).heir(older) == NO_FACT
    assert Lineage([gone, newer], {gone.id}).superseded(newer) == ()
    assert Lineage([newer], ()).superseded(newer) == (gone.id,)


def test_forgetting_names_what_stays_and_may_tell_the_same(memory: Memory) -> None:
    gone = memory.remember("User's sister Ines plays the cello in Porto")
    other = memory.remember("Ines, who plays cello, is the user's sister")
    memory.remember("User likes tea")
    memory.write_profile("personalContext", "A sister, Ines, who plays the cello.")
    receipt = memory.forget(gone.id)
    assert receipt.alike == (other.id, "personalContext")
    assert memory.forget(query="tea").alike == ()


def test_days_are_those_of_the_time_zone(store: MemoryStore) -> None:
    """Of the settings; an end on a day is the end of that day there."""
    settings = MemorySettings(time_zone="Pacific/Auckland")
    memory = Memory(store, Scope("ada"), settings=settings, clock=lambda: "2026-03-01T19:00:00Z")
    memory.remember("User is in Auckland", until="2026-03-01")
    memory.remember("User likes tea")
    told = memory.search("Auckland tea").text
    assert "2 March 2026 Monday" in told
    assert "Auckland" not in told
    with pytest.raises(ConfigError, match="time_zone"):
        MemorySettings.from_mapping({"time_zone": "Middle/Earth"})


def test_what_is_told_fits_its_budget_to_the_token(memory: Memory) -> None:
    """Frame and headings are counted."""
    for number in range(40):
        memory.remember(f"User's garden plot {number} grows the {number}th kind of beans")
    recalled = memory.recall("What grows in the garden?", budget_tokens=150, explain=True)

    assert 0 < recalled.tokens <= 150
    assert {one.fate for one in recalled.placed} == {"shown", "no room"}


def test_another_owner_sees_nothing(memory: Memory, store: MemoryStore) -> None:
    """Not by a question, not by an id."""
    fact = memory.remember("User lives in Oslo")
    other = Memory(store, Scope("bob"))

    assert other.recall("Who lives in Oslo?").text == ""
    with pytest.raises(NoSuchFactError):
        other.fact(fact.id)
    with pytest.raises(NoSuchFactError):
        other.forget(fact.id)


def test_an_edit_can_be_undone_and_a_memory_restored(memory: Memory) -> None:
    """Nothing that was stated is lost until it is forgotten."""
    fact = memory.remember("User lives in Oslo")
    memory.edit(fact.id, content="User lives in Bergen", category="context")
    assert memory.fact(fact.id).content == "User lives in Bergen"

    memory.undo(memory.history()[0].id)
    assert memory.fact(fact.id) == fact
    memory.restore(0)
    assert memory.facts() == []


def test_what_is_forgotten_is_told_no_more_and_may_be_said_again(memory: Memory) -> None:
    """A dry run changes nothing."""
    memory.remember("User lives in Oslo")
    planned = memory.forget(query="Oslo", dry_run=True)
    assert len(memory.facts()) == len(planned.facts) == 1

    memory.forget(query="Oslo")
    assert memory.facts("active", "superseded", "quarantined", "expired") == []
    assert "Oslo" not in memory.export()
    assert memory.remember("User lives in Oslo").content == "User lives in Oslo"


def test_what_is_forgotten_by_words_has_the_words_in_it(memory: Memory) -> None:
    """It is found by the day it was stated on, too; that does not delete it."""
    memory.remember("I moved to Munich")

    assert memory.forget(query="city").facts == ()
    assert memory.forget(query="Sunday").facts == ()
    assert memory.forget(query="munich moved").facts


def test_what_may_not_be_remembered_is_refused_with_the_reason(memory: Memory) -> None:
    """What no one can see is not stored; wording is never a reason."""
    with pytest.raises(FactRefusedError, match="cannot be remembered"):
        memory.remember("User lives in P\u200borto")
    assert memory.facts() == []


def test_to_forget_something_has_to_be_named(memory: Memory) -> None:
    """An empty call must not empty a memory."""
    with pytest.raises(ConfigError, match="name facts"):
        memory.forget()


@pytest.mark.parametrize("settings", [{"enabled": False}, {"read_only": True}])
def test_a_memory_that_is_off_takes_nothing_in(
    store: MemoryStore, settings: dict[str, bool]
) -> None:
    """The error states which setting to change; forgetting always works."""
    Memory(store, Scope("ada")).remember("User lives in Oslo")
    memory = Memory(store, Scope("ada"), settings=MemorySettings(**settings))  # type: ignore[arg-type]  # a flag

    with pytest.raises(MemoryOffError, match="set it to"):
        memory.remember("User lives in Bergen")
    assert bool(memory.recall("Who lives in Oslo?").text) == memory.settings.enabled
    assert memory.forget(everything=True).facts


def test_a_document_goes_out_and_comes_in_as_it_was(memory: Memory, store: MemoryStore) -> None:
    """Into another memory, too."""
    memory.remember("User lives in Oslo", category="context", confidence=0.8)
    memory.write_profile("workContext", "Engineer at a shipyard")
    document = memory.export()
    other = Memory(store, Scope("bob"), clock=lambda: NOW)
    other.import_(document)

    assert other.export() == document


def test_it_can_be_awaited(memory: Memory) -> None:
    """The twins do the same."""

    async def told() -> str:
        await memory.aremember("User lives in Oslo")
        return (await memory.arecall("Who lives in Oslo?")).text

    assert "Oslo" in asyncio.run(told())
