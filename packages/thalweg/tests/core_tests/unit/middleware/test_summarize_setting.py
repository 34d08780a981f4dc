"""A policy decides whether a compaction has a summary, and a closed middleware keeps none."""

import threading
from collections.abc import Sequence

import pytest
from langchain_core.messages import BaseMessage

from core_tests.e2e.test_summaries import KEY, POLICY, Speaker, Thread, faithful, fold_of, scribe


@pytest.mark.parametrize("summarize", [True, False])
def test_a_compaction_has_a_summary_if_the_policy_wants_one(*, summarize: bool) -> None:
    thread = Thread(Speaker(), POLICY.model_copy(update={"summarize": summarize}))
    page = thread.fold()

    assert bool(thread.speaker.asked) == summarize
    assert (fold_of(page).summary is not None) == summarize


def test_a_summary_that_ends_after_its_middleware_was_closed_is_not_kept() -> None:
    """The archive may be closed, or another's."""
    is_asked, may_answer = threading.Event(), threading.Event()

    def summarize(messages: Sequence[BaseMessage]) -> str:
        is_asked.set()
        assert may_answer.wait(30)
        return faithful(messages)

    policy = POLICY.model_copy(update={"background": True})
    thread = Thread(Speaker(), policy, scribe(summarize)[0])
    fold = fold_of(thread.fold())
    assert is_asked.wait(30)
    assert not thread.middleware.flush(0.01)
    thread.middleware.close()
    may_answer.set()
    assert thread.middleware.flush(30)

    assert fold.pending is not None
    assert thread.archive.summary(KEY, fold.pending.source) == ""
