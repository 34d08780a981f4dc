"""What every store of memories promises."""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

from thalweg.engine.extras import needs_extra
from thalweg.errors import MemoryStoreError, NoSuchOperationError, StaleWriteError
from thalweg.memory.base import (
    Job,
    Learned,
    LearningSchedule,
    MemoryStore,
    Operation,
    Selection,
)
from thalweg.memory.facts.changes import Change, PutFact, RemoveFact, WriteSection
from thalweg.memory.facts.recall.found import index_words
from thalweg.memory.facts.shown import RecalledPart, ShownFacts
from thalweg.memory.facts.values import (
    Evidence,
    Fact,
    FactId,
    Profile,
    ProfileSection,
    Scope,
    Statement,
    Status,
    Trust,
)

with needs_extra("thalweg.testing.memory"):
    import pytest

Reopen = Callable[[], MemoryStore]
Gate = Callable[[], object]

ADA = Scope("ada")
OTHERS = (Scope("ada", "coder"), Scope("bob"), Scope("ada\0coder"), Scope(""))
NOW = "2026-03-01T10:00:00Z"
LATER = "2026-03-01T11:00:00Z"
ODD = (
    "half an emoji \ud83d, a NUL \0, two ends \r\n, and 'quotes\"",
    "我对花生过敏，请记住这一点。" * 90,
    "",
    "𝔘nusual " * 900,
)


def said(text: str, uid: str = "", role: str = "user", thread: str = "t1") -> Statement:
    """Make a turn."""
    assert role in {"user", "assistant"}
    known = Statement(thread, 0, "user", text, NOW, Trust.USER, author="Ada", uid=uid)
    return known if role == "user" else replace(known, role="assistant", trust=Trust.ASSISTANT)


def fact(id_: str, content: str, *quotes: tuple[str, str], thread: str = "t1") -> Fact:
    """Make a fact, with its evidence as ids of turns and quotations."""
    evidence = tuple(
        Evidence(thread, uid, quote, NOW, Trust.USER, position)
        for position, (uid, quote) in enumerate(quotes)
    )
    source = thread if quotes else "manual"
    return Fact(FactId(id_), content, "knowledge", 0.9, NOW, source, evidence=evidence)


def put(*facts: Fact) -> list[Change]:
    """Make changes that put facts."""
    return [PutFact(each, "learned") for each in facts]


def ids(facts: Iterable[Fact]) -> list[str]:
    """Name facts."""
    return [each.id for each in facts]


def commit(
    memory: MemoryStore,
    changes: Sequence[Change],
    *,
    scope: Scope = ADA,
    learned: Learned | None = None,
    lease: str = "",
    now: str = NOW,
    actor: str = "user",
) -> Operation | None:
    """Commit changes to a scope as it is."""
    return memory.commit(
        scope,
        changes,
        expected=memory.version(scope),
        actor=actor,
        now=now,
        learned=learned,
        lease=lease,
    )


def done(
    memory: MemoryStore, changes: Sequence[Change], *, scope: Scope = ADA, now: str = NOW
) -> Operation:
    """Commit changes that change something."""
    operation = commit(memory, changes, scope=scope, now=now)
    assert operation is not None
    return operation


def forget(memory: MemoryStore, *facts: str, scope: Scope = ADA, **named: Sequence[str]) -> None:
    """Forget facts, threads or turns."""
    selection = Selection(facts=tuple(FactId(id_) for id_ in facts))
    for name, values in named.items():
        selection = replace(selection, **{name: tuple(values)})  # type: ignore[arg-type]  # tuples all
    memory.forget(scope, selection, now=LATER)


def superseding(old: Fact, new: Fact) -> tuple[Fact, Fact]:
    """Let one fact supersede another."""
    ended = replace(old, status="superseded", valid_to=LATER, superseded_by=new.id)
    return ended, replace(new, supersedes=(*new.supersedes, old.id))


def at(second: float) -> str:
    """Return a time, in seconds after a fixed one."""
    whole = int(second)
    part = f".{round((second - whole) * 1_000_000):06}" if second != whole else ""
    return f"2026-03-01T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{part}Z"


def found(memory: MemoryStore, question: str, scope: Scope = ADA) -> set[str]:
    """List what is found by the words of a question."""
    places = memory.find(scope, index_words(question)).places
    numbers = sorted({number for items in places.values() for number in items})
    return {item.text for item in memory.items(scope, numbers)}


