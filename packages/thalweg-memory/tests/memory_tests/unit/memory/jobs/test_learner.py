"""A learner learns from every turn once, regardless of what happens meanwhile."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from langchain_core.messages import BaseMessage

from memory_tests.learning import Clock, answer, learner, say, sources
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.tariff import Tariff
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Fact,
    FactId,
    Mode,
    ProfileSection,
    PutFact,
    RemoveFact,
    Scope,
    Trust,
    WriteSection,
)
from thalweg_memory.handle import Memory, open_memory
from thalweg_memory.jobs.learner import JobReport, Learner, event_of, sentence
from thalweg_memory.store.records import Job, Selection
from thalweg_memory.store.tables import MemoryStore

ADA = Scope("ada")
Script = Callable[[Sequence[BaseMessage]], str]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with open_memory(":memory:") as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


def take(store: MemoryStore, clock: Clock) -> Job:
    job = store.lease(now=clock(), lease_s=600, worker="w")
    assert job is not None
    return job


def run(store: MemoryStore, clock: Clock, script: Script = answer, **settings: object) -> JobReport:
    """Learn once the thread has been quiet."""
    clock.forward(30)
    given = MemorySettings.model_validate({"profile": False, **settings})
    return learner(store, clock, script=script, settings=given).learn(take(store, clock))


def contents(store: MemoryStore) -> list[str]:
    return [fact.content for fact in store.facts(ADA)]


def test_what_the_user_says_is_learned_with_its_quote_and_its_origin(
    store: MemoryStore, clock: Clock
) -> None:
    """This happens once the thread has been quiet for as long as the settings require."""
    say(store, ADA, "Hi!", "I keep the key in drawer 7. Where is the map?", clock=clock)
    assert store.lease(now=clock(), lease_s=600, worker="w") is None

    report = run(store, clock)

    (fact,) = store.facts(ADA)
    (evidence,) = fact.evidence
    assert fact.content == "The user keeps the key in drawer 7."
    assert (fact.source, fact.written_by, fact.trust) == ("t", "learned:scripted", Trust.USER)
    assert (evidence.uid, evidence.quote) == ("t-1", "I keep the key in drawer 7.")
    assert store.learned(ADA, "t") == 2
    assert (report.turns, report.changed["active"], report.spent.calls) == (2, 1, 2)
    assert store.next_due() is None


def test_nothing_is_asked_about_a_turn_twice(store: MemoryStore, clock: Clock) -> None:
    """Turns that were learned from are shown, and not learned from again."""
    asked: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        asked.append(str(messages[-1].content))
        return answer(messages)

    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock, script)
    say(store, ADA, "I keep the map in drawer 8.", clock=clock)
    run(store, clock, script)

    asked = [text for text in asked if text.startswith("Known facts:")]
    assert [text.count("(learn from this)") for text in asked] == [1, 1]
    assert "known already" in asked[1]
    assert "drawer 7" in asked[1]
    assert len(store.facts(ADA)) == 2


def test_answers_alone_cost_no_call(store: MemoryStore, clock: Clock) -> None:
    """They count as learned from; their content is not the user's."""
    say(store, ADA, "I keep the key in drawer 1.", clock=clock, trust=Trust.WEB)

    report = run(store, clock)

    assert (report.spent.calls, store.learned(ADA, "t"), contents(store)) == (0, 1, [])


def test_a_long_thread_is_learned_from_in_portions_each_kept_at_once(
    store: MemoryStore, clock: Clock
) -> None:
    """A failure half way costs what comes after it, and that only until it is tried again."""
    say(store, ADA, *(f"I keep the key in drawer {n}." for n in range(5)), clock=clock)
    calls = 0

    def script(messages: Sequence[BaseMessage]) -> str:
        nonlocal calls
        calls += str(messages[-1].content).startswith("Known facts:")
        if calls == 3:
            raise TimeoutError
        return answer(messages)

    report = run(store, clock, script, learn_turns=1)

    assert (report.failed, report.retry_s, store.learned(ADA, "t")) == ("TimeoutError", 30, 2)
    report = run(store, clock, script, learn_turns=1)
    assert (report.failed, store.learned(ADA, "t"), calls) == ("", 5, 6)
    assert len(store.facts(ADA)) == 5


