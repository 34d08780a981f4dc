"""What removed content costs an agent, under our policy and under an installed peer."""

from collections.abc import Sequence

from benchmarks.arena.policies import contestant_named
from core_tests.archives import archive_in_memory
from recorder_tests.unit.lab.replay.test_harm import RUN, SHA
from recorder_tests.unit.lab.replay.threads import answered, asked, driven, said
from thalweg.archive import ThreadKey
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.harm import LOST, Miss
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.subject import subject_of


def test_our_archive_loses_nothing_that_langchain_loses() -> None:
    """Driven for real: a command's output that was summarized away is found again by ours."""
    thread = [*RUN[:3]]
    for n in range(40):
        thread += [asked(f"n{n}", "bash", command=f"ls {n}")]
        thread += [answered(f"n{n}", "bash", f"file {n} " + "owl " * 900)]
    thread += [said("assistant", f"It is {SHA}.")]
    subject = subject_of(Recording("long", "long", tuple(thread)), Questions())

    def found(policy: str) -> Sequence[Miss]:
        archive = archive_in_memory(b"tests")
        budget, key = Budget(window=20_000), ThreadKey("tests", policy)
        contestant = contestant_named(policy, budget, TARIFFS["anthropic"], archive, key)
        return driven(subject, contestant, window=20_000).misses

    ours, theirs = found("thalweg"), found("peer:langchain-summarization")

    assert [(m.use.kind, m.steps == LOST) for m in ours] == [("command", False)]
    assert [(m.use.kind, m.steps == LOST) for m in theirs] == [("command", True)]
