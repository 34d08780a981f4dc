"""The protocol between a replay and a context manager."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from thalweg.engine.edits import Edit
from thalweg.engine.entries import Message
from thalweg.engine.window.items import WindowItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarizing:
    """One call of a summarizer."""

    tokens: int
    """Of its input."""
    cached: int = 0
    """Of them, found on the cached prefix of the live thread."""
    written: int = 0
    """Of them, written to the cache; the others have the plain price."""
    output: int
    read: frozenset[int]
    """Positions of the messages that it was shown word for word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRequest:
    """The request of a contestant for the recording's next assistant message."""

    items: Sequence[WindowItem]
    """In order. The list may be the contestant's own: read it before the next request, and
    don't keep it. An unchanged message is the very same item as in the request before."""
    whole: frozenset[int]
    """Positions of the messages that it shows word for word."""
    overhead: int = 0
    """Tokens of the system prompt and the tool schemas that the contestant adds of its own."""
    edits: tuple[Edit, ...] = ()
    """Made for this request, if the contestant makes edits."""
    summaries: tuple[Summarizing, ...] = ()
    """Asked for since the request before."""
    problems: tuple[str, ...] = ()
    """Why a provider would reject it, see `Gate`."""


class Contestant(Protocol):
    """A context manager that keeps one thread inside a window."""

    def receive(self, message: Message) -> None:
        """Receive the recording's next message."""
        ...

    def request(self, *, cold: bool) -> PeerRequest:
        """Return the current request; called before each assistant message, and at the end.

        Args:
            cold: Whether a cache miss on the prefix is expected anyway.
        """
        ...

    def recall(self, question: str) -> str:
        """Search once, by a question's words, in the content that the last request can reach.

        Returns:
            At most 2,000 tokens; nothing if nothing is kept.
        """
        ...

    def holds(self, position: int) -> bool:
        """Return whether the last request has a reference to read a whole message."""
        ...

    def shown(self, item: WindowItem) -> tuple[str, str]:
        """Return how the last request shows a message, and the reference that reads it in full.

        Returns:
            `whole` or the name of an edit (`record` or `note` for an item that is no message of the
            recording), and a reference or an empty text.
        """
        if item.position < 0:
            return "note", ""
        return "whole", ""

    def close(self) -> None:
        """Release all resources; no further calls are made."""
        return
