"""The promises of a store about forgetting."""

from dataclasses import replace

import pytest

from memory_tests.contract.suites.memory.values import (
    ADA,
    LATER,
    NOW,
    OTHERS,
    Reopen,
    at,
    commit,
    done,
    everything,
    fact,
    forget,
    found,
    ids,
    leased,
    mind,
    put,
    said,
    superseding,
)
from thalweg.errors import NoSuchOperationError, StaleWriteError
from thalweg_memory.facts.values import (
    Evidence,
    FactId,
    Profile,
    ProfileSection,
    PutFact,
    RemoveFact,
    Trust,
    WriteSection,
)
from thalweg_memory.store.records import Selection
from thalweg_memory.store.tables import MemoryStore


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
        done(memory, [*changes, mind("Nuts!", "a")])
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
        done(memory, put(fact("a", "old thing", ("u1", "say 1"))))
        done(memory, [*put(old, new, fact("c", "mine")), mind("Things.", "b")])
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

    def test_the_answers_to_a_forgotten_turn_are_deleted(self, memory: MemoryStore) -> None:
        """They may repeat it in other words; the user's next message is kept."""
        texts = ("I live in Oslo", "How is Norway's capital?", "Hm", "Tell me more")
        turns = [said(texts[0], "u1"), said(texts[1], "u2", "assistant")]
        turns += [said(texts[2], "u3"), said(texts[3], "u4", "assistant")]
        memory.capture(ADA, "t1", turns)
        memory.capture(ADA, "t2", [said("Any news?", "u5", "assistant", "t2")])
        done(memory, put(fact("a", "Lives in Oslo", ("u1", "live in Oslo"))))
        assert memory.forget(ADA, Selection(facts=(FactId("a"),)), now=LATER).turns == 2
        assert [turn.text for turn in memory.turns(ADA, "t1")] == [*texts[2:]]
        assert len(memory.turns(ADA, "t2")) == 1
        assert memory.capture(ADA, "t1", turns) == 0

    def test_facts_of_a_deleted_answer_are_deleted(self, memory: MemoryStore) -> None:
        """Those that have no other evidence."""
        turns = [said("I live in Oslo", "u1"), said("Norway's capital?", "u2", "assistant")]
        memory.capture(ADA, "t1", turns)
        done(memory, put(fact("a", "Lives in Norway", ("u2", "Norway's capital"))))
        memory.forget(ADA, Selection(uids=("u1",)), now=LATER)
        assert memory.facts(ADA, statuses=None) == []

    @pytest.mark.parametrize("again", [True, False])
    def test_an_answer_after_its_turn_was_forgotten_is_not_stored(
        self, memory: MemoryStore, *, again: bool
    ) -> None:
        """The run that answers may end later, with all of its messages or the new ones."""
        question, answer = said("I live in Oslo", "u1"), said("Norway?", "u2", "assistant")
        more = [said("Hm", "u3"), said("Yes?", "u4", "assistant")]
        memory.capture(ADA, "t1", [question])
        memory.forget(ADA, Selection(uids=("u1",)), now=LATER)
        memory.capture(ADA, "t1", [*[question] * again, answer, *more])
        assert [turn.text for turn in memory.turns(ADA, "t1")] == ["Hm", "Yes?"]

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
        assert "quokka" not in repr(everything(memory, ADA)).lower()
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

    def test_only_whole_words_and_signs_are_the_same(self, memory: MemoryStore) -> None:
        """`flat 1` is not in `flat 12`, `C` is not `C++`, in facts, turns and tombstones alike."""
        turns = ["I know: user lives in flat 1!", "User lives in flat 120 of the tower"]
        memory.capture(ADA, "t1", [said(text, f"u{n}") for n, text in enumerate(turns)])
        gone = ["User lives in flat 1", "User writes C", "用户住在一号楼"]
        kept = ["User lives in flat 12 now", "User writes C++", "Limit is -5"]
        names = [f"{n}" for n in range(6)]
        done(memory, put(*map(fact, names, [*gone, *kept])))
        memory.capture(
            ADA, "t1", [said("对了，用户住在一号楼。", "u3"), said("用户住在十一号楼", "u4")]
        )
        forget(memory, "0", "1", "2")
        assert [each.content for each in memory.facts(ADA)] == kept
        assert [turn.text for turn in memory.turns(ADA, "t1")] == [turns[1], "用户住在十一号楼"]
        texts = [*gone, "user writes C!", *kept, "User writes C#"]
        assert memory.is_forgotten(ADA, texts) == [True] * 4 + [False] * 4

    def test_a_text_is_found_in_markup(self, memory: MemoryStore) -> None:
        """Its signs do not matter if they touch a word; those of values do."""
        place, drink = "User lives in Berlin", "User likes tea"
        turns = [f"<b>{place}</b>", f"|{place}|", f"~{place}~", f"={place}", f"{place}/"]
        turns += [f"-{place}", f"{place}--yes", f"{place}\\n", f"> {drink}", f"| {drink} |"]
        kept = ["User writes C/C#", "Offset is 5/5", "User lives in flat 1/12"]
        memory.capture(ADA, "t1", [said(text, f"u{n}") for n, text in enumerate([*turns, *kept])])
        gone = [place, drink, "User writes C/C++", "Offset is 5/-5", "User lives in flat 1"]
        done(memory, put(*(fact(f"{n}", text) for n, text in enumerate([*gone, kept[0]]))))
        forget(memory, *map(str, range(len(gone))))
        assert [turn.text for turn in memory.turns(ADA, "t1")] == kept
        assert [each.content for each in memory.facts(ADA)] == kept[:1]

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
            rome = put(fact("a", "Loves Rome", ("u1", "love")))
            done(memory, [*rome, mind("Rome")], scope=scope)
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
        job = leased(memory, 1)
        version = memory.version(ADA)
        forget(memory, uids=["u1"])
        with pytest.raises(StaleWriteError):
            memory.commit(ADA, put(fact("a", "x")), expected=version, actor="w", now=at(2))
        with pytest.raises(StaleWriteError):
            commit(memory, put(fact("a", "x")), lease=job.lease, now=at(2))
        assert memory.facts(ADA) == []
