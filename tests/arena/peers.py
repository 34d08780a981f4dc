"""Peers that begin a thread of their own, message by message."""

from collections.abc import Iterable

from benchmarks.arena.contestants.installed import INSTALLED, PeerStorage
from core_tests.archives import archive_in_memory
from thalweg.archive import ThreadKey
from thalweg.engine.entries import Message
from thalweg_recorder.replay.contestant import Contestant, PeerRequest

MANY = 10_000_000
"""A window that nothing here fills."""


def begun(name: str, window: int = MANY, share: float | None = None) -> Contestant:
    """Begin a thread with a peer."""
    archive = archive_in_memory(b"tests")
    return INSTALLED[name].begin(PeerStorage(window, share, archive, ThreadKey("tests", name)))


def requests(contestant: Contestant, messages: Iterable[Message]) -> list[PeerRequest]:
    """Pass messages to a peer; ask before each of the assistant's and at the end, as a replay does.

    Items are copied: a request's own list is good until the next one.
    """
    made: list[PeerRequest] = []
    for message in messages:
        if message.role == "assistant":
            made.append(contestant.request(cold=False))
        contestant.receive(message)
    return [*made, contestant.request(cold=False)]


def sent(request: PeerRequest) -> str:
    """All the text of a request."""
    return "\n".join(item.message.text for item in request.items)