def test_a_job_that_takes_long_lets_others_begin(
    store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its other portions are a job of their own, as at the first attempt."""
    monkeypatch.setattr("thalweg_memory.jobs.learner.TURN_S", -1)
    say(store, ADA, *(f"I keep the key in drawer {n}." for n in range(3)), clock=clock)

    for learned in (1, 2, 3):
        report = run(store, clock, learn_turns=1)
        assert (report.failed, report.attempt, store.learned(ADA, "t")) == ("", 1, learned)
    assert store.next_due() is None


def test_a_model_that_is_away_loses_nothing_and_is_asked_ever_more_rarely(
    store: MemoryStore, clock: Clock
) -> None:
    """The turns remain where they are; the waits double up to an hour."""

    def away(_: Sequence[BaseMessage]) -> str:
        raise ConnectionError

    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    waits = []
    clock.forward(30)
    for _ in range(9):
        report = learner(store, clock, script=away).learn(take(store, clock))
        assert report.retry_s
        waits.append(report.retry_s)
        clock.forward(report.retry_s - 1)
        assert store.lease(now=clock(), lease_s=1, worker="w") is None
        clock.forward(1)
    report = learner(store, clock).learn(take(store, clock))

    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert contents(store) == ["The user keeps the key in drawer 7."]


def test_a_turn_nobody_can_answer_about_holds_up_no_other(store: MemoryStore, clock: Clock) -> None:
    """Ever less is asked at once, and in the end that one turn is passed over; it is recalled."""

    def stumbles(messages: Sequence[BaseMessage]) -> str:
        is_about_it = any("poison" in str(message.content) for message in messages)
        return "Sorry." if is_about_it else answer(messages)

    texts = ["I keep the key in drawer 1.", "poison", "I keep the key in drawer 2."]
    say(store, ADA, *texts, clock=clock)
    skipped = 0
    settings = MemorySettings(profile=False, overlap_turns=0)
    for _ in range(8):
        clock.forward(3_600)
        if (job := store.lease(now=clock(), lease_s=600, worker="w")) is None:
            break
        skipped += learner(store, clock, script=stumbles, settings=settings).learn(job).skipped

    assert skipped == 1
    assert store.learned(ADA, "t") == 3
    assert len(store.facts(ADA)) == 2
    assert [turn.text for turn in store.turns(ADA, "t")] == texts


def test_without_a_model_nothing_is_made_up_and_the_job_waits(
    store: MemoryStore, clock: Clock
) -> None:
    """The turns can be recalled all the while."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    clock.forward(30)
    nobody = Learner(store, None, clock=clock, emit=lambda _: None)

    report = nobody.learn(take(store, clock))

    assert (report.retry_s, contents(store), store.learned(ADA, "t")) == (600, [], 0)
    assert store.turns(ADA, "t")
    clock.forward(600)
    assert learner(store, clock).learn(take(store, clock)).turns == 1


@pytest.mark.parametrize("mode", ["off", "read_only", "incognito"])
def test_a_thread_that_is_off_is_not_learned_from(
    store: MemoryStore, clock: Clock, mode: Mode
) -> None:
    """Nor while memory as a whole is; what was captured before waits until it is on again."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    store.set_mode(ADA, "t", mode)

    assert run(store, clock).spent.calls == 0
    assert store.learned(ADA, "t") == 0
    store.set_mode(ADA, "t", "on")
    say(store, ADA, "Hm.", clock=clock)
    assert run(store, clock, enabled=False).spent.calls == 0
    say(store, ADA, "Hm.", clock=clock)
    assert run(store, clock).turns == 3


def edits(
    store: MemoryStore, clock: Clock, change: Callable[[list[Fact]], list[PutFact | RemoveFact]]
) -> Script:
    """Answer, after another writer changed the memory while the model was thinking."""

    def script(messages: Sequence[BaseMessage]) -> str:
        if not str(messages[-1].content).startswith("Known facts:"):
            return answer(messages)
        changes = change(store.facts(ADA))
        version = store.version(ADA)
        store.commit(ADA, changes, expected=version, actor="user", now=clock(), why="by hand")
        return answer(messages)

    return script


def test_who_loses_a_race_plans_again_without_asking_again(
    store: MemoryStore, clock: Clock
) -> None:
    """Both changes are there in the end; the other one came between the plan and its commit."""
    say(store, ADA, "I keep the key in drawer 1.", clock=clock)
    run(store, clock)
    say(store, ADA, "I keep the map in drawer 2.", clock=clock)
    clock.forward(30)
    works = learner(store, clock, settings=MemorySettings(profile=False))
    (first,) = store.facts(ADA)
    made = iter(range(100))

    class Racing:
        """A store that another writer commits to first, twice."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def commit(self, *args: Any, **named: Any) -> object:  # noqa: ANN401 (as the store's)
            number = next(made)
            if number < 2:
                added = replace(first, id=FactId(f"mine-{number}"), content=f"Likes tea {number}.")
                put = PutFact(replace(added, evidence=(), subject=f"tea {number}"), "told")
                version = store.version(ADA)
                store.commit(ADA, [put], expected=version, actor="user", now=clock())
            return store.commit(*args, **named)

    works.store = cast("MemoryStore", Racing())

    report = works.learn(take(store, clock))

    assert (report.races, report.spent.calls, report.turns) == (2, 2, 1)
    assert sorted(contents(store)) == [
        "Likes tea 0.",
        "Likes tea 1.",
        "The user keeps the key in drawer 1.",
        "The user keeps the map in drawer 2.",
    ]


def test_a_fact_that_was_taken_out_meanwhile_does_not_come_back(
    store: MemoryStore, clock: Clock
) -> None:
    """It is neither stated again nor brought up to date; other messages are learned from."""
    say(store, ADA, "I keep the key in drawer 1.", clock=clock)
    run(store, clock)
    text = "I keep the key in drawer 1. Now I keep the map in drawer 1."
    say(store, ADA, text, "I keep the pen in drawer 2.", clock=clock)

    report = run(
        store, clock, edits(store, clock, lambda facts: [RemoveFact(facts[0].id, "delete")])
    )

    assert contents(store) == ["The user keeps the pen in drawer 2."]
    assert report.refused["a person changed it first"] == 2


def test_an_edit_that_was_made_meanwhile_stands(store: MemoryStore, clock: Clock) -> None:
    """A message from before it does not bring it up to date."""
    say(store, ADA, "I keep the key in drawer 1.", clock=clock)
    run(store, clock)
    say(store, ADA, "Now I keep the map in drawer 1.", clock=clock)
    mine = "The user keeps nothing in drawer 1."

    run(
        store,
        clock,
        edits(
            store,
            clock,
            lambda facts: [PutFact(replace(facts[0], content=mine, value="nothing"), "edit")],
        ),
    )

    assert contents(store) == [mine]


@pytest.mark.parametrize(
    "selection",
    [Selection(uids=("t-0",)), Selection(threads=("t",)), Selection(everything=True)],
)
def test_what_is_forgotten_meanwhile_is_not_learned(
    store: MemoryStore, clock: Clock, selection: Selection
) -> None:
    """Though the model answered about it; the rest of the thread is learned afterwards."""

    def script(messages: Sequence[BaseMessage]) -> str:
        if "drawer 1." in str(messages[-1].content):
            store.forget(ADA, selection, now=clock())
        return answer(messages)

    say(store, ADA, "I keep the key in drawer 1.", "I keep the pen in drawer 2.", clock=clock)
    run(store, clock, script)
    left = [] if not selection.uids else ["The user keeps the pen in drawer 2."]
    clock.forward(60)
    if (job := store.lease(now=clock(), lease_s=600, worker="w")) is not None:
        learner(store, clock).learn(job)

    assert contents(store) == left


def test_a_fact_that_was_forgotten_does_not_bring_another_up_to_date(
    store: MemoryStore, clock: Clock
) -> None:
    """It would take the place of the one that holds, and then not be there."""
    say(store, ADA, "I keep the map in drawer 1.", clock=clock)
    run(store, clock)
    (wrong,) = store.facts(ADA)
    store.forget(ADA, Selection(facts=(wrong.id,)), now=clock())
    say(store, ADA, "I keep the key in drawer 1.", clock=clock, thread="u")
    run(store, clock)
    say(store, ADA, "Now I keep the map in drawer 1.", clock=clock, thread="v")

    report = run(store, clock)

    assert report.refused["forgotten"] == 1
    assert contents(store) == ["The user keeps the key in drawer 1."]


def test_a_lease_that_ran_out_leaves_the_work_to_whoever_has_it_now(
    store: MemoryStore, clock: Clock
) -> None:
    """The late answer changes nothing, and the turn is learned from once."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    done: list[JobReport] = []

    def slow(messages: Sequence[BaseMessage]) -> str:
        clock.forward(601)
        done.append(learner(store, clock).learn(take(store, clock)))
        return answer(messages)

    late = run(store, clock, slow)

    assert (late.turns, done[0].turns) == (0, 1)
    assert len(store.facts(ADA)) == len(store.operations(ADA)) - 1 == 1  # and its profile
    assert len(store.facts(ADA)[0].evidence) == 1


def test_an_answer_that_is_half_readable_gives_that_half(store: MemoryStore, clock: Clock) -> None:
    """After it was asked for once more."""

    def half(messages: Sequence[BaseMessage]) -> str:
        if messages[-1].type == "human" and "cannot be read" in str(messages[-1].content):
            messages = messages[:-2]
        read = json.loads(answer(messages))
        if "facts" not in read:
            return json.dumps(read)
        facts = read["facts"]
        return json.dumps({"facts": [*facts, {"turn": 1, "content": "The user is tall."}]})

    say(store, ADA, "I keep the key in drawer 7.", clock=clock)

    report = run(store, clock, half)

    assert contents(store) == ["The user keeps the key in drawer 7."]
    assert (report.unreadable, report.spent.calls) == (1, 3)


def test_the_profile_is_written_from_facts_that_hold(store: MemoryStore, clock: Clock) -> None:
    """With one more call, only where facts changed; it names them."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    first = run(store, clock, profile=True)
    say(store, ADA, "Thanks.", clock=clock)
    second = run(store, clock, profile=True)

    (section,) = store.profile(ADA).sections
    assert (section.name, section.text) == ("personalContext", "Keeps 1 things in drawers.")
    assert section.cites == tuple(fact.id for fact in store.facts(ADA))
    assert (first.spent.calls, second.spent.calls) == (3, 1)


def test_a_section_goes_when_a_fact_it_rests_on_does_not_hold_any_more(
    store: MemoryStore, clock: Clock
) -> None:
    """Even if no profile is written any more."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock, profile=True)
    say(store, ADA, "Now I keep the map in drawer 7.", clock=clock)

    run(store, clock, profile=False)

    assert contents(store) == ["The user keeps the map in drawer 7."]
    assert store.profile(ADA).sections == ()


def test_a_section_is_removed_with_a_fact_that_it_cites_even_if_the_model_fails(
    store: MemoryStore, clock: Clock
) -> None:
    """The next attempt writes it again, although it has nothing to learn."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock, profile=True)

    def failing(messages: Sequence[BaseMessage]) -> str:
        if str(messages[-1].content).startswith("Today is"):
            raise TimeoutError
        return answer(messages)

    say(store, ADA, "Now I keep the map in drawer 7.", clock=clock)
    assert run(store, clock, failing, profile=True).failed == "TimeoutError"
    assert contents(store) == ["The user keeps the map in drawer 7."]
    assert store.profile(ADA).sections == ()
    run(store, clock, profile=True)
    assert len(store.profile(ADA).sections) == 1


def test_what_no_model_verified_is_quoted_and_enters_no_profile(
    store: MemoryStore, clock: Clock
) -> None:
    """It keeps its fields, and a later statement replaces it."""

    def silent(messages: Sequence[BaseMessage]) -> str:
        read = json.loads(answer(messages))
        return json.dumps({**read, "sources": []}) if "sources" in read else json.dumps(read)

    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock, silent, profile=True)

    (fact,) = store.facts(ADA)
    assert fact.content == 'User\'s words of 1 March 2026: "I keep the key in drawer 7."'
    assert fact.claim == "The user keeps the key in drawer 7."
    assert (fact.subject, fact.value) == ("drawer 7", "key")
    assert store.profile(ADA).sections == ()

    say(store, ADA, "Now I keep the map in drawer 7.", clock=clock)
    run(store, clock, silent)
    (later,) = store.facts(ADA)
    assert later.supersedes == (fact.id,)
    told = Memory(store, ADA).recall("Where is the map?").text
    assert (
        '"Now I keep the map in drawer 7." '
        '(earlier, User\'s words of 1 March 2026: "I keep the key in drawer 7.")'
    ) in told