def everything(memory: MemoryStore, scope: Scope) -> tuple[object, ...]:
    """Return everything that can be read of a scope."""
    threads = ("t1", "t2", "日本")
    return (
        memory.version(scope),
        memory.facts(scope, statuses=None),
        memory.profile(scope),
        memory.operations(scope),
        [memory.turns(scope, thread) for thread in threads],
        [memory.captured(scope, thread) for thread in threads],
        [memory.learned(scope, thread) for thread in threads],
        [memory.mode(scope, thread) for thread in threads],
        memory.items(scope, range(1, 50)),
        memory.beside(scope, range(1, 50)),
    )


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
        """Both or neither: turns without a job are not learned from until the thread goes on."""
        with pytest.raises(ValueError, match="NaN"):
            memory.capture(
                ADA, "t1", [said("x", "u")], schedule=LearningSchedule(at(0), 1, float("nan"))
            )
        assert memory.turns(ADA, "t1") == []
        assert memory.next_due() is None

        memory.capture(ADA, "t1", [said("x", "u")], schedule=LearningSchedule(at(0), 10, 100))
        assert memory.next_due() == at(10)

        job = memory.lease(now=at(10), lease_s=5, worker="w")
        assert job is not None
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
        near = memory.beside(ADA, [number], reach=2)[number]
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
            memory.keep_told(ADA, "t1", one)
        memory.keep_told(OTHERS[0], "t1", told[0])

        again = reopen()
        assert again.told(ADA, "t1") == told[:9:-1]
        assert again.told(OTHERS[0], "t1") == told[:1]
        assert again.told(ADA, "t2") == again.told(OTHERS[1], "t1") == []

    def test_whoever_forgets_anything_forgets_what_was_told(self, memory: MemoryStore) -> None:
        """Of one scope alone."""
        commit(memory, put(fact("f1", "User has a cat")))
        for scope in (ADA, OTHERS[0]):
            memory.keep_told(scope, "t1", ShownFacts("m1", NOW, 9, ()))
        forget(memory, "f1")

        assert memory.told(ADA, "t1") == []
        assert len(memory.told(OTHERS[0], "t1")) == 1

    def test_the_newest_pieces_of_a_thread_are_named(self, memory: MemoryStore) -> None:
        """Newest first, of this thread and scope alone."""
        for thread in ("t1", "t2"):
            memory.capture(ADA, thread, [said(f"{thread} {n}", f"m{n}") for n in range(4)])
        memory.capture(OTHERS[0], "t1", [said("t1 elsewhere", "m1")])

        named = memory.items(ADA, memory.newest(ADA, "t1", 3))
        assert [item.text for item in named] == ["t1 3", "t1 2", "t1 1"]
        assert memory.newest(ADA, "t3", 3) == memory.newest(OTHERS[1], "t1", 3) == []


