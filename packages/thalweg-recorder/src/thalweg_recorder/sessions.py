"""Metadata of a recorded session, stored in the journal of its thread."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.finding import newest_import
from thalweg.archive.threads.journal import TurnRecord
from thalweg.engine.pricing.cost import cost_of
from thalweg.engine.pricing.matching import tariff_of_model
from thalweg.engine.pricing.usage import Usage

OWNER = "local"
"""Whose threads imported sessions are, as in `thalweg thread`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """A session of an agent as of the newest import of it."""

    agent: str
    """Name of the log format: `claude-code`, `codex`."""
    id: str = ""
    project: str = ""
    branch: str = ""
    title: str = ""
    """The agent's own, or the beginning of the first request."""
    model: str = ""
    """The one that answered last."""
    source: str = ""
    """The file it was read from, as an absolute path."""
    size_bytes: int = 0
    """Of the source, when it was read last; with `mtime_ns` it shows whether the source changed."""
    mtime_ns: int = 0
    started_at: str = ""
    ended_at: str = ""
    """Time of the newest message, ISO 8601; empty if the source has no times."""
    calls: int = 0
    """Model calls that reported their usage; the next fields are that usage, in tokens."""
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    compactions: int = 0
    compacted_at: str = ""
    """Time of the newest compaction, ISO 8601."""

    @property
    def cost(self) -> float | None:
        """The cost of the reported usage in dollars, at the prices of `model`.

        `None` if no usage was reported or the price of the model is unknown.
        """
        tariff = tariff_of_model(self.model)
        if not self.calls or tariff is None:
            return None
        spent = Usage(self.input, self.cached, self.written, self.output, calls=self.calls)
        return cost_of(spent, tariff)

    def is_in(self, folder: str) -> bool:
        """Return whether the project is a folder or lies below it; any is, of an empty name.

        Example:
            >>> RecordedSession(agent="codex", project="/src/shop/api").is_in("/src/shop")
            True
        """
        return not folder or PurePath(self.project).is_relative_to(folder)


_FIELDS = frozenset(field.name for field in fields(RecordedSession))


def session_of(page: TurnRecord) -> RecordedSession | None:
    """Read the session that an import entered; `None` for any other turn."""
    known = {name: value for name, value in page.session.items() if name in _FIELDS}
    return RecordedSession(**known) if "agent" in known else None


def session_to_plain(session: RecordedSession) -> dict[str, str | int]:
    """Return a session as plain values, without empty ones."""
    return {name: value for name, value in asdict(session).items() if value}


def newest_session(archive: Archive, key: ThreadKey) -> RecordedSession | None:
    """Return the session as of the newest import of a thread; `None` if there is no import."""
    page = newest_import(archive, key)
    return None if page is None else session_of(page)


def list_sessions(archive: Archive, owner: str = OWNER) -> Iterator[tuple[str, RecordedSession]]:
    """List the recorded sessions of an owner with the names of their threads, oldest first."""
    for thread in archive.threads(owner):
        session = newest_session(archive, ThreadKey(owner, thread))
        if session is not None:
            yield thread, session