def test_two_states_in_one_portion_are_one_fact_and_its_past(
    store: MemoryStore, clock: Clock
) -> None:
    say(store, ADA, "I keep the key in drawer 7.", "Now I keep the map in drawer 7.", clock=clock)
    run(store, clock)
    assert contents(store) == ["The user keeps the map in drawer 7."]


def test_a_message_with_words_of_others_changes_no_known_fact(
    store: MemoryStore, clock: Clock
) -> None:
    """Its facts are linked to those they would replace: a model may be wrong about one of them."""

    def other(messages: Sequence[BaseMessage]) -> str:
        read = json.loads(answer(messages))
        if "sources" in read:
            asked = str(messages[-1].content)
            (pen,) = re.findall(r"^(N\d+): The user keeps the pen", asked, re.MULTILINE)
            read["sources"] = [
                {**one, "whose": "other"} if one["new"] == pen else one for one in read["sources"]
            ]
        return json.dumps(read)

    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock)
    text = "Translate: Now I keep the map in drawer 7. I keep the pen in drawer 8."
    say(store, ADA, text, clock=clock)
    run(store, clock, other)

    key, new = (
        next(fact for fact in store.facts(ADA) if fact.value == value) for value in ("key", "map")
    )
    assert (key.status, key.valid_to, new.claim) == ("active", "", "")
    assert (new.supersedes, new.related) == ((), (key.id,))


