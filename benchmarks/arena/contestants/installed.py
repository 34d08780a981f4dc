"""The peers that can be driven as they are installed, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Literal

from benchmarks.arena.contestants.shelf import ReferenceArchive
from thalweg.archive import Archive, ThreadKey
from thalweg.errors import ConfigError
from thalweg_recorder.replay.contestant import Contestant

PREFIX = "peer:"
INSTALL = "uv sync --group arena"
"""Installs all of them, in a checkout of Thalweg."""


@dataclass(frozen=True, slots=True)
class PeerStorage:
    """Where a peer keeps one thread."""

    window: int
    """Tokens the model accepts."""
    share: float | None
    """Share of the window at which it acts; by default that of its documentation."""
    archive: Archive
    """An empty one of ours, to search with what the peer puts away."""
    key: ThreadKey
    """The thread in it."""

    @property
    def shelf(self) -> ReferenceArchive:
        """The archive, for the texts that the peer puts away."""
        return ReferenceArchive(self.archive, self.key)


def _deepagents(place: PeerStorage) -> Contestant:
    from benchmarks.arena.contestants.deepagents import deep_agent  # noqa: PLC0415 (may be absent)

    return deep_agent(place.window, place.share, place.shelf)


def _summarization(place: PeerStorage) -> Contestant:
    from benchmarks.arena.contestants.langchain import summarization  # noqa: PLC0415 (1.5 s)

    return summarization(place.window, place.share)


def _editing(place: PeerStorage) -> Contestant:
    from benchmarks.arena.contestants.langchain import editing  # noqa: PLC0415 (1.5 s)

    return editing(place.window, place.share)


def _strands(way: Literal["sliding", "summarizing", "auto"], place: PeerStorage) -> Contestant:
    from benchmarks.arena.contestants.strands import Strands  # noqa: PLC0415 (may be absent)

    return Strands(way, place.window, place.share, place.shelf)


def _headroom(place: PeerStorage, *, is_frozen: bool = False) -> Contestant:
    from benchmarks.arena.contestants.headroom import Headroom  # noqa: PLC0415 (may be absent)

    return Headroom(place.window, place.shelf, is_frozen=is_frozen)


_frozen = partial(_headroom, is_frozen=True)


@dataclass(frozen=True, slots=True)
class Installed:
    """A peer: the package that it comes in, and how to begin a thread with it."""

    package: str
    begin: Callable[[PeerStorage], Contestant]
    has_trigger: bool = True
    """Whether the share of the window at which it acts can be set."""


INSTALLED: dict[str, Installed] = {
    "peer:deepagents": Installed("deepagents", _deepagents),
    "peer:langchain-summarization": Installed("langchain", _summarization),
    "peer:langchain-editing": Installed("langchain", _editing),
    "peer:strands": Installed("strands", partial(_strands, "sliding")),
    "peer:strands-summarizing": Installed("strands", partial(_strands, "summarizing")),
    "peer:strands-auto": Installed("strands", partial(_strands, "auto"), has_trigger=False),
    "peer:headroom": Installed("headroom", _headroom, has_trigger=False),
    "peer:headroom-frozen": Installed("headroom", _frozen, has_trigger=False),
}
"""Peers by the name a user types."""


def check_installed(name: str) -> None:
    """See that a peer's package is there.

    Raises:
        ConfigError: It is not.
    """
    package = INSTALLED[name].package
    if find_spec(package) is None:
        problem = f"{name} drives the package {package!r}, which is not installed"
        raise ConfigError("--policy", problem, f"install it with `{INSTALL}`")
