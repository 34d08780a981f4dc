"""Strands Agents as installed, on small threads."""

import base64
from dataclasses import replace

import pytest

from recorder_tests.unit.lab.replay.threads import answered, asked, entries_of, said
from tests.arena.peers import begun, requests, sent
from tests.arena.talks import replayed
from thalweg.engine.entries import Media, Message, Text, Thinking
from thalweg.engine.tokens import exact_counter
from thalweg_recorder.replay.peers import SUMMARY_TOKENS

pytest.importorskip("strands", reason="strands-agents is not installed: uv sync --group arena")

count = exact_counter()
WAYS = ("peer:strands", "peer:strands-summarizing", "peer:strands-auto")
ROUND = [said("user", "And the next one?"), said("assistant", "It is in order.")]
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


def work(rounds: int, words: int = 60) -> list[Message]:
    """Make one run of that many tool calls."""
    return [
        message
        for k in range(rounds)
        for message in (
            asked(f"c{k}", "fetch", url=f"page-{k}"),
            answered(f"c{k}", "fetch", f"page {k} begins " + "lorem " * words + f"page {k} ends"),
        )
    ]


@pytest.mark.parametrize("name", WAYS)
def test_what_fits_is_sent_word_for_word_as_the_very_items_of_before(name: str) -> None:
    thread = [
        said("system", "Be brief."),
        Message("user", (Text("What is this?"), Media("image/png", PIXEL))),
        Message("assistant", (Thinking("a picture", "sig"), *asked("c1", "look", "I look.").parts)),
        answered("c1", "look", "a pixel"),
        said("assistant", "A pixel."),
        said("user", "Thanks."),
    ]
    first, second, last = requests(begun(name), thread)
    assert [item.position for item in last.items] == [*range(6)]
    assert [item.message for item in last.items] == thread
    assert last.whole == frozenset(range(6))
    assert all(a is b for a, b in zip(second.items, last.items, strict=False))
    assert not first.problems
    assert not last.problems
    assert not last.summaries
    tokens = [entry.tokens for entry in entries_of(thread)]
    assert [item.tokens for item in last.items] == tokens


def test_a_run_that_rests_leaves_forty_messages() -> None:
    thread = [said("user", "The goal: never lose it."), *ROUND[1:], *(ROUND * 30)]
    made = requests(begun("peer:strands"), [*thread, said("user", "Go on.")])
    assert max(len(request.items) for request in made) == 41
    last = made[-1]
    assert last.items[0].message.role == "user"
    assert 0 not in last.whole
    assert "never lose it" not in sent(last)


def test_within_a_run_the_window_does_not_slide() -> None:
    thread = [said("user", "Fetch all."), *work(40)]
    last = requests(begun("peer:strands"), thread)[-1]
    assert len(last.items) == 81


def test_a_word_of_the_harness_between_two_calls_does_not_end_the_run() -> None:
    reminder = Message("user", (Text("Keep the list up to date."),), kind="injected")
    thread = [said("user", "Fetch all."), *work(30), reminder, *work(1)]
    last = requests(begun("peer:strands"), thread)[-1]
    assert len(last.items) == 64


def test_a_user_who_breaks_into_a_run_ends_it() -> None:
    thread = [said("user", "Fetch all."), *work(30), said("user", "Stop!")]
    last = requests(begun("peer:strands"), thread)[-1]
    assert len(last.items) == 41


def test_an_old_answer_is_not_kept_anywhere() -> None:
    thread = [said("user", "The goal: never lose it."), *ROUND[1:], *(ROUND * 30)]
    peer = begun("peer:strands")
    requests(peer, [*thread, said("user", "Go on.")])
    assert not peer.holds(0)
    assert peer.recall("What is the goal?") == ""


def test_a_refused_request_has_its_oldest_results_cut_and_is_sent_again() -> None:
    thread = [said("user", "Fetch all."), *work(8, words=400)]
    run = replayed(thread, "peer:strands", 3_000)
    assert max(call.tokens for call in run.calls) <= 3_000
    peer = begun("peer:strands", 3_000)
    last = requests(peer, thread)[-1]
    assert 2 not in last.whole


def test_only_the_middle_of_the_oldest_result_is_cut() -> None:
    thread = [said("user", "Fetch all."), *work(3, words=400)]
    last = requests(begun("peer:strands", 1_200), thread)[-1]
    cut = next(item for item in last.items if item.position == 2)
    assert "chars removed" in cut.message.text
    assert cut.message.text.startswith("page 0 begins")
    assert cut.message.text.endswith("page 0 ends")
    assert cut.message.answers == "c0"
    assert cut.tokens < 200
    assert last.whole == frozenset(range(7)) - {2}
    assert not last.problems


