"""File operations of an agent, checked against the versions that it has seen."""

from collections.abc import Iterable
from hashlib import blake2b

from thalweg_agent.backends.concurrency.file_versions import (
    GONE,
    AgentCall,
    FileClient,
    FileVersions,
    PathChange,
)
from thalweg_agent.backends.concurrency.path_lock import PathLock
from thalweg_agent.backends.concurrency.resume import UNSEEN
from thalweg_agent.backends.concurrency.run_context import AgentFiles, RunContext
from thalweg_agent.prompts import prompt


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


class _Access:
    """An operation of an agent on a path of shared files."""

    def __init__(self, at: RunContext, agent_files: AgentFiles, path: str) -> None:
        self._at = at
        self._author = agent_files.author
        self._live = agent_files.live
        self._ledger = agent_files.live.ledger
        self._path = path
        known(at, self._author, self._ledger)

    def _forget_unseen(self, paths: Iterable[str]) -> None:
        """Remove the changes that the agent has now seen from the state."""
        if noted := self._at.read(UNSEEN):
            seen = {path: None for path in paths if path in noted}
            if seen:
                self._at.send(UNSEEN, seen)


class ReadAccess(_Access):
    """An agent reads a file: begun before it is read, done after."""

    def __init__(self, at: RunContext, agent_files: AgentFiles, path: str) -> None:
        super().__init__(at, agent_files, path)
        self._up_to = self._ledger.now

    def done(self, error: str | None) -> None:
        """Record that the file was seen, or that a deleted file was found missing."""
        change = self._ledger.unseen(self._author, self._path)
        if change is not None and (error is None or change.digest == GONE):
            self._ledger.saw(self._author, self._path, up_to=self._up_to)
            self._forget_unseen([self._path])


class WriteAccess(_Access):
    """Write access of an agent to a path, exclusive until its end.

    Args:
        at: The step of the graph in which the agent runs.
        agent_files: Its part in the files.
        path: The path; with everything below it if it is a folder.
        verb: The intended operation in the past tense, as in "was not written".
        digest: Digest of the whole new content, `GONE` if none; empty for an edit of parts, which
            cannot overwrite unseen changes.
    """

    def __init__(
        self, at: RunContext, agent_files: AgentFiles, path: str, verb: str, digest: str = ""
    ) -> None:
        super().__init__(at, agent_files, path.rstrip("/"))
        self._verb = verb
        self._digest = digest

    def alone(self) -> PathLock:
        """Wait for others who change the path; enter with `with` or `async with`."""
        return self._live.turnstile.at(self._path)

    def problem(self) -> str | None:
        """Return why the change must not be made, for the model; notify the agent it would undo."""
        if self._author.ended:
            return prompt("files_ended").render(path=self._path)
        if not self._digest:
            return None
        for path in sorted(self._paths()):
            change = self._ledger.unseen(self._author, path)
            if change is not None and change.digest != self._digest:
                self._notify(change, path)
                return self._conflict(change, path)
            rival = self._ledger.rival(self._author, self._at.call, path)
            if rival is not None and rival.digest not in {GONE, self._digest}:
                return prompt("files_conflict_same_turn").render(verb=self._verb, path=path)
        return None

    def done(self, error: str | None) -> str | None:
        """Record a change that was made; return the complete error of one that was not."""
        if error is not None:
            return error if self._digest else self._reason(error)
        paths = self._paths()
        for path in paths:
            self._ledger.changed(self._author, self._at.call, path, digest=self._digest)
        if self._digest:
            self._forget_unseen(paths)
        return None

    def _paths(self) -> set[str]:
        return {self._path, *(self._ledger.under(self._path) if self._digest == GONE else ())}

    def _reason(self, error: str) -> str:
        """Add to an edit's error that another agent changed the file, and notify that agent."""
        if self._author.ended:
            return error
        change = self._ledger.unseen(self._author, self._path)
        if change is not None:
            self._notify(change, self._path)
            who = change.author.label
        elif self._ledger.rival(self._author, self._at.call, self._path) is not None:
            who = prompt("files_other_call").render()
        else:
            return error
        return prompt("files_no_match").render(error=error, path=self._path, who=who)

    def _notify(self, change: PathChange, path: str) -> None:
        notice = prompt("files_notice").render(who=self._author.label, verb=self._verb, path=path)
        self._ledger.notify(change.author, notice, by=self._author)

    def _conflict(self, change: PathChange, path: str) -> str:
        again = "files_gone" if change.digest == GONE else "files_read_again"
        return prompt("files_conflict").render(
            path=path,
            verb=self._verb,
            who=change.author.label,
            again=prompt(again).render(path=path),
        )