class CommitContract:
    """A commit is taken whole or not at all, and can be taken back."""

    def test_facts_read_back_as_they_were_put(self, memory: MemoryStore, reopen: Reopen) -> None:
        """Every field, oldest first, by id and by status."""
        full = Fact(
            FactId("ünusual \0 id"), ODD[0], "goal", 0.25, NOW, "t1", "ada", "pet", "cat",
            (Evidence("t1", "u1", ODD[1], NOW, Trust.TOOL, 3),), ODD[:2], Trust.TOOL, "zh", NOW,
            LATER, NOW, FactId("other"), (FactId("older"),), "quarantined", "learned:m",
            protected=True,
        )  # fmt: skip
        plain = fact("b", "plain")
        done(memory, put(full, plain))
        done(memory, put(replace(full, confidence=1)))
        for opened in (memory, reopen()):
            assert opened.facts(ADA) == [plain]
            assert opened.facts(ADA, statuses=None) == [replace(full, confidence=1), plain]
            assert opened.facts(ADA, ids=[plain.id, FactId("none")], statuses=None) == [plain]
            assert opened.facts(ADA, ids=[full.id]) == []
            assert opened.facts(ADA, statuses=["quarantined"]) == [replace(full, confidence=1)]

    def test_the_profile_reads_back_in_its_order(self, memory: MemoryStore) -> None:
        """A section without a text is omitted; one that cites missing facts is not written."""
        work, mind = (
            ProfileSection("workContext", "Works.", NOW, (FactId("a"),)),
            ProfileSection("topOfMind", "Tea."),
        )
        lost = ProfileSection("recentMonths", "Lost.", NOW, (FactId("gone"),))
        done(
            memory,
            [*(WriteSection(each, "w") for each in (mind, work, lost)), *put(fact("a", "works"))],
        )
        assert memory.profile(ADA) == Profile((work, mind))
        done(memory, [WriteSection(replace(work, text=""), "w")])
        assert memory.profile(ADA) == Profile((mind,))

    def test_a_commit_that_saw_an_older_memory_is_refused(self, memory: MemoryStore) -> None:
        """Nothing of it is there, not even how far was learned."""
        memory.capture(ADA, "t1", [said("x", "u")])
        done(memory, put(fact("a", "first")))
        with pytest.raises(StaleWriteError):
            memory.commit(
                ADA, put(fact("b", "late")), expected=0, actor="user", now=NOW,
                learned=Learned("t1", 0, 1),
            )  # fmt: skip
        assert ids(memory.facts(ADA)) == ["a"]
        assert memory.learned(ADA, "t1") == 0
        assert memory.version(ADA) == 1

    def test_of_many_commits_to_the_same_memory_one_wins(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """However they race, the others learn of it."""
        handles = [memory, reopen()]

        def write(number: int) -> bool:
            try:
                handles[number % 2].commit(
                    ADA, put(fact(f"f{number}", "x"), fact(f"g{number}", "y")), expected=0,
                    actor="user", now=NOW,
                )  # fmt: skip
            except StaleWriteError:
                return False
            return True

        with ThreadPoolExecutor(6) as pool:
            won = list(pool.map(write, range(6)))
        assert sum(won) == 1
        winner = won.index(True)
        assert ids(memory.facts(ADA)) == [f"f{winner}", f"g{winner}"]

    def test_what_changes_nothing_is_no_commit(self, memory: MemoryStore) -> None:
        """How far was learned is taken in all the same."""
        memory.capture(ADA, "t1", [said("x", "u")])
        done(memory, put(fact("a", "first")))
        same = [
            *put(fact("a", "first")),
            RemoveFact(FactId("none"), "w"),
            WriteSection(ProfileSection("topOfMind", ""), "w"),
        ]
        assert commit(memory, same, learned=Learned("t1", 0, 1)) is None
        assert memory.version(ADA) == 1
        assert len(memory.operations(ADA)) == 1
        assert memory.learned(ADA, "t1") == 1

    def test_a_thread_is_learned_from_once(self, memory: MemoryStore) -> None:
        """Who learned from the same turns second is refused."""
        memory.capture(ADA, "t1", [said("x", "u1"), said("y", "u2")])
        commit(memory, put(fact("a", "x")), learned=Learned("t1", 0, 2))
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("b", "y")), learned=Learned("t1", 0, 2))
        assert ids(memory.facts(ADA)) == ["a"]
        assert memory.learned(ADA, "t1") == 2

    def test_only_what_holds_or_held_is_found(self, memory: MemoryStore) -> None:
        """By all its wordings, as it is now; superseded facts answer questions about the past."""
        statuses: tuple[Status, ...] = ("active", "superseded", "quarantined", "expired")
        facts = [replace(fact(s, f"bees {s}"), status=s, aliases=("hives",)) for s in statuses]
        done(memory, put(*facts))
        assert found(memory, "bees") == found(memory, "hives") == {"bees active", "bees superseded"}
        done(memory, put(replace(facts[0], content="wasps"), replace(facts[1], status="expired")))
        assert found(memory, "bees") == set()
        assert found(memory, "hives") == {"wasps"}
        done(memory, [RemoveFact(FactId("active"), "w")])
        assert found(memory, "wasps hives") == set()
        assert memory.find(ADA, ["hive"]).total == 0

    def test_operations_tell_what_was_done(self, memory: MemoryStore, reopen: Reopen) -> None:
        """Newest first, of all facts or of one."""
        changes = [
            *put(fact("a", "one"), fact("b", "two")),
            WriteSection(ProfileSection("topOfMind", "Tea."), "w"),
        ]
        first = memory.commit(ADA, changes, expected=0, actor="learned:m", now=NOW, why="日本")
        second = done(memory, [RemoveFact(FactId("a"), "wrong")])
        assert first == Operation(1, NOW, "learned:m", "日本", tuple(changes))
        for opened in (memory, reopen()):
            assert opened.operations(ADA) == [second, first]
            assert opened.operations(ADA, limit=1) == [second]
            assert opened.operations(ADA, fact=FactId("b")) == [first]
            assert opened.operations(ADA, fact=FactId("a"), limit=1) == [second]

    def test_scopes_of_an_owner_are_listed(self, memory: MemoryStore) -> None:
        """Oldest first, for any names."""
        for scope in (ADA, *OTHERS):
            done(memory, put(fact("a", "x")), scope=scope)
        assert memory.scopes("ada") == [ADA, OTHERS[0]]
        assert memory.scopes("ada\0coder") == [OTHERS[2]]
        assert memory.scopes("eve") == []

    def test_a_memory_that_was_closed_says_so(self, memory: MemoryStore) -> None:
        """Closing twice is fine."""
        memory.close()
        memory.close()
        with pytest.raises(MemoryStoreError, match="closed"):
            memory.version(ADA)


