"""The probe of tool pairs sees requests that a strict provider would refuse."""

from collections.abc import Iterator, Sequence

import pytest

from evals_tests.evals.played import played
from thalweg.context.request.last_check import LastCheck
from thalweg.engine.entries import Entry
from thalweg.engine.window.items import WindowItem
from thalweg.engine.window.window import Window
from thalweg_evals.sent_requests import refusals
from thalweg_evals.trace import TracedCall, TracedMessage

turn = Window._turn  # noqa: SLF001 (what is broken here)


@pytest.mark.parametrize("variant", ["parallel", "failing", "large", "many"])
def test_calls_and_results_stay_together(variant: str) -> None:
    result = played(f"tool_pairs/{variant}", window=48_000)

    assert (result.verdict, result.value) == ("passed", 0.0), result.why


def _without_last_result(window: Window, entries: Sequence[Entry]) -> Iterator[WindowItem]:
    items = list(turn(window, entries))
    results = [item for item in items if item.message.role == "tool"]
    return iter([item for item in items if item not in results[1:]])


def _with_results_twice(window: Window, entries: Sequence[Entry]) -> Iterator[WindowItem]:
    for item in turn(window, entries):
        yield item
        if item.message.role == "tool":
            yield item


def _with_results_first(window: Window, entries: Sequence[Entry]) -> Iterator[WindowItem]:
    return iter(sorted(turn(window, entries), key=lambda item: item.message.role != "tool"))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (_without_last_result, "have no result"),
        (_with_results_twice, "is a result that no call right before it waits for"),
        (_with_results_first, "is a result that no call right before it waits for"),
    ],
)
def test_a_view_that_parts_calls_and_results_is_seen(
    broken: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Window, "_turn", broken)
    # The last check of a request would repair it: it is off, so that the probe has to see it.
    monkeypatch.setattr(LastCheck, "check", lambda _check, _rules, messages: list(messages))

    result = played("tool_pairs/parallel")

    assert result.verdict == "failed"
    assert "would be refused" in result.why
    assert why in result.why


CALLS = (TracedCall("a", "inspect_hold", {"hold": 1}), TracedCall("b", "inspect_hold", {"hold": 2}))
USER, ASKING = TracedMessage("user", "Go."), TracedMessage("assistant", "", CALLS)
ONE, TWO = TracedMessage("tool", "dry", answers="a"), TracedMessage("tool", "rust", answers="b")


def test_no_provider_refuses_a_request_whose_pairs_are_whole() -> None:
    assert list(refusals([TracedMessage("system", "Be brief."), USER, ASKING, ONE, TWO])) == []


@pytest.mark.parametrize(
    "messages",
    [
        [USER, ASKING, ONE],
        [USER, ASKING, ONE, TWO, TWO],
        [USER, ASKING, ONE, USER, TWO],
        [USER, ONE],
        [ASKING, ONE, TWO],
        [USER, TracedMessage("assistant", ""), USER],
        [USER, ASKING, ONE, TWO, ASKING, ONE, TWO],
        [TracedMessage("system", "Be brief.")],
    ],
)
def test_a_request_is_refused_for_every_pair_that_is_not_whole(
    messages: list[TracedMessage],
) -> None:
    assert list(refusals(messages))