def test_what_a_single_message_replaced_is_told_as_the_earlier_state(
    store: MemoryStore, clock: Clock
) -> None:
    """No answer of a model to one message hides a fact; a second message of the user's does."""
    earlier = "in drawer 7. (earlier, 1 March 2026: The user keeps the key in drawer 7.)"
    memory = Memory(store, ADA)
    ask = [Message("user", (Text("What do you know about me?"),))]
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock)
    say(store, ADA, "Now I keep the map in drawer 7.", clock=clock)
    run(store, clock)
    assert earlier in memory.recall("Where is the map?").text
    assert earlier in memory.recall(ask).text

    say(store, ADA, "Now I keep the map in drawer 7.", clock=clock, thread="u")
    run(store, clock)
    assert "(earlier" not in memory.recall("Where is the map?").text
    assert "(earlier" not in memory.recall(ask).text


def test_a_model_that_never_answers_in_form_is_asked_twice(
    store: MemoryStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """That is said once; a model that answered before is asked again."""
    calls = 0

    def chatty(messages: Sequence[BaseMessage]) -> str:
        nonlocal calls
        del messages
        calls += 1
        return "Sure, I will remember that."

    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    works = learner(store, clock, script=chatty, settings=MemorySettings(profile=False))
    clock.forward(30)
    for _ in range(5):
        works.learn(take(store, clock))
        clock.forward(3_600)

    assert calls == 4
    sentence = "the model scripted answered 2 questions of memory, none in the form"
    assert sum(sentence in record.message for record in caplog.records) == 1
    assert store.learned(ADA, "t") == 0


def test_the_least_valuable_facts_make_room(store: MemoryStore, clock: Clock) -> None:
    """They are in the history, and recalled no more."""
    say(store, ADA, *(f"I keep the key in drawer {n}." for n in range(4)), clock=clock)

    run(store, clock, max_facts=3)

    statuses = [fact.status for fact in store.facts(ADA, statuses=None)]
    assert sorted(statuses) == ["active", "active", "active", "expired"]


def test_what_a_job_did_and_cost_is_told_without_a_word_of_the_thread(
    store: MemoryStore, clock: Clock
) -> None:
    """As a sentence and as an event."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    clock.forward(30)
    told: list[JobReport] = []
    works = learner(store, clock, told=told, settings=MemorySettings(profile=False))
    works.tariff = Tariff(name="mine", read=0.1, write=1, base=2.0)

    report = works.learn(take(store, clock))

    event = event_of(report)
    assert told == [report]
    assert event["cost"] == pytest.approx(
        (report.spent.input + 5 * report.spent.output) * 2 / 1_000_000
    )
    assert (event["turns"], event["changed"], event["model"]) == (1, {"active": 1}, "scripted")
    for text in (json.dumps(event), sentence(report)):
        assert "drawer" not in text


def test_the_line_of_a_job_has_confidences_and_the_names_of_sections() -> None:
    """As `userContext.topOfMind`; and the confidence of what was not taken."""
    report = JobReport("t", 1, turns=2, place="memory.db")
    fact = Fact(FactId("f1"), "Oslo.", "context", 0.85, "2026-01-01T00:00:00Z", "t")
    section = ProfileSection("topOfMind", "Oslo.")
    report.count([PutFact(fact, "new"), WriteSection(section, "profile")])
    report.refused["it has a confidence of 0.6, not between 0.7 and 1"] += 1

    line = sentence(report)
    assert "1 active, 1 section (confidence: 0.85); updated userContext.topOfMind;" in line
    assert "not taken: 1 it has a confidence of 0.6, not between 0.7 and 1;" in line
    assert event_of(report)["sections"] == ["userContext.topOfMind"]


RUST = "I might use Rust one day, no idea."


def unsure(confidence: float, quotes: Sequence[tuple[str, float]] = ()) -> Script:
    """Propose a fact of `RUST`, and others, each with its quote."""

    def script(messages: Sequence[BaseMessage]) -> str:
        asked = str(messages[-1].content)
        number = re.search(r"^§+ (\d+), user[^\n]*\n[^§]*Rust", asked, re.MULTILINE)
        if number is None or asked.startswith("Now judge"):
            return answer(messages)
        rows = [("I might use Rust one day", confidence), *quotes]
        facts = [
            {
                "turn": int(number[1]),
                "quote": quote,
                "content": f"The user: {quote}.",
                "category": "goal",
                "confidence": sure,
            }
            for quote, sure in rows
        ]
        return json.dumps({"facts": facts})

    return script


def recalled(store: MemoryStore, question: str = "What about Rust?") -> str:
    return Memory(store, ADA, settings=MemorySettings()).recall(question).text


def exchange(store: MemoryStore, clock: Clock, text: str = RUST) -> None:
    """A turn with two answers, of which one repeats it."""
    say(store, ADA, text, clock=clock)
    say(store, ADA, "Noted, Rust it may be.", "Anything else?", clock=clock, trust=Trust.ASSISTANT)


def test_a_turn_that_was_stated_without_confidence_is_not_recalled(
    store: MemoryStore, clock: Clock
) -> None:
    """Nor are the answers to it; and no profile is asked for. An undo shows all again."""
    exchange(store, clock)
    say(store, ADA, "It rains.", clock=clock)
    say(store, ADA, "Then take a coat.", clock=clock, trust=Trust.ASSISTANT)
    assert "one day" in recalled(store)

    report = run(store, clock, unsure(0.6), profile=True)

    assert (contents(store), "Rust" in recalled(store)) == ([], False)
    assert (report.changed["hidden"], report.spent.calls) == (1, 1)
    assert [turn.text for turn in store.turns(ADA, "t", 0)] == ["It rains.", "Then take a coat."]
    (operation,) = store.operations(ADA)
    store.undo(ADA, operation.id, now=clock())
    assert "one day" in recalled(store)


@pytest.mark.parametrize(
    ("confidence", "threshold", "stays"),
    [(0.4, 0.1, False), (0.6, 0.7, False), (0.6, 0.6, True), (0.95, 0.99, False)],
)
def test_the_threshold_decides_which_turns_are_recalled(
    store: MemoryStore, clock: Clock, confidence: float, threshold: float, *, stays: bool
) -> None:
    """A confidence below 0.5 is a guess for any threshold."""
    exchange(store, clock)

    run(store, clock, unsure(confidence), fact_confidence_threshold=threshold)

    assert ("one day" in recalled(store)) == stays


def test_a_turn_with_two_statements_is_told_by_the_surer_one_alone(
    store: MemoryStore, clock: Clock
) -> None:
    """A fact was learned of it, and rests on it still."""
    exchange(store, clock, f"I live in Oslo. {RUST}")

    run(store, clock, unsure(0.6, [("I live in Oslo", 0.95)]))

    text = recalled(store, "Where do I live, and what about Rust?")
    assert "Oslo" in text
    assert "one day" not in text


@pytest.mark.parametrize("quotes", [[("I might use Rust one day", 0.9)], [("Zig", 0.3)]])
def test_a_turn_stays_whose_words_are_told_or_were_never_stated(
    store: MemoryStore, clock: Clock, quotes: list[tuple[str, float]]
) -> None:
    """The surer of two proposals on the same words wins; an invented quote hides no turn."""
    exchange(store, clock)

    run(store, clock, unsure(0.6 if quotes[0][1] == 0.9 else 0.9, quotes))

    assert "one day" in recalled(store)


def test_a_reworded_fact_keeps_its_turns_beside_an_unsure_statement(
    store: MemoryStore, clock: Clock
) -> None:
    """A learner's update is no removal: only the unsure turn is hidden."""
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)
    run(store, clock)
    say(store, ADA, "Now I keep the map in drawer 7.", RUST, clock=clock)

    def both(messages: Sequence[BaseMessage]) -> str:
        if str(messages[-1].content).startswith("Now judge"):
            return answer(messages)
        facts = [json.loads(script(messages))["facts"] for script in (answer, unsure(0.6))]
        return json.dumps({"facts": [*facts[0], *facts[1]]})

    run(store, clock, both)

    assert [turn.uid for turn in store.turns(ADA, "t", 0)] == ["t-0", "t-1"]


