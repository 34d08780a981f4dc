"""Versions of files: which agent changed each, and which agents have seen it since.

Contents and their place are not stored here. Agents are distinguished, and so are the calls of one
turn of an agent: a model that requests two calls at once wrote each without the other's result.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from threading import RLock

MAIN = "the main agent"


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One call of one agent."""

    turn: Hashable = None
    """Identity shared by all calls that a model requested at once."""
    uid: str = ""


@dataclass(eq=False, slots=True)
class FileClient:
    """An agent that changes files."""

    label: str
    """Its name in notices to others."""
    of: "FileClient | None" = None
    """The author that delegated to it, and receives notices after its end."""
    uid: str = ""
    """Its identity across processes."""
    ended: bool = False
    knows: dict[str, int] = field(default_factory=dict)
    """The last change of a path that it has seen."""
    knew: dict[str, int] = field(default_factory=dict)
    """The versions at the beginning of its turn, which an agent that it sends in this turn has,
    too."""
    turn: Hashable = None
    unheard: list[str] = field(default_factory=list)
    is_known: bool = False
    """Whether what its state remembers was read."""
    is_taken_up: bool = False
    """Whether its writes from before an interruption were restored."""

    def under(self, other: "FileClient") -> bool:
        """Whether it is another, or works for it, be it through others."""
        return self is other or (self.of is not None and self.of.under(other))


@dataclass(frozen=True, slots=True)
class PathChange:
    """The last thing that an author did to a path."""

    n: int
    author: FileClient
    call: AgentCall
    digest: str = ""
    """Available for a file that was written whole; `GONE` for a deleted file."""


GONE = "gone"


class FileVersions:
    """The changes of a run, and what its agents know of them."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._n = 0
        self._changes: dict[str, tuple[PathChange, PathChange | None]] = {}

    @property
    def now(self) -> int:
        """Return the number of the last change; anything read afterwards is no older."""
        return self._n

    def acts(self, author: FileClient, call: AgentCall) -> None:
        """Note the turn that an author is in, before it does anything in it."""
        with self._lock:
            if author.turn != call.turn:
                author.turn, author.knew = call.turn, dict(author.knows)

    def saw(self, author: FileClient, path: str, *, up_to: int) -> None:
        """Note that an author saw a path as it was after a change."""
        with self._lock:
            author.knows[path] = max(up_to, author.knows.get(path, 0))

    def changed(
        self,
        author: FileClient,
        call: AgentCall,
        path: str,
        *,
        digest: str = "",
    ) -> None:
        """Record that an author changed a path.

        Args:
            author: The author.
            call: Its call.
            path: The path.
            digest: Digest of the content if it was replaced entirely, so that the author has
                seen all of the current one, or `GONE`.
        """
        with self._lock:
            informed = bool(digest) or self.unseen(author, path) is None
            self._n += 1
            last, other = self._changes.get(path, (None, None))
            if last is not None and last.author is not author:
                other = last
            self._changes[path] = PathChange(self._n, author, call, digest), other
            if informed:
                author.knows[path] = self._n

    def unseen(self, author: FileClient, path: str) -> PathChange | None:
        """Find the last change of another that an author has not seen."""
        with self._lock:
            change = self._by_another(author, path)
            known = author.knows.get(path, 0)
            if change is not None and change.n > known:
                return change
            for folder in _folders(path):
                gone = self._by_another(author, folder)
                if gone is not None and gone.digest == GONE and self._is_newer(gone, path):
                    known = max(known, author.knows.get(folder, 0))
                    if gone.n > known:
                        return gone
            return None

    def rival(self, author: FileClient, call: AgentCall, path: str) -> PathChange | None:
        """Find a change that the same agent made in another call of the same turn."""
        last, _ = self._changes.get(path, (None, None))
        if last is None or last.author is not author or last.call == call:
            return None
        return last if last.call.turn == call.turn else None

    def under(self, path: str) -> list[str]:
        """List the changed paths that are a path or lie under it."""
        folder = path.rstrip("/") + "/"
        with self._lock:
            return [p for p in self._changes if p == path or p.startswith(folder)]

    def by(self, author: FileClient) -> Iterator[tuple[str, PathChange]]:
        """Yield the paths last changed by an author, or by one that works for it."""
        with self._lock:
            pairs = list(self._changes.items())
        for path, (last, other) in pairs:
            for change in (last, other):
                if change is not None and change.author.under(author):
                    yield path, change
                    break

    def notify(self, author: FileClient, notice: str, *, by: FileClient) -> None:
        """Add a notice for an author, or for its parent if it has ended.

        The agent that the notice is about gets none: it has the error.
        """
        with self._lock:
            to: FileClient | None = author
            while to is not None and to.ended:
                to = to.of
            if to is not None and to is not by and notice not in to.unheard:
                to.unheard.append(notice)

    def take_notices(self, author: FileClient) -> list[str]:
        """Return and remove the pending notices of an author."""
        with self._lock:
            notices, author.unheard = author.unheard, []
        return notices

    def ends(self, author: FileClient) -> list[str]:
        """Record the end of an author; return and remove its pending notices."""
        with self._lock:
            author.ended = True
        return self.take_notices(author)

    def _by_another(self, author: FileClient, path: str) -> PathChange | None:
        last, other = self._changes.get(path, (None, None))
        return other if last is not None and last.author is author else last

    def _is_newer(self, gone: PathChange, path: str) -> bool:
        last, _ = self._changes.get(path, (None, None))
        return last is None or gone.n > last.n


def _folders(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def sends(author: FileClient, label: str, uid: str, before: FileClient | None = None) -> FileClient:
    """Return an author delegated by another, with that one's versions at the beginning of its turn.

    Args:
        author: The delegating author.
        label: Its name in notices to others.
        uid: Its identity across processes.
        before: The same author before an interrupt, to resume.
    """
    sent = before or FileClient(label, uid=uid)
    sent.of, sent.ended = author, False
    sent.knows = {**author.knew, **sent.knows}
    return sent
