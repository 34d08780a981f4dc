"""The promises of a store about turns, and about what was shown of a memory."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memory_tests.contract.suites.memory.values import (
    ADA,
    NOW,
    ODD,
    OTHERS,
    Reopen,
    at,
    commit,
    everything,
    fact,
    forget,
    found,
    leased,
    put,
    said,
)
from thalweg_memory.facts.recall.ranking import index_words
from thalweg_memory.facts.values import FactId, Profile, RecalledPart, ShownFacts
from thalweg_memory.store.records import LearningSchedule
from thalweg_memory.store.tables import MemoryStore


class TurnsContract:
    """Turns are stored verbatim, each once."""

    def test_turns_read_back_as_they_were_said(self, memory: MemoryStore, reopen: Reopen) -> None:
        """To the character, in order, with the numbers that the store assigned."""
        turns = [said(text, f"u{n}") for n, text in enumerate(ODD)]
        assert memory.capture(ADA, "t1", turns, upto=7) == len(ODD)

        for opened in (memory, reopen()):
            assert opened.turns(ADA, "t1") == [replace(t, seq=n) for n, t in enumerate(turns)]
            assert opened.turns(ADA, "t1", 1, 2) == opened.turns(ADA, "t1")[1:3]
            assert opened.captured(ADA, "t1") == 7
            assert opened.turns(ADA, "t2") == []
            assert opened.captured(ADA, "t2") == 0

    def test_a_scope_never_written_to_is_empty(self, memory: MemoryStore) -> None:
        """Asking makes nothing."""
        assert everything(memory, ADA)[:4] == (0, [], Profile(), [])
        assert memory.find(ADA, ["tea"]).total == 0
        assert memory.is_forgotten(ADA, ["tea"]) == [False]
        assert memory.capture(ADA, "t1", []) == 0
        assert memory.scopes("ada") == []

    def test_the_same_message_is_kept_once(self, memory: MemoryStore, reopen: Reopen) -> None:
        """By its id, within a call and between calls; without an id by its text and time."""
        first = [said("one", "u1"), said("two", "u2"), said("one again", "u1")]
        assert memory.capture(ADA, "t1", first) == 2
        assert reopen().capture(ADA, "t1", [said("three", "u3"), said("two", "u2")]) == 1
        assert memory.capture(ADA, "t1", [said("four"), said("four")]) == 1
        assert memory.capture(ADA, "t1", [said("four")]) == 0
        turns = memory.turns(ADA, "t1")
        assert [turn.text for turn in turns] == ["one", "two", "three", "four"]
        assert [turn.seq for turn in turns] == [0, 1, 2, 3]
        assert all(turn.uid for turn in turns)

    def test_turns_and_the_job_that_learns_from_them_are_stored_together(
        self, memory: MemoryStore
    ) -> None:
        """Both or neither: turns without a job are not learned from until the thread continues."""
        with pytest.raises(ValueError, match="NaN"):
            memory.capture(
                ADA, "t1", [said("x", "u")], schedule=LearningSchedule(at(0), 1, float("nan"))
            )
        assert memory.turns(ADA, "t1") == []
        assert memory.next_due() is None

        memory.capture(ADA, "t1", [said("x", "u")], schedule=LearningSchedule(at(0), 10, 100))
        assert memory.next_due() == at(10)

        job = leased(memory, 10, 5)
        memory.finish(job, now=at(11))
        memory.capture(ADA, "t1", [said("x", "u")], schedule=LearningSchedule(at(12), 10, 100))
        assert memory.next_due() is None

    def test_how_far_a_thread_was_looked_at_only_grows(self, memory: MemoryStore) -> None:
        """A late call about the beginning changes nothing."""
        memory.capture(ADA, "t1", [], upto=5)
        memory.capture(ADA, "t1", [said("x", "u")], upto=3)
        assert memory.captured(ADA, "t1") == 5

    def test_turns_are_found_at_once_with_their_neighbours(self, memory: MemoryStore) -> None:
        """Without prior extraction of facts; a long turn is found at its matching part."""
        texts = ["I keep bees", "How many hives?", "Eleven hives", "Lovely", "过敏的花生"]
        memory.capture(ADA, "t1", [said(text, text) for text in texts])
        memory.capture(ADA, "t2", [said("Eleven ships", "s", thread="t2")])
        assert found(memory, "hives") == {"How many hives?", "Eleven hives"}
        assert found(memory, "花生") == {"过敏的花生"}
        (number,) = memory.find(ADA, index_words("bees")).places[index_words("bees")[0]]
        near = memory.neighbours(ADA, [number], reach=2)[number]
        beside = [item.turn.text for item in memory.items(ADA, near) if item.turn]
        assert beside == ["How many hives?", "Eleven hives"]
        assert memory.items(ADA, [10_000]) == []
        newest = memory.items(ADA, memory.newest(ADA, "t1", 2))
        assert [item.text for item in newest] == ["过敏的花生", "Lovely"]
        assert memory.newest(ADA, "t3", 2) == memory.newest(OTHERS[0], "t1", 2) == []

    def test_many_writers_of_a_thread_keep_every_turn_once(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """However they race, the numbers have no gaps."""
        handles = [memory, reopen()]

        def work(number: int) -> None:
            turns = [said(f"turn {n}", f"u{n}") for n in range(number, number + 4)]
            handles[number % 2].capture(ADA, "t1", turns)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(12)))
        turns = memory.turns(ADA, "t1")
        assert [turn.seq for turn in turns] == list(range(15))
        assert {turn.uid for turn in turns} == {f"u{n}" for n in range(15)}

    def test_a_thread_has_a_mode(self, memory: MemoryStore, reopen: Reopen) -> None:
        """`on` until something else was set, of each thread and scope its own."""
        assert memory.mode(ADA, "t1") == "on"
        memory.set_mode(ADA, "t1", "incognito")
        assert reopen().mode(ADA, "t1") == "incognito"
        assert memory.mode(ADA, "t2") == "on"
        assert memory.mode(OTHERS[1], "t1") == "on"


class ToldContract:
    """The items shown in a thread, and the reasons."""

    def test_the_newest_that_was_told_is_kept(self, memory: MemoryStore, reopen: Reopen) -> None:
        """By thread and scope, newest first."""
        told = [
            ShownFacts(f"m{n}", NOW, n, (RecalledPart("told", FactId("f1")),)) for n in range(60)
        ]
        for one in told:
            memory.keep_shown(ADA, "t1", one)
        memory.keep_shown(OTHERS[0], "t1", told[0])

        again = reopen()
        assert again.shown_facts(ADA, "t1") == told[:9:-1]
        assert again.shown_facts(OTHERS[0], "t1") == told[:1]
        assert again.shown_facts(ADA, "t2") == again.shown_facts(OTHERS[1], "t1") == []

    def test_whoever_forgets_anything_forgets_what_was_told(self, memory: MemoryStore) -> None:
        """Of one scope alone."""
        commit(memory, put(fact("f1", "User has a cat")))
        for scope in (ADA, OTHERS[0]):
            memory.keep_shown(scope, "t1", ShownFacts("m1", NOW, 9, ()))
        forget(memory, "f1")

        assert memory.shown_facts(ADA, "t1") == []
        assert len(memory.shown_facts(OTHERS[0], "t1")) == 1

    def test_the_newest_pieces_of_a_thread_are_named(self, memory: MemoryStore) -> None:
        """Newest first, of this thread and scope alone."""
        for thread in ("t1", "t2"):
            memory.capture(ADA, thread, [said(f"{thread} {n}", f"m{n}") for n in range(4)])
        memory.capture(OTHERS[0], "t1", [said("t1 elsewhere", "m1")])

        named = memory.items(ADA, memory.newest(ADA, "t1", 3))
        assert [item.text for item in named] == ["t1 3", "t1 2", "t1 1"]
        assert memory.newest(ADA, "t3", 3) == memory.newest(OTHERS[1], "t1", 3) == []
