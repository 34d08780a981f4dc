"""Metadata of a recorded session, stored in the journal of its thread."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.finding import newest_import
from thalweg.archive.threads.journal import TurnRecord, read_pages
from thalweg.database.base import decode, encode
from thalweg.engine.pricing.cost import cost_of_answers, distinct
from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg.engine.serialization import from_fields
from thalweg_recorder.recordings.base import ResumePoint, SessionInfo

OWNER = "local"
"""Whose threads imported sessions are, as in `thalweg thread`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOrigin:
    """The values by which sessions are filtered."""

    agent: str
    """Name of the log format: `claude-code`, `codex`."""
    project: str = ""
    started_at: str = ""
    ended_at: str = ""
    """Time of the newest message, ISO 8601; empty if the source has no times."""

    def is_in(self, folder: str) -> bool:
        """Return whether the project is a folder or lies below it; any is, of an empty name.

        Example:
            >>> SessionOrigin(agent="codex", project="/src/shop/api").is_in("/src/shop")
            True
        """
        return not folder or _is_below(self.project, folder)

    def is_above(self, folder: str) -> bool:
        """Return whether the project is a folder or one that contains it."""
        return bool(self.project) and _is_below(folder, self.project)


@lru_cache(maxsize=1 << 12)
def _is_below(path: str, folder: str) -> bool:
    return PurePath(path).is_relative_to(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession(SessionOrigin):
    """A session of an agent as of the newest import of it."""

    id: str = ""
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
    usage: tuple[Usage, ...] = ()
    """What the answers reported, by model and price tier."""
    first_answer: str = ""
    """Id of the first answer; forks of a session have the same."""
    compactions: int = 0
    compacted_at: str = ""
    """Time of the newest compaction, ISO 8601."""
    resume: ResumePoint | None = None
    """Where the next import may begin to read."""

    @property
    def cost(self) -> float | None:
        """The cost of the reported usage in dollars, each answer at the prices of its model.

        `None` if no usage was reported or the price of a model is unknown.
        """
        return cost_of_answers(self.usage) if self.usage else None

    @property
    def total(self) -> Usage:
        """The reported usage, over all models."""
        return sum(self.usage, NO_USAGE)


_FIELDS = frozenset(field.name for field in fields(RecordedSession))


def session_of(page: TurnRecord) -> RecordedSession | None:
    """Read the session that an import entered; `None` for any other turn."""
    known = {name: value for name, value in page.session.items() if name in _FIELDS}
    if "agent" not in known:
        return None
    known["usage"] = _usage(known)
    if point := known.get("resume"):
        info = from_fields(SessionInfo, point["session"])
        known["resume"] = from_fields(
            ResumePoint, {**point, "session": info, "usage": _usage(point)}
        )
    return RecordedSession(**known)


def _usage(plain: Mapping[str, Any]) -> tuple[Usage, ...]:
    return tuple(from_fields(Usage, dict(one)) for one in plain.get("usage", ()))


def session_to_plain(session: RecordedSession) -> dict[str, Any]:
    """Return a session as plain values, without empty ones; `session_of` reads them."""
    plain = {name: value for name, value in asdict(session).items() if value}
    if session.usage:
        plain["usage"] = [{n: v for n, v in asdict(one).items() if v} for one in session.usage]
    return plain


_ORIGIN = b"session\n"
"""Begins the state of an import in the journal."""


def state_of(session: RecordedSession) -> bytes:
    """Return the state of an import: the part that `list_origins` reads."""
    origin = (session.agent, session.started_at, session.ended_at, session.project)
    return _ORIGIN + encode("\n".join(origin))


def list_origins(archive: Archive, owner: str = OWNER) -> Iterator[tuple[str, SessionOrigin]]:
    """List the filter values of an owner's recorded sessions, with their threads, oldest first."""
    for thread, state in archive.newest_states(owner).items():
        if state.startswith(_ORIGIN):
            agent, started, ended, project = decode(state[len(_ORIGIN) :]).split("\n", 3)
            origin = {"agent": agent, "started_at": started, "ended_at": ended, "project": project}
            yield thread, SessionOrigin(**origin)
        elif session := newest_session(archive, ThreadKey(owner, thread)):
            yield thread, session


def newest_session(archive: Archive, key: ThreadKey) -> RecordedSession | None:
    """Return the session as of the newest import of a thread; `None` if there is no import."""
    page = newest_import(archive, key)
    return None if page is None else session_of(page)


def list_compactions(archive: Archive, key: ThreadKey) -> list[dict[str, Any]]:
    """Return the compactions of a recorded session, oldest first, as its imports entered them."""
    pages = read_pages(archive, key).values()
    return [one for page in pages for one in page.session.get("new_compactions", ())]


def list_sessions(archive: Archive, owner: str = OWNER) -> Iterator[tuple[str, RecordedSession]]:
    """List the recorded sessions of an owner with the names of their threads, oldest first."""
    for thread in archive.threads(owner):
        session = newest_session(archive, ThreadKey(owner, thread))
        if session is not None:
            yield thread, session


@dataclass(frozen=True, slots=True)
class TotalCost:
    """The cost of several sessions."""

    dollars: float
    """Each answer counts once, at the prices of its model."""
    repeated: float
    """Dollars of answers that forks and resumed sessions repeat; not in `dollars`."""
    unpriced: int
    """Sessions with usage of which a price is unknown; not in `dollars`."""


def total_cost(
    archive: Archive, sessions: Iterable[tuple[str, RecordedSession]], owner: str = OWNER
) -> TotalCost:
    """Return the cost of sessions together, by the ids of their answers.

    Only sessions with the same first answer are compared, answer by answer.

    Args:
        archive: The archive of the sessions.
        sessions: Names of threads with their sessions.
        owner: The owner of the threads.
    """
    families: dict[str, list[tuple[str, RecordedSession]]] = {}
    for thread, session in sessions:
        families.setdefault(session.first_answer or f"\0{thread}", []).append((thread, session))
    dollars, repeated, unpriced = 0.0, 0.0, 0
    for family in families.values():
        priced = [(thread, cost) for thread, one in family if (cost := one.cost) is not None]
        unpriced += sum(bool(one.usage) for _, one in family) - len(priced)
        paid = sum(cost for _, cost in priced)
        if len(priced) > 1:
            answers = [
                usage
                for thread, _ in priced
                for usage in _answers(archive, ThreadKey(owner, thread))
            ]
            copied = (cost_of_answers(answers) or 0.0) - (cost_of_answers(distinct(answers)) or 0.0)
            repeated += copied
            paid -= copied
        dollars += paid
    return TotalCost(dollars, repeated, unpriced)


def _answers(archive: Archive, key: ThreadKey) -> Iterator[Usage]:
    """Yield the usage of a session's answers, which those without an id have of their row."""
    for message in archive.messages(key, 0, archive.length(key) - 1):
        if message.usage is not None:
            yield replace(message.usage, id=message.usage.id or message.uid)