class UndoContract:
    """The changes of a commit can be undone, as long as no later commit changed the same facts."""

    def test_undoing_puts_back_what_was_there(self, memory: MemoryStore) -> None:
        """Facts, sections and what they are found by; undoing that undoes it again."""
        kept = fact("k", "stays")
        done(
            memory,
            [
                *put(fact("a", "old words"), kept),
                WriteSection(ProfileSection("topOfMind", "Old."), "w"),
            ],
        )
        before = (memory.facts(ADA, statuses=None), memory.profile(ADA))
        a, b = superseding(fact("a", "old words"), fact("b", "new words"))
        second = done(
            memory,
            [
                *put(a, b),
                RemoveFact(kept.id, "w"),
                WriteSection(ProfileSection("topOfMind", "New."), "w"),
            ],
        )
        after = (memory.facts(ADA, statuses=None), memory.profile(ADA))
        undone = memory.undo(ADA, second.id, now=LATER)
        assert undone.actor == "undo"
        assert sorted(ids(before[0])) == sorted(ids(memory.facts(ADA, statuses=None)))
        assert memory.profile(ADA) == before[1]
        assert found(memory, "words stays") == {"old words", "stays"}
        memory.undo(ADA, undone.id, now=LATER)
        assert (memory.facts(ADA, statuses=None), memory.profile(ADA)) == after
        assert memory.version(ADA) == 4

    def test_what_was_changed_since_is_not_undone(self, memory: MemoryStore) -> None:
        """Nothing of it is, until the later change is undone."""
        first = done(memory, put(fact("a", "one"), fact("b", "two")))
        later = done(memory, put(fact("b", "two and a half")))
        with pytest.raises(StaleWriteError):
            memory.undo(ADA, first.id, now=LATER)
        assert ids(memory.facts(ADA)) == ["a", "b"]
        memory.undo(ADA, later.id, now=LATER)
        memory.undo(ADA, first.id, now=LATER)
        assert memory.facts(ADA, statuses=None) == []
        with pytest.raises(StaleWriteError):
            memory.undo(ADA, first.id, now=LATER)

    def test_an_operation_that_is_not_there_cannot_be_undone(self, memory: MemoryStore) -> None:
        """Nor can one of another scope."""
        done(memory, put(fact("a", "one")))
        for scope, number in ((ADA, 2), (ADA, 0), (ADA, -1), (OTHERS[0], 1)):
            with pytest.raises(NoSuchOperationError):
                memory.undo(scope, number, now=LATER)
        with pytest.raises(NoSuchOperationError):
            memory.restore(ADA, 7, now=LATER)

    def test_a_memory_is_restored_to_any_of_its_states(self, memory: MemoryStore) -> None:
        """Each undo on the way is an operation, which can be undone by restoring again."""
        states = [memory.facts(ADA)]
        for n in range(4):
            done(memory, put(fact(f"f{n}", f"fact {n}"), fact("same", f"version {n}")))
            states.append(memory.facts(ADA))
        for number in (2, 0, 4, 3):
            memory.restore(ADA, number, now=LATER)
            assert sorted(ids(memory.facts(ADA))) == sorted(ids(states[number]))
            assert set(memory.facts(ADA)) == set(states[number])
        assert memory.restore(ADA, memory.operations(ADA)[0].id, now=LATER) == []


