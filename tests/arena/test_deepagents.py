"""deepagents as it is installed, over threads made by hand."""

import pytest

from recorder_tests.unit.lab.replay.threads import answered, asked, said
from tests.arena.talks import driven, positions, replayed, turns
from thalweg.engine.entries import Message
from thalweg_recorder.replay.contestant import PeerRequest
from thalweg_recorder.replay.peers import SUMMARY_TOKENS

pytest.importorskip("deepagents", reason="deepagents is not installed (uv sync --group arena)")

WINDOW = 40_000
NEST = "At the old lock nests a <squacco> heron & 3 ibises."


def tokens(request: PeerRequest) -> int:
    """Count a request's messages."""
    return sum(item.tokens for item in request.items)


def first_compacted(requests: list[PeerRequest]) -> int:
    """Find the first request with a summary."""
    return next(n for n, request in enumerate(requests) if request.summaries)


@pytest.fixture(scope="module")
def long() -> tuple[list[Message], list[PeerRequest], list[str], list[bool]]:
    """Drive it through a thread of 60 turns in a window of 40,000 tokens."""
    nest = [asked("h", "look", place="bank 0, old lock"), answered("h", "look", NEST)]
    thread = [*list(turns(1))[:1], *nest, *list(turns(60))[1:]]
    return thread, *driven("peer:deepagents", thread, WINDOW)


Long = tuple[list[Message], list[PeerRequest], list[str], list[bool]]


def test_it_acts_at_85_percent_and_keeps_a_tenth(long: Long) -> None:
    """Its harness counted, and the count is its own approximation."""
    _, requests, _, _ = long
    first = first_compacted(requests)
    before, after = requests[first - 1], requests[first]

    assert 0.80 * WINDOW < tokens(before) + before.overhead < 0.90 * WINDOW
    record, *tail = after.items
    assert record.section == "summary"
    assert record.tokens > SUMMARY_TOKENS
    assert 0.05 * WINDOW < sum(item.tokens for item in tail) < 0.12 * WINDOW


def test_every_request_of_it_is_valid_and_inside_the_window(long: Long) -> None:
    """The agent's own prompt and tools are counted separately."""
    _, requests, _, _ = long

    assert {request.problems for request in requests} == {()}
    assert max(map(tokens, requests)) < WINDOW
    assert {request.overhead for request in requests} == {requests[0].overhead}
    assert 1_000 < requests[0].overhead < 10_000


def test_what_it_evicts_was_read_by_its_summarizer_and_is_in_its_files(long: Long) -> None:
    """The whole of it, as a new message at full price."""
    thread, requests, _, held = long
    made = [summary for request in requests for summary in request.summaries]
    gone = set(range(len(thread))) - set(positions(requests[-1]))

    assert len(gone) > 40
    assert gone <= set().union(*(summary.read for summary in made))
    assert all(held[p] for p in gone)
    assert {(s.cached, s.written, s.output) for s in made} == {(0, 0, SUMMARY_TOKENS)}


def test_one_search_in_its_files_finds_what_it_put_away(long: Long) -> None:
    """A search for the original words finds them, though the file escapes them."""
    _, _, (brought,), _ = long

    assert NEST in brought


def test_another_trigger_takes_the_default_ones_place() -> None:
    """And nothing else changes."""
    requests, _, _ = driven("peer:deepagents@0.5", [*turns(30)], WINDOW)
    first = first_compacted(requests)
    before = requests[first - 1]

    assert 0.45 * WINDOW < tokens(before) + before.overhead < 0.55 * WINDOW
    assert 0.05 * WINDOW < sum(i.tokens for i in requests[first].items[1:]) < 0.12 * WINDOW


def test_a_large_result_is_a_file_that_can_be_read_back() -> None:
    """From 80,000 characters."""
    large = "\n".join(f"row {n}: some birds of no kind" for n in range(4_000))
    thread = [said("user", "Count."), asked("c", "count"), answered("c", "count", large)]
    requests, _, held = driven("peer:deepagents", [*thread, said("assistant", "Many.")], WINDOW)
    shown = next(item for item in requests[1].items if item.position == 2)

    assert "/large_tool_results/" in shown.message.text
    assert shown.tokens < 1_000
    assert 2 not in requests[1].whole
    assert held[2]
    assert requests[1].problems == ()


def test_arguments_that_it_cut_are_nowhere_once_the_message_is_gone() -> None:
    """The history that it saves holds what it had cut before."""
    written = asked("w", "write_file", file_path="/a", content="bird " * 1_000)
    thread = [said("user", "Count."), written, answered("w", "write_file", "ok")]
    thread += [*turns(60)][1:]
    requests, _, held = driven("peer:deepagents", thread, WINDOW)

    assert 1 not in requests[-1].whole
    assert not held[1]
    assert held[2]


def test_a_replay_of_it_is_the_same_each_time() -> None:
    """Though it draws names of files by chance."""
    one, two = (replayed([*turns(40)], "peer:deepagents", 20_000) for _ in range(2))

    assert one.to_json() == two.to_json()
    assert one.outlines == two.outlines
    assert one.summaries > 1
