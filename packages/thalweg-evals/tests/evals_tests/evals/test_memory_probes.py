"""The probes of memory: they pass with our memory, and fail where it is broken on purpose."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evals_tests.evals.remembering import AT_ONCE, Remembering, tried
from thalweg_evals.base import Probe
from thalweg_evals.grading import denies_knowing
from thalweg_evals.probes import memory_abstention, memory_recall, memory_update
from thalweg_evals.probes.memory_abstention import Abstention
from thalweg_evals.scripted.learning import ScriptedNote
from thalweg_evals.trace import Request, Trace, TracedTurn
from thalweg_evals.trace import TracedMessage as Shown
from thalweg_memory import Memory, MemoryStore, recalling
from thalweg_memory.facts.changes import Change, PutFact
from thalweg_memory.facts.gates.judging import Verdict
from thalweg_memory.facts.learning import lesson
from thalweg_memory.facts.proposals import Proposal
from thalweg_memory.facts.values import Evidence, Fact, Scope, Trust
from thalweg_memory.facts.values import Statement as Said

RECALL, UPDATE, ABSTENTION = memory_recall.PROBE, memory_update.PROBE, memory_abstention.PROBE
CASES = [(probe, variant) for probe in (RECALL, UPDATE, ABSTENTION) for variant in probe.variants]


@pytest.mark.parametrize(
    ("probe", "variant"), CASES, ids=lambda part: str(getattr(part, "name", part))
)
def test_an_agent_with_our_memory_passes(probe: Probe, variant: str, tmp_path: Path) -> None:
    subject = Remembering()
    score, _ = tried(probe, variant, tmp_path, subject=subject)
    assert score.verdict == "passed", score.why
    assert subject.facts


@pytest.mark.parametrize("variant", RECALL.variants)
def test_a_model_that_notes_nothing_is_told_what_was_said_all_the_same(
    variant: str, tmp_path: Path
) -> None:
    subject = Remembering()
    score, _ = tried(RECALL, variant, tmp_path, subject=subject, competence="forgetful")
    assert score.verdict == "passed", score.why
    assert not subject.facts


def test_an_agent_that_has_to_ask_its_memory_finds_it(tmp_path: Path) -> None:
    subject = Remembering(AT_ONCE.model_copy(update={"mode": "tool"}))
    score, trace = tried(RECALL, "among_many", tmp_path, subject=subject)
    assert score.verdict == "passed", score.why
    assert [call.name for _, call in trace.calls()] == ["recall_memory"]


def test_what_holds_may_follow_what_held_in_the_users_own_words() -> None:
    case = memory_update.make("moved", Random(1))  # noqa: S311 (not a secret)
    told = [f"- User: {said}" for said in case.stated]
    fact = f"- The user lives in {case.new}."
    for lines, verdict in {
        (*told, fact): "passed",
        (fact, told[0]): "failed",
        (fact, f"- The user lives in {case.old}. (until 3 May 2026)"): "passed",
    }.items():
        assert case.grade(_asked("\n".join(lines), f"In {case.new}.")).verdict == verdict


def _asked(shown: str, answer: str) -> Trace:
    """Write a trace of one request."""
    request = Request(
        number=0, turn=0, thread="b", kind="agent", messages=(Shown("user", shown),), tools=(),
        tokens=0, answer=None,
    )  # fmt: skip
    return Trace(requests=[request], turns=[TracedTurn("b", "?", answer)])


# -- broken on purpose -------------------------------------------------------------------------


def finds_nothing(store: MemoryStore) -> None:
    """Have a memory keep everything and find nothing of it."""
    nobody = Scope("nobody")
    find, facts, profile = store.find, store.facts, store.profile
    store.find = lambda _, *given, **named: find(nobody, *given, **named)  # type: ignore[method-assign]
    store.facts = lambda _, **named: facts(nobody, **named)  # type: ignore[method-assign]
    store.profile = lambda scope: profile(replace(scope, owner=nobody.owner))  # type: ignore[method-assign]


@pytest.mark.parametrize("variant", RECALL.variants)
def test_a_memory_that_finds_nothing_does_not_recall(variant: str, tmp_path: Path) -> None:
    score, trace = tried(RECALL, variant, tmp_path, subject=Remembering(prepare=finds_nothing))
    assert score.verdict == "failed"
    assert "was not in the other thread's context" in score.why
    assert "<memory>" not in trace.requests[-1].text()


def without_superseding(facts: Sequence[Fact], new: Sequence[Fact], **_: object) -> list[Change]:
    """Add every fact without replacing the one that it updates."""
    del facts
    return [PutFact(fact, "is new") for fact in new]


@pytest.mark.parametrize("variant", ["moved", "corrected"])
def test_where_nothing_is_superseded_the_old_stands_beside_the_new(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "plan_merge", without_superseding)
    monkeypatch.setattr(recalling, "current", lambda facts, _="", **__: (list(facts), []))
    score, _ = tried(UPDATE, variant, tmp_path)
    assert score.verdict == "failed"
    assert (
        "as if both were valid" in score.why
        or "the newest, was in the model's context" in score.why
    )


def lets_everything_through(proposal: Proposal, turns: Sequence[Said], **_: object) -> Verdict:
    """Keep all proposals of a learner."""
    turn = next(turn for turn in turns if turn.uid == proposal.uid)
    evidence = Evidence(turn.thread, turn.uid, turn.text, turn.said_at, Trust.USER)
    return Verdict("keep", "is kept", proposal, (evidence,), Trust.USER)


@dataclass
class MadeUp(Abstention):
    """Its learner makes a code up where the user talks of tea."""

    facts: tuple[ScriptedNote, ...] = (
        ScriptedNote(r"my favourite (tea)", "The code of the user's bike lock is 4711.", "code"),
    )


def _make_up(variant: str, dice: Random) -> Abstention:
    made = memory_abstention.make(variant, dice)
    return MadeUp(topic=made.topic, secret=made.secret, whose=made.whose, stated=made.stated)


MAKES_UP = replace(ABSTENTION, make=_make_up)


def test_what_a_learner_makes_up_does_not_pass_the_gates(tmp_path: Path) -> None:
    score, _ = tried(MAKES_UP, "never_said", tmp_path)
    assert score.verdict == "passed", score.why


def test_where_the_gates_are_open_what_a_learner_makes_up_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "judge", lets_everything_through)
    score, _ = tried(MAKES_UP, "never_said", tmp_path)
    assert score.verdict == "failed"
    assert score.why == "invented content: 'It is 4711.'"


def tells_of_others(store: MemoryStore) -> None:
    """Have a memory recall another owner's facts."""
    other = Scope("somebody else")
    Memory(store, other).remember("The code of the user's bike lock is 8080.")
    facts = store.facts
    store.facts = lambda _, **named: facts(other, **named)  # type: ignore[method-assign]
    opened: Any = store
    opened.view = lambda _: nullcontext()