class ForgetContract:
    """Forgotten content is in no table, and is not stored again."""

    def test_a_fact_is_forgotten_wherever_it_stands(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """With the turn it was learned from, its history, and the profile's text about it."""
        memory.capture(ADA, "t1", [said("I am allergic to peanuts", "u1"), said("Noted", "u2")])
        changes = put(
            fact("a", "Allergic to nuts", ("u1", "allergic to peanuts")), fact("b", "Oslo")
        )
        done(
            memory,
            [
                *changes,
                WriteSection(ProfileSection("topOfMind", "Nuts!", NOW, (FactId("a"),)), "w"),
            ],
        )
        done(memory, put(fact("a", "Allergic to peanuts", ("u1", "allergic to peanuts"))))
        receipt = memory.forget(ADA, Selection(facts=(FactId("a"),)), now=LATER)

        assert receipt.facts == (FactId("a"),)
        counts = receipt.turns, receipt.sections, receipt.operations
        assert counts == (1, 0, 2), counts
        assert receipt.remaining == (("t1", 0),)
        for opened in (memory, reopen()):
            told = repr(everything(opened, ADA))
            assert "peanut" not in told
            assert "nuts" not in told.lower()
            assert ids(opened.facts(ADA, statuses=None)) == ["b"]
            assert [turn.text for turn in opened.turns(ADA, "t1")] == ["Noted"]
            assert opened.profile(ADA) == Profile()
            assert found(opened, "allergic peanuts nuts") == set()
            forgot, second, first = opened.operations(ADA)
            assert (forgot.at, forgot.changes) == (LATER, ())
            assert (second.at, second.actor, second.why, second.changes) == (NOW, "user", "", ())
            assert first.changes == (PutFact(fact("b", "Oslo"), "learned"),)
            with pytest.raises(NoSuchOperationError):
                opened.undo(ADA, second.id, now=LATER)
        memory.undo(ADA, first.id, now=LATER)
        assert memory.facts(ADA) == []

    @pytest.mark.parametrize(
        "selection",
        [
            Selection(facts=(FactId("a"), FactId("none"))),
            Selection(threads=("t1", "none")),
            Selection(uids=("u1", "u2")),
            Selection(everything=True),
            Selection(),
        ],
    )
    def test_a_dry_run_tells_exactly_what_would_go(
        self, memory: MemoryStore, selection: Selection
    ) -> None:
        """And changes nothing."""
        memory.capture(ADA, "t1", [said(f"say {n} things at once", f"u{n}") for n in range(4)])
        old, new = superseding(
            fact("a", "old thing", ("u1", "say 1")), fact("b", "new thing", ("u2", "say 2"))
        )
        text = ProfileSection("topOfMind", "Things.", NOW, (FactId("b"),))
        done(memory, put(fact("a", "old thing", ("u1", "say 1"))))
        done(memory, [*put(old, new, fact("c", "mine")), WriteSection(text, "w")])
        before = everything(memory, ADA)
        told = memory.forget(ADA, selection, now=LATER, dry_run=True)
        assert everything(memory, ADA) == before
        assert told.dry_run
        receipt = memory.forget(ADA, selection, now=LATER)
        assert replace(receipt, left=(), dry_run=True) == told
        assert memory.version(ADA) == 3

    def test_a_thread_takes_along_what_was_learned_from_it_alone(self, memory: MemoryStore) -> None:
        """Facts that rest on others, too, lose its evidence, in their history as well."""
        memory.capture(ADA, "t1", [said("I have a cat", "u1")])
        memory.capture(ADA, "t2", [said("My cat is grey", "u2", thread="t2")])
        both = Evidence("t2", "u2", "cat is grey", NOW, Trust.USER, 0)
        cat = fact("cat", "Has a cat", ("u1", "have a cat"))
        done(memory, put(cat, fact("only", "Owns pets", ("u1", "I have a cat"))))
        done(memory, put(replace(cat, evidence=(*cat.evidence, both))))
        receipt = memory.forget(ADA, Selection(threads=("t1",)), now=LATER)

        assert receipt.facts == (FactId("only"),)
        (left,) = memory.facts(ADA, statuses=None)
        assert left == replace(cat, evidence=(both,))
        assert memory.turns(ADA, "t1") == []
        assert len(memory.turns(ADA, "t2")) == 1
        assert "have a cat" not in repr(memory.operations(ADA))
        memory.restore(ADA, 1, now=LATER)
        assert memory.facts(ADA, statuses=None) == [replace(cat, evidence=())]

    def test_facts_that_share_the_turn_stay_without_its_words(self, memory: MemoryStore) -> None:
        """A message may contain two facts, of which one is to be forgotten."""
        text = "I live in Oslo and I am allergic to peanuts"
        memory.capture(ADA, "t1", [said(text, "u1")])
        oslo = fact("oslo", "Lives in Oslo", ("u1", text))
        done(memory, put(oslo, fact("nuts", "Allergic to peanuts", ("u1", text))))
        forget(memory, "nuts")
        (left,) = memory.facts(ADA)
        assert left == replace(oslo, evidence=(replace(oslo.evidence[0], quote=""),))
        assert "peanut" not in repr(everything(memory, ADA))
        edited = replace(left, content="Lives in Oslo, Norway")
        done(memory, put(edited))
        assert memory.facts(ADA) == [edited]

    def test_whatever_says_the_same_word_for_word_goes_along(self, memory: MemoryStore) -> None:
        """In other facts, turns, the user's own profile, and in why something was done."""
        told = "Ada's launch code is quokka-4711"
        memory.capture(ADA, "t1", [said(f"Well: {told.upper()}!", "u1"), said("Hello", "u2")])
        done(
            memory,
            put(fact("a", told), replace(fact("b", f"I know that {told}."), status="expired")),
        )
        done(memory, [WriteSection(ProfileSection("workContext", f"Note: {told}."), "w")])
        done(memory, [PutFact(fact("c", "Fine"), f"not {told}"), RemoveFact(FactId("b"), "w")])
        commit(memory, [PutFact(fact("d", "Fine, too"), "w")])
        receipt = memory.forget(ADA, Selection(facts=(FactId("a"),)), now=LATER)
        assert receipt.facts == (FactId("a"), FactId("b"))
        assert "4711" not in repr(everything(memory, ADA))
        assert ids(memory.facts(ADA, statuses=None)) == ["c", "d"]
        assert [turn.text for turn in memory.turns(ADA, "t1")] == ["Hello"]

    def test_facts_that_only_a_forgotten_one_superseded_hold_again(
        self, memory: MemoryStore
    ) -> None:
        """In a chain the next one takes its place; what was never trusted waits for a word."""
        one, two = superseding(fact("one", "Works at Acme"), fact("two", "Works at Globex"))
        done(memory, put(fact("one", "Works at Acme")))
        done(memory, put(one, two))
        ended, three = superseding(two, fact("three", "Works at Initech"))
        done(memory, put(ended, three))

        receipt = memory.forget(ADA, Selection(facts=(FactId("two"),)), now=LATER)
        assert receipt.reopened == ()
        assert memory.facts(ADA) == [replace(three, supersedes=(one.id,))]
        receipt = memory.forget(ADA, Selection(facts=(FactId("three"),)), now=LATER)
        assert receipt.reopened == (FactId("one"),)
        assert memory.facts(ADA) == [fact("one", "Works at Acme")]
        assert found(memory, "works") == {"Works at Acme"}

        web = replace(fact("web", "Likes ads"), trust=Trust.WEB)
        done(memory, put(*superseding(web, fact("user", "Hates ads"))))
        forget(memory, "user")
        (waiting,) = memory.facts(ADA, ids=[web.id], statuses=None)
        assert (waiting.status, waiting.superseded_by, waiting.valid_to) == ("quarantined", "", "")

    def test_what_a_fact_that_holds_again_went_through_can_still_be_undone(
        self, memory: MemoryStore
    ) -> None:
        """Its images lose what was forgotten as it does itself."""
        first = done(memory, put(fact("one", "Works at Acme")))
        done(
            memory, put(*superseding(fact("one", "Works at Acme"), fact("two", "Works at Globex")))
        )
        forget(memory, "two")
        memory.undo(ADA, first.id, now=LATER)
        assert memory.facts(ADA, statuses=None) == []

    def test_what_was_forgotten_is_not_learned_again(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """Not the turn, not the fact in other letters, not another fact from the same turn."""
        memory.capture(ADA, "t1", [said("I love Rome", "u1"), said("I love Bern", "u2")])
        rome = fact("rome", "Loves Rome", ("u1", "I love Rome"))
        done(memory, put(rome, fact("bern", "Loves Bern", ("u2", "I love Bern"))))
        forget(memory, "rome")
        again = reopen()
        assert again.capture(ADA, "t1", [said("I love Rome", "u1")]) == 0
        assert again.capture(ADA, "t2", [said("I love Rome", "u1")]) == 0
        rome = replace(rome, written_by="learned:m")
        late = [
            replace(rome, id=FactId("x"), content="LOVES  rome.", evidence=()),
            replace(rome, id=FactId("y"), content="Fond of Rome"),
            replace(rome, content="Anything", evidence=()),
        ]
        assert commit(again, put(*late), actor="learned:model") is None
        bern = fact("bern", "Loves Bern", ("u2", "I love Bern"))
        merged = replace(
            bern, aliases=("loves rome", "fond"), evidence=(*bern.evidence, *rome.evidence)
        )
        done(again, put(merged))
        assert memory.facts(ADA, statuses=None) == [replace(bern, aliases=("fond",))]
        texts = ["loves rome!", "u1", "rome", "u2", "Loves Bern"]
        assert memory.is_forgotten(ADA, texts) == [True, True, True, False, False]
        assert memory.is_forgotten(OTHERS[0], texts) == [False] * 5
        assert memory.capture(OTHERS[0], "t1", [said("I love Rome", "u1")]) == 1
        told = memory.forget(ADA, Selection(uids=("u2",)), now=LATER).hashes
        memory.capture(OTHERS[0], "t1", [said("I love Bern", "u2")])
        other = memory.forget(OTHERS[0], Selection(uids=("u2",)), now=LATER).hashes
        assert told
        assert other
        assert not set(told) & set(other)

    def test_the_user_may_say_again_what_was_forgotten(self, memory: MemoryStore) -> None:
        """In their own name, as a fact of its own; a learner still may not."""
        done(memory, put(fact("a", "Loves Rome"), fact("b", "Loves Bern")))
        forget(memory, "a", "b")
        again = [fact("c", "Loves Rome"), replace(fact("d", "Loves Bern"), written_by="learned:m")]
        done(memory, put(*again))
        assert memory.facts(ADA) == again[:1]
        assert memory.is_forgotten(ADA, ["Loves Rome", "Loves Bern"]) == [False, True]

    def test_a_fact_that_was_dropped_is_forgotten_from_the_log(self, memory: MemoryStore) -> None:
        """It is in no list any more, but it is somewhere."""
        done(memory, put(fact("a", "Has four grey donkeys"), fact("b", "x")))
        done(memory, [RemoveFact(FactId("a"), "wrong")])
        receipt = memory.forget(ADA, Selection(facts=(FactId("a"),)), now=LATER)
        assert (receipt.facts, receipt.operations) == ((FactId("a"),), 2)
        assert "donkey" not in repr(everything(memory, ADA))

    def test_everything_of_a_scope_is_forgotten_and_nothing_of_others(
        self, memory: MemoryStore
    ) -> None:
        """The modes of threads are kept: an incognito thread remains one."""
        for scope in (ADA, *OTHERS):
            memory.capture(scope, "t1", [said("I love Rome", "u1")], upto=3)
            done(
                memory,
                [
                    *put(fact("a", "Loves Rome", ("u1", "love"))),
                    WriteSection(ProfileSection("topOfMind", "Rome"), "w"),
                ],
                scope=scope,
            )
            memory.set_mode(scope, "t2", "incognito")
        others = [everything(memory, scope) for scope in OTHERS]
        receipt = memory.forget(ADA, Selection(everything=True), now=LATER)
        assert (receipt.turns, receipt.sections, receipt.operations) == (1, 1, 1)
        assert "Rome" not in repr(everything(memory, ADA))
        assert memory.captured(ADA, "t1") == 3
        assert memory.mode(ADA, "t2") == "incognito"
        assert memory.find(ADA, ["rome"]).total == 0
        assert [everything(memory, scope) for scope in OTHERS] == others
        assert memory.capture(ADA, "t1", [said("Rome again", "u2")]) == 1
        assert [turn.thread for turn in memory.turns(ADA, "t1")] == ["t1"]
        assert found(memory, "rome") == {"Rome again"}

    def test_a_commit_planned_before_is_refused(self, memory: MemoryStore) -> None:
        """By the version, and its lease is void."""
        memory.capture(ADA, "t1", [said("x", "u1")])
        memory.note(ADA, "t1", now=at(0), debounce_s=0, max_wait_s=0)
        job = memory.lease(now=at(1), lease_s=60, worker="w")
        assert job is not None
        version = memory.version(ADA)
        forget(memory, uids=["u1"])
        with pytest.raises(StaleWriteError):
            memory.commit(ADA, put(fact("a", "x")), expected=version, actor="w", now=at(2))
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("a", "x")), lease=job.lease, now=at(2))
        assert memory.facts(ADA) == []


