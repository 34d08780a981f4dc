"""Threads for real agents, and one of them driven through a thread."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

from benchmarks.arena.policies import contestant_named
from recorder_tests.unit.lab.replay import threads
from recorder_tests.unit.lab.replay.threads import answered, asked, said
from thalweg.archive import ThreadKey, open_archive
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg_recorder.replay.contestant import Contestant, PeerRequest

replayed = partial(threads.replayed, begin=contestant_named)
"""Replays a thread under any policy of the arena."""


def turns(number: int, words: int = 900) -> Iterator[Message]:
    """Make a request, and turns of one call each with a result of about as many tokens."""
    yield said("user", "Count the birds of the delta.")
    for turn in range(number):
        yield asked(f"c{turn}", "count", place=f"bank {turn}")
        yield answered(f"c{turn}", "count", f"bank {turn}:" + " owl" * words)


def driven(
    policy: str, messages: Sequence[Message], window: int = 20_000
) -> tuple[list[PeerRequest], list[str], list[bool]]:
    """Drive a contestant through a thread.

    Returns:
        Every request, the last one being that which would come next; what one search for
        a heron brings in the end; and for each message, whether it can be read back then.
    """
    budget = Budget(window=window)
    with closing(open_archive(":memory:", secret=b"by hand")) as archive:
        key = ThreadKey("arena", "by hand")
        contestant: Contestant = contestant_named(
            policy, budget, TARIFFS["anthropic"], archive, key
        )
        with closing(contestant):
            requests: list[PeerRequest] = []
            for message in messages:
                if message.role == "assistant":
                    requests.append(contestant.request(cold=False))
                contestant.receive(message)
            requests.append(contestant.request(cold=False))
            held = [contestant.holds(position) for position in range(len(messages))]
            return requests, [contestant.recall("Which heron nests at the old lock?")], held


def positions(request: PeerRequest) -> list[int]:
    """List the positions of what a request is made of."""
    return [item.position for item in request.items]
