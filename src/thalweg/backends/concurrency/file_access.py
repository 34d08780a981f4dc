"""What an agent does to a file, checked against what it has seen of it."""

from collections.abc import Iterable
from contextlib import nullcontext
from hashlib import blake2b

from thalweg.backends.concurrency.file_versions import (
    GONE,
    AgentCall,
    FileClient,
    FileVersions,
    PathChange,
)
from thalweg.backends.concurrency.path_lock import PathLock
from thalweg.backends.concurrency.resume import UNSEEN
from thalweg.backends.concurrency.run_context import RunContext, here
from thalweg.engine.prompts import prompt


def digest(content: str) -> str:
    """Know a content again."""
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def known(at: RunContext, author: FileClient, ledger: FileVersions) -> None:
    """Note that an author is about to act; if it is new here, with what its state remembers."""
    if not author.is_known:
        author.is_known = True
        for path, label in (at.read(UNSEEN) or {}).items():
            ledger.changed(FileClient(label, of=author, ended=True), AgentCall(), path)
    ledger.acts(author, at.call)


class _OfAgent:
    """An operation of an agent; of none, if files are not shared."""

    def __init__(self) -> None:
        at = here()
        self._at = at
        self._author = at.author if at is not None else None
        self._live = at.live if at is not None else None
        if at is not None and self._author is not None and self._live is not None:
            known(at, self._author, self._live.ledger)

    def _forget_unseen(self, paths: Iterable[str]) -> None:
        """Take out of the state what the agent has now seen."""
        at = self._at
        if at is not None and (noted := at.read(UNSEEN)):
            seen = {path: None for path in paths if path in noted}
            if seen:
                at.send(UNSEEN, seen)


class ReadAccess(_OfAgent):
    """An agent reads a file: begun before it is read, done after."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._up_to = self._live.ledger.now if self._live is not None else 0

    def done(self, error: str | None) -> None:
        """Note what was seen: the file, or that a file which was deleted is not there."""
        if self._author is None or self._live is None:
            return
        ledger = self._live.ledger
        change = ledger.unseen(self._author, self._path)
        if change is not None and (error is None or change.digest == GONE):
            ledger.saw(self._author, self._path, up_to=self._up_to)
            self._forget_unseen([self._path])


class WriteAccess(_OfAgent):
    """Write access of an agent to a path, exclusive until its end.

    Args:
        path: The path; with everything below it if it is a folder.
        verb: The intended operation in the past tense, as in "was not written".
        digest: Digest of the whole new content, `GONE` if none; empty for an edit of parts, which
            cannot overwrite unseen changes.
    """

    def __init__(self, path: str, verb: str, digest: str = "") -> None:
        super().__init__()
        self._path = path.rstrip("/")
        self._verb = verb
        self._digest = digest

    def alone(self) -> "PathLock | nullcontext[None]":
        """Wait for others who change the path; enter with `with` or `async with`."""
        return self._live.turnstile.at(self._path) if self._live is not None else nullcontext()

    def problem(self) -> str | None:
        """Return why the change must not be made, for the model; notify the agent it would undo."""
        if self._author is None or self._live is None:
            return None
        if self._author.ended:
            return prompt("files_ended").render(path=self._path)
        if not self._digest:
            return None
        ledger, author = self._live.ledger, self._author
        paths = {self._path, *(ledger.under(self._path) if self._digest == GONE else ())}
        for path in sorted(paths):
            change = ledger.unseen(author, path)
            if change is not None and change.digest != self._digest:
                self._tell(change, path)
                return self._conflict(change, path)
            rival = ledger.rival(author, self._at_call, path)
            if rival is not None and rival.digest not in {GONE, self._digest}:
                return prompt("files_conflict_same_turn").render(verb=self._verb, path=path)
        return None

    def done(self, error: str | None) -> str | None:
        """Record a change that was made; return the complete error of one that was not."""
        if error is not None:
            return error if self._digest else self._reason(error)
        if self._author is None or self._live is None:
            return None
        ledger = self._live.ledger
        paths = {self._path, *(ledger.under(self._path) if self._digest == GONE else ())}
        for path in paths:
            ledger.changed(
                self._author,
                self._at_call,
                path,
                digest=self._digest,
                whole=bool(self._digest),
            )
        if self._digest:
            self._forget_unseen(paths)
        return None

    def _reason(self, error: str) -> str:
        """Add to an edit's error that another agent changed the file, and notify that agent."""
        if self._author is None or self._live is None or self._author.ended:
            return error
        ledger = self._live.ledger
        change = ledger.unseen(self._author, self._path)
        if change is not None:
            self._tell(change, self._path)
            who = change.author.label
            return prompt("files_no_match").render(error=error, path=self._path, who=who)
        if ledger.rival(self._author, self._at_call, self._path) is not None:
            who = prompt("files_other_call").render()
            return prompt("files_no_match").render(error=error, path=self._path, who=who)
        return error

    @property
    def _at_call(self) -> AgentCall:
        return self._at.call if self._at is not None else AgentCall()

    def _tell(self, change: PathChange, path: str) -> None:
        if self._live is None or self._author is None:
            return
        told = prompt("files_notice").render(who=self._author.label, verb=self._verb, path=path)
        self._live.ledger.tell(change.author, told, by=self._author)

    def _conflict(self, change: PathChange, path: str) -> str:
        again = "files_gone" if change.digest == GONE else "files_read_again"
        return prompt("files_conflict").render(
            path=path,
            verb=self._verb,
            who=change.author.label,
            again=prompt(again).render(path=path),
        )