class JobsContract:
    """Threads are learned from once they are quiet, by one worker each, in turn."""

    def test_a_thread_is_due_when_it_is_quiet_or_has_waited_enough(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """The longest wait is counted from the first note, however many come after."""
        for second in range(0, 100, 5):
            memory.note(ADA, "t1", now=at(second), debounce_s=10, max_wait_s=100)
        assert memory.next_due() == at(100)
        memory.note(ADA, "t2", now=at(20.5), debounce_s=10, max_wait_s=100)
        assert reopen().next_due() == at(30.5)
        assert memory.lease(now=at(30.4), lease_s=60, worker="w") is None
        job = memory.lease(now=at(30.5), lease_s=60, worker="w")
        assert job == Job(ADA, "t2", job.lease if job else "", 1)

    def test_a_leased_thread_is_nobody_elses_until_the_lease_runs_out(
        self, memory: MemoryStore, reopen: Reopen
    ) -> None:
        """A worker that vanished is replaced; what it brings later is refused."""
        memory.note(ADA, "t1", now=at(0), debounce_s=0, max_wait_s=0)
        first = memory.lease(now=at(0), lease_s=10, worker="one")
        assert first is not None
        assert reopen().lease(now=at(9), lease_s=10, worker="two") is None
        assert memory.next_due() == at(10)
        second = reopen().lease(now=at(10), lease_s=10, worker="two")
        assert second is not None
        assert (second.thread, second.attempt) == ("t1", 2)
        assert second.lease != first.lease
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("a", "x")), lease=first.lease, now=at(11))
        memory.finish(first, now=at(11))
        assert memory.next_due() == at(20)
        commit(memory, put(fact("b", "y")), lease=second.lease, now=at(12))
        memory.finish(second, now=at(12))
        assert memory.next_due() is None
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("c", "z")), lease=second.lease, now=at(13))
        assert ids(memory.facts(ADA)) == ["b"]

    def test_a_lease_that_ran_out_is_void_though_nobody_took_it(self, memory: MemoryStore) -> None:
        """The clock alone ends it."""
        memory.note(ADA, "t1", now=at(0), debounce_s=0, max_wait_s=0)
        job = memory.lease(now=at(0), lease_s=10, worker="one")
        assert job is not None
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("a", "x")), lease=job.lease, now=at(10))
        memory.finish(job, now=at(10))
        assert memory.lease(now=at(10), lease_s=10, worker="one") is not None

    def test_what_comes_while_a_thread_is_learned_from_is_a_job_of_its_own(
        self, memory: MemoryStore
    ) -> None:
        """Its longest wait begins with its own first note."""
        memory.note(ADA, "t1", now=at(0), debounce_s=10, max_wait_s=20)
        job = memory.lease(now=at(10), lease_s=100, worker="w")
        assert job is not None
        for second in (12, 20, 28):
            memory.note(ADA, "t1", now=at(second), debounce_s=10, max_wait_s=20)
        memory.finish(job, now=at(29))
        assert memory.next_due() == at(32)
        again = memory.lease(now=at(32), lease_s=100, worker="w")
        assert again is not None
        assert again.attempt == 1
        memory.finish(again, now=at(33))
        assert memory.next_due() is None

    def test_a_job_that_failed_is_tried_again_no_sooner(self, memory: MemoryStore) -> None:
        """Independent of turns that are recorded meanwhile."""
        memory.note(ADA, "t1", now=at(0), debounce_s=1, max_wait_s=5)
        job = memory.lease(now=at(1), lease_s=100, worker="w")
        assert job is not None
        memory.finish(job, now=at(2), retry_s=60)
        memory.note(ADA, "t1", now=at(3), debounce_s=1, max_wait_s=5)
        assert memory.next_due() == at(62)
        assert memory.lease(now=at(61), lease_s=100, worker="w") is None
        again = memory.lease(now=at(62), lease_s=100, worker="w")
        assert again is not None
        assert again.attempt == 2

    def test_owners_who_write_without_pause_are_all_served(self, memory: MemoryStore) -> None:
        """64 of them, each within its longest wait and the time that one round takes."""
        owners = [Scope(f"o{n}") for n in range(64)]
        since: dict[Scope, float] = {}
        waits: dict[Scope, list[float]] = {}
        for second in range(0, 200, 4):
            for owner in owners:
                memory.note(owner, "t", now=at(second), debounce_s=30, max_wait_s=60)
                since.setdefault(owner, second)
            for part in range(1, 4):
                job = memory.lease(now=at(second + part), lease_s=60, worker="w")
                if job is not None:
                    waited = second + part - since.pop(job.scope)
                    waits.setdefault(job.scope, []).append(waited)
                    memory.finish(job, now=at(second + part))
        assert waits.keys() == set(owners)
        assert all(60 <= wait <= 60 + 64 * 4 / 3 for each in waits.values() for wait in each)

    def test_owners_take_turns_however_many_threads_one_has(self, memory: MemoryStore) -> None:
        """One who came first with many does not keep the others waiting."""
        for n in range(20):
            memory.note(Scope("busy"), f"t{n}", now=at(n), debounce_s=0, max_wait_s=0)
        for n in range(8):
            for thread in ("t1", "t2"):
                memory.note(Scope(f"o{n}"), thread, now=at(30), debounce_s=0, max_wait_s=0)
        served = []
        for second in range(100, 136):
            job = memory.lease(now=at(second), lease_s=60, worker="w")
            assert job is not None
            served.append(job.scope.owner)
            memory.finish(job, now=at(second))
        assert served[0] == "busy"
        assert len(set(served[:9])) == 9
        assert served.count("busy") == 20
        assert served[:18].count("busy") == 2

    def test_workers_never_share_a_thread(self, memory: MemoryStore, reopen: Reopen) -> None:
        """However many there are, each job is leased once."""
        for n in range(24):
            memory.note(Scope(f"o{n % 5}"), f"t{n}", now=at(n), debounce_s=0, max_wait_s=0)
        handles = [memory, reopen(), reopen()]

        def work(number: int) -> list[tuple[Scope, str]]:
            taken = []
            while job := handles[number % 3].lease(now=at(99), lease_s=999, worker=str(number)):
                taken.append((job.scope, job.thread))
            return taken

        with ThreadPoolExecutor(6) as pool:
            taken = [job for jobs in pool.map(work, range(6)) for job in jobs]
        assert len(taken) == len(set(taken)) == 24