def test_a_memory_that_tells_of_other_owners_does_not_abstain(tmp_path: Path) -> None:
    score, _ = tried(
        ABSTENTION, "never_said", tmp_path, subject=Remembering(prepare=tells_of_others)
    )
    assert score.verdict == "failed"
    assert "8080" in score.why


def test_what_an_owner_has_forgotten_and_is_kept_is_told(tmp_path: Path) -> None:
    def keeps(store: MemoryStore) -> None:
        forget = store.forget
        store.forget = lambda *given, **named: forget(*given, **{**named, "dry_run": True})  # type: ignore[method-assign]

    score, _ = tried(ABSTENTION, "forgotten", tmp_path, subject=Remembering(prepare=keeps))
    assert score.verdict == "failed"
    assert "was to be forgotten, and was reported" in score.why


# -- graders -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    ["unknown", "I don't know.", "Unknown - you haven’t told me.", "I have no record of that.",
     "That has not been mentioned.", "I'm not sure."],
)  # fmt: skip
def test_saying_that_one_does_not_know_is_no_invention(answer: str) -> None:
    assert denies_knowing(answer)


def test_what_was_said_of_somebody_else_may_be_told_as_theirs() -> None:
    case = memory_abstention.make("somebody_else", Random(1))  # noqa: S311 (not a secret)
    answers = {
        f"It is {case.secret}.": "failed",
        f"Yours is unknown; {case.whose}'s is {case.secret}.": "passed",
        f"I do not know, perhaps {case.secret}.": "failed",
    }
    for answer, verdict in answers.items():
        assert case.grade(Trace(turns=[TracedTurn("b", "?", answer)])).verdict == verdict


@pytest.mark.parametrize("set_as", [str.upper, str.title, "**{}**".format])
def test_a_value_is_told_however_it_is_set(set_as: Callable[[str], str]) -> None:
    """A small model writes a tea as a name."""
    recall = memory_recall.make("preference", Random(1))  # noqa: S311 (no secret)
    update = memory_update.make("moved", Random(1))  # noqa: S311 (no secret)
    for case, value in ((recall, recall.value), (update, update.new)):
        trace = Trace(turns=[TracedTurn("b", "?", f"It is {set_as(value)}.")])
        assert case.grade(trace).verdict == "passed"
