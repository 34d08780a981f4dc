"""The promises of a store about commits, and about undoing them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memory_tests.contract.suites.memory.values import (
    ADA,
    LATER,
    NOW,
    ODD,
    OTHERS,
    Reopen,
    commit,
    done,
    fact,
    found,
    ids,
    mind,
    put,
    said,
    superseding,
)
from thalweg.errors import MemoryStoreError, NoSuchOperationError, StaleWriteError
from thalweg_memory.facts.values import (
    Evidence,
    Fact,
    FactId,
    Hide,
    Profile,
    ProfileSection,
    RemoveFact,
    Status,
    Trust,
    WriteSection,
)
from thalweg_memory.store.records import Learned, Operation
from thalweg_memory.store.tables import MemoryStore


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
        same = [*put(fact("a", "first")), RemoveFact(FactId("none"), "w"), mind("")]
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
        changes = [*put(fact("a", "one"), fact("b", "two")), mind("Tea.")]
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
        done(memory, [*put(fact("a", "old words"), kept), mind("Old.")])
        before = (memory.facts(ADA, statuses=None), memory.profile(ADA))
        a, b = superseding(fact("a", "old words"), fact("b", "new words"))
        second = done(memory, [*put(a, b), RemoveFact(kept.id, "w"), mind("New.")])
        after = (memory.facts(ADA, statuses=None), memory.profile(ADA))
        undone = memory.undo(ADA, second.id, now=LATER)
        assert undone.actor == "undo"
        assert sorted(ids(before[0])) == sorted(ids(memory.facts(ADA, statuses=None)))
        assert memory.profile(ADA) == before[1]
        assert found(memory, "words stays") == {"old words", "stays"}
        memory.undo(ADA, undone.id, now=LATER)
        assert (memory.facts(ADA, statuses=None), memory.profile(ADA)) == after
        assert memory.version(ADA) == 4

    def test_undoing_another_operation_does_not_undo_a_clear(self, memory: MemoryStore) -> None:
        """A run that began before the clear stays hidden until the clear itself is undone."""
        done(memory, put(fact("a", "tea"), fact("b", "figs")))
        begun = memory.version(ADA)
        cleared = done(memory, [RemoveFact(FactId("a"), "w"), Hide("cleared")])
        memory.capture(ADA, "t1", [said("I like figs.", "u1")])
        removed = done(memory, [RemoveFact(FactId("b"), "w"), Hide("w", uids=("u1",))])
        assert memory.turns(ADA, "t1") == []
        memory.capture(ADA, "t2", [said("first", "u2", thread="t2")], begun=begun)
        memory.undo(ADA, removed.id, now=LATER)
        memory.capture(ADA, "t2", [said("second", "u3", thread="t2")], begun=begun)
        assert memory.turns(ADA, "t1")
        assert memory.turns(ADA, "t2") == []

        undone = memory.undo(ADA, cleared.id, now=LATER)
        memory.capture(ADA, "t2", [said("third", "u4", thread="t2")], begun=begun)
        assert len(memory.turns(ADA, "t2")) == 3

        memory.undo(ADA, undone.id, now=LATER)
        memory.capture(ADA, "t3", [said("fourth", "u5", thread="t3")], begun=begun)
        assert len(memory.turns(ADA, "t2")) == 1
        assert memory.turns(ADA, "t3") == []

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