class RacesContract:
    """A concurrent deletion or edit takes precedence over extracted facts."""

    ROUNDS = 67
    """Of each of three races."""

    @pytest.mark.parametrize("how", ["forget", "clear", "edit"])
    def test_nothing_comes_back_that_was_deleted_while_it_was_learned(
        self, memory: MemoryStore, reopen: Reopen, how: str
    ) -> None:
        """In every interleaving: before, between and after what a learner reads and commits."""
        other = reopen()
        chance = random.Random(how)  # noqa: S311 (no secret)
        with ThreadPoolExecutor(2) as pool:
            for number in range(self.ROUNDS):
                scope = Scope(f"{how} {number}")
                prepare(memory, scope)
                gate = Barrier(2)
                delays = [chance.random() * 0.004 for _ in range(6)]
                learning = pool.submit(learn, other, scope, gate.wait, delays)
                deleting = pool.submit(
                    delete, memory, scope, gate.wait, chance.random() * 0.012, how
                )
                learning.result()
                deleting.result()
                check(memory, scope, how)


def prepare(memory: MemoryStore, scope: Scope) -> None:
    """Let there be something to learn from, and something to delete."""
    memory.capture(scope, "t1", [said("I love Rome", "u1"), said("I love Bern", "u2")])
    done(memory, put(fact("rome", "Loves Rome", ("u1", "love Rome"))), scope=scope)
    memory.note(scope, "t1", now=at(0), debounce_s=0, max_wait_s=0)