def test_what_cannot_be_made_smaller_is_sent_too_large_and_the_thread_goes_on_without_it() -> None:
    thread = [said("user", "lorem " * 3_000), said("assistant", "Too much."), said("user", "Hm?")]
    run = replayed([*thread, *ROUND[1:]], "peer:strands", 2_000)
    assert [call.tokens > 2_000 for call in run.calls] == [True, False]


def test_the_oldest_third_is_summarized_when_a_request_is_refused() -> None:
    thread = [said("user", "Fetch all."), *work(20, words=400), *ROUND, *ROUND]
    made = requests(begun("peer:strands-summarizing", 8_000), thread)
    before = next(k for k, request in enumerate(made) if request.summaries)
    request, (summary,) = made[before], made[before].summaries
    tokens = [entry.tokens for entry in entries_of(thread)]
    gone = max(summary.read) + 1
    assert summary.read == frozenset(range(gone))
    assert sum(tokens[:gone]) < summary.tokens < sum(tokens[:gone]) + 500
    assert summary.output == SUMMARY_TOKENS
    assert summary.cached == 0
    record = request.items[0]
    assert record.position == -1
    assert record.message.role == "user"
    assert count(record.message.text) == SUMMARY_TOKENS
    assert request.whole == frozenset(range(gone, gone + len(request.items) - 1))
    assert sum(item.tokens for item in request.items) <= 8_000
    assert not request.problems


def test_a_run_dies_when_the_summarizer_cannot_read_what_it_is_given() -> None:
    short = [message for k in range(8) for message in (said("user", f"no. {k}"), ROUND[1])]
    thread = [said("user", "lorem " * 9_000), ROUND[1], *short, said("user", "lorem " * 900)]
    made = requests(begun("peer:strands-summarizing", 9_200), thread)
    assert not made[-1].summaries
    assert sum(item.tokens for item in made[-1].items) > 9_200


def test_a_manager_that_is_told_to_acts_at_a_share_of_the_window() -> None:
    thread = [said("user", "Fetch all."), *work(20, words=400), *ROUND]
    last = max(
        replayed(thread, "peer:strands-summarizing@0.5", 12_000).calls, key=lambda c: c.tokens
    )
    late = max(replayed(thread, "peer:strands-summarizing", 12_000).calls, key=lambda c: c.tokens)
    assert last.tokens < late.tokens


NEEDLE = "the spare key hangs behind the blue boiler"


def haystack() -> list[Message]:
    """Make a thread with a large result that has the needle in its middle."""
    hay = "\n".join(f"room {k}: nothing to be seen but dust and chairs" for k in range(400))
    middle = hay[: len(hay) // 2].rpartition("\n")[0] + f"\n{NEEDLE}\n" + hay[len(hay) // 2 :]
    return [said("user", "Where is it?"), asked("c1", "search"), answered("c1", "search", middle)]


def test_a_large_result_is_cut_on_arrival_and_read_back_by_the_name_it_shows() -> None:
    thread = haystack()
    peer = begun("peer:strands-auto")
    last = requests(peer, thread)[-1]
    assert NEEDLE not in sent(last)
    assert last.whole == frozenset({0, 1})
    assert peer.holds(2)
    assert NEEDLE in peer.recall("Where does the spare key hang?")
    assert peer.shown(last.items[2]) == ("elide", "c1_0")
    assert last.overhead > 0


def test_a_result_whose_name_is_no_longer_shown_cannot_be_read_back() -> None:
    thread = [*haystack(), said("assistant", "Not there."), *(ROUND * 4), *work(30, words=200)]
    peer = begun("peer:strands-auto", 6_000)
    made = requests(peer, thread)
    assert any(request.summaries for request in made)
    assert "c1_0" not in sent(made[-1])
    assert not peer.holds(2)
    assert not any(request.problems for request in made)


def test_the_summary_of_the_mode_that_keeps_originals_has_read_what_it_stands_for() -> None:
    thread = [*haystack(), said("assistant", "Not there."), *(ROUND * 4), *work(30, words=200)]
    made = requests(begun("peer:strands-auto", 6_000), thread)
    (first, *_) = [summary for request in made for summary in request.summaries]
    assert {1, 3, 4, 5} <= first.read
    assert not {0, 2} & first.read


def test_a_late_word_of_the_systems_is_a_users() -> None:
    thread = [said("user", "hi"), said("assistant", "hello"), said("system", "Be brief.")]
    last = requests(begun("peer:strands"), [*thread, said("user", "So?")])[-1]
    assert [item.message.role for item in last.items] == ["user", "assistant", "user", "user"]
    assert 2 in last.whole


def test_ids_that_are_used_again_are_told_apart() -> None:
    turn = [asked("c0", "fetch"), answered("c0", "fetch", "the same"), said("assistant", "done")]
    thread = [said("user", "go"), *turn, said("user", "again"), *turn]
    last = requests(begun("peer:strands"), thread)[-1]
    assert not last.problems[1:]
    again = replace(last.items[5].message.calls[0])
    assert again.id != "c0"
    assert last.items[6].message.answers == again.id
