"""The value of a recording: a thread that another program logged, parsed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.archive.threads.finding import title_of
from thalweg.engine.entries import Message
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.base import Note
from thalweg.errors import RecordingError
from thalweg.redaction.secrets import redact

TITLE_SOURCE_CHARS = 4_000
"""Characters of a request that are redacted for its title, which has at most 80 of them."""


class NoMessageError(RecordingError):
    """Raised for a log of a known format whose session has no message."""


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
    window: int = 0
    """Tokens of its window; 0 if the log does not state it."""


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
    transcript: str = ""
    """The file with everything from before, if the summary names it to the model."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A row of a growing log from which its reader may continue, and the result of those before."""

    line: int = 0
    at: str = ""
    """Time of the row, ISO 8601; empty for the begin of a log."""
    session: SessionInfo = SessionInfo()
    """As the rows before state it."""
    state: str = ""
    """Noted by the reader of the format for itself."""
    offset: int = 0
    """Bytes before the row."""
    size: int = 0
    """Bytes of all whole rows that were read, up to the last."""
    digest: str = ""
    """SHA-256 of these."""
    answer: str = ""
    """Id of the last answer before the row."""
    usage: tuple[Usage, ...] = ()
    """Of the answers before the row, by model and price tier."""


BEGIN = ResumePoint()
"""The begin of a log."""


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
    subagents: "tuple[Recording, ...]" = ()
    """Further threads that the log holds."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of rows that are no messages, by their kind."""
    resumed: ResumePoint = BEGIN
    """From where the log was read."""
    resume: ResumePoint = BEGIN
    """From where it may be read the next time."""

    @property
    def answers(self) -> list[Usage]:
        """The usage of each answer that states it, in order; of an answer in several rows once."""
        return [message.usage for message in self.messages if message.usage is not None]

    @property
    def model(self) -> str:
        """The model that read most tokens, or that of the session if no answer states its usage."""
        read: Counter[str] = Counter()
        for usage in self.answers:
            read[usage.model] += usage.input
        return max(read, key=read.__getitem__, default="") or self.session.model

    @property
    def window(self) -> int:
        """The window in tokens, as the log states or shows it; 0 if it does neither.

        It shows it by a compaction that the agent began itself, since the context was full: the
        window is then the largest of those contexts and of the requests.
        """
        if self.session.window:
            return self.session.window
        full = [one.tokens_before for one in self.compactions if one.trigger == "auto"]
        return max(*full, *(usage.input for usage in self.answers), 0) if any(full) else 0

    @property
    def title(self) -> str:
        """The session's own title, or else the beginning of its first request.

        Secrets in a request are redacted before it is cut: no beginning of one is left.
        """
        text = next((one.text for one in self.messages if one.is_request), "")
        return self.session.title or title_of(redact(text[:TITLE_SOURCE_CHARS]))