def learn(memory: MemoryStore, scope: Scope, gate: Gate, delays: Sequence[float]) -> None:
    """Learn from turns once, and try again to commit it, as a worker does."""
    gate()
    job = memory.lease(now=at(1), lease_s=999, worker="w")
    turns = memory.turns(scope, "t1")
    for delay in delays:
        version, known = memory.version(scope), memory.facts(scope, statuses=None)
        time.sleep(delay)
        new = [
            fact(f"new {t.uid}", t.text.replace("I love", "Loves"), (t.uid, t.text)) for t in turns
        ]
        again = [replace(f, aliases=("Fond of Rome",)) for f in known if f.id == "rome"]
        try:
            memory.commit(
                scope, put(*new, *again), expected=version, actor="learned:m", now=at(2),
                learned=Learned("t1", memory.learned(scope, "t1"), 2),
                lease=job.lease if job else "",
            )  # fmt: skip
        except StaleWriteError:
            continue
        break
    if job is not None:
        memory.finish(job, now=at(3))


def delete(memory: MemoryStore, scope: Scope, gate: Gate, delay: float, how: str) -> None:
    """Forget, clear or edit, as a user does."""
    gate()
    time.sleep(delay)
    if how == "forget":
        forget(memory, "rome", scope=scope)
    elif how == "clear":
        memory.forget(scope, Selection(everything=True), now=LATER)
    while how == "edit":
        edited = replace(fact("rome", "Left Rome"), written_by="user", protected=True)
        try:
            commit(memory, put(edited), scope=scope)
        except StaleWriteError:
            continue
        break


def check(memory: MemoryStore, scope: Scope, how: str) -> None:
    """See that the user won."""
    told = repr(everything(memory, scope))
    facts = memory.facts(scope, statuses=None)
    if how == "edit":
        assert [each.content for each in facts if each.id == "rome"] == ["Left Rome"]
        return
    assert "Rome" not in told
    assert found(memory, "rome", scope) == set()
    if how == "clear":
        assert memory.turns(scope, "t1") == []
        assert facts == []


class MemoryStoreContract(
    TurnsContract,
    ToldContract,
    CommitContract,
    UndoContract,
    ForgetContract,
    JobsContract,
    RacesContract,
):
    """The promises of a store of memories, as tests.

    Subclass it in your own suite and define two fixtures: `memory`, a fresh and empty store, and
    `reopen`, which opens a second handle on the same data, as another process would. Where data
    ends with its handle, `reopen` may return the store itself.
    """
