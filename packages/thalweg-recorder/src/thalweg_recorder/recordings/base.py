"""The value of a recording: a thread that another program logged, parsed."""

from dataclasses import dataclass

from thalweg.archive.threads.finding import title_of
from thalweg.engine.entries import Message
from thalweg.engine.wires.base import Note


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A log's statements about its session as a whole; unstated fields are empty."""

    id: str = ""
    """The agent's own id of the session."""
    project: str = ""
    """The folder that the agent worked in."""
    branch: str = ""
    """The branch of the repository there, as of the newest row."""
    title: str = ""
    model: str = ""
    """The model that answered last."""


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """A compaction that the recorded agent performed."""

    line: int
    """Line of the row that states it."""
    at: str = ""
    """When, ISO 8601, or empty."""
    trigger: str = ""
    """Its cause, in the agent's own word: `auto`, `manual`; empty if it is not logged."""
    tokens_before: int = 0
    """Of the context, as the agent counted them; 0 if it is not logged."""
    summary: str = ""
    """The agent's own summary; empty if it is not logged."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded thread, parsed."""

    name: str
    format: str
    """Name of the wire or log format that parsed it."""
    messages: tuple[Message, ...]
    notes: tuple[Note, ...] = ()
    session: SessionInfo = SessionInfo()
    compactions: tuple[RecordedCompaction, ...] = ()
    """Oldest first."""

    @property
    def title(self) -> str:
        """The session's own title, or else the beginning of its first request."""
        if self.session.title:
            return self.session.title
        return title_of(next((one.text for one in self.messages if one.is_request), ""))