@pytest.mark.parametrize("verified", [True, False])
def test_yesterday_is_shown_under_the_day_of_its_message(
    store: MemoryStore, clock: Clock, *, verified: bool
) -> None:
    """A learner that copies the word leaves a fact that is still read with its day, weeks later."""

    def script(messages: Sequence[BaseMessage]) -> str:
        asked = str(messages[-1].content)
        if asked.startswith("Now judge"):
            return json.dumps({"sources": sources(asked) if verified else [], "pairs": []})
        assert "Sunday 2026-03-01" in asked
        quote = "I saw the dentist yesterday"
        fact = {"turn": 1, "quote": quote, "content": "User saw the dentist yesterday"}
        return json.dumps({"facts": [{**fact, "category": "context", "confidence": 0.9}]})

    say(store, ADA, "I saw the dentist yesterday, all fine.", clock=clock)
    run(store, clock, script)
    clock.forward(40 * 86_400)

    text = recalled(store, "When was I at the dentist?")
    heading, line = text.splitlines()[2:4]
    assert heading == "1 March 2026 Sunday"
    assert "dentist yesterday" in line
    assert ("User's words of 1 March 2026" in line) is not verified


def test_what_the_user_states_after_a_tool_and_a_page_is_a_fact(
    store: MemoryStore, clock: Clock
) -> None:
    """One search in a thread makes nothing that the user types later less reliable."""
    say(store, ADA, "Look up the library.", clock=clock)
    say(store, ADA, "Open 9 to 18.", clock=clock, trust=Trust.TOOL)
    say(store, ADA, "The page says it moves.", clock=clock, trust=Trust.WEB)
    say(store, ADA, "I keep the key in drawer 7.", clock=clock)

    run(store, clock)

    (fact,) = store.facts(ADA, statuses=None)
    assert (fact.status, fact.trust, fact.claim) == ("active", Trust.USER, "")
