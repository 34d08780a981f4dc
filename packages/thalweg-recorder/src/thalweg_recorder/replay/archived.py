"""A recorded session as it is in the archive: its calls with their cost, and its lost requests.

The log of the agent is not read again.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import read_pages
from thalweg.archive.threads.thread_history import branch_at
from thalweg.engine.pricing.matching import tariff_of_model
from thalweg.errors import NoSuchThreadError
from thalweg_recorder.recordings.base import RecordedCompaction, Recording, SessionInfo
from thalweg_recorder.replay.questions import Questions, requests_of
from thalweg_recorder.replay.recorded import is_lost
from thalweg_recorder.replay.subject import ReplaySubject, TariffTerms, subject_of, terms_of
from thalweg_recorder.sessions import RecordedSession, newest_session

MOST_STEPS = 20_000_000
"""Calls times messages up to which sending everything is priced: the time grows with both."""


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """A recorded session, with the values that the report computes from its log."""

    session: RecordedSession
    subject: ReplaySubject
    starts: tuple[int, ...]
    """Position of the first message after each compaction."""
    terms: TariffTerms | None
    """Prices of its model; `None` if they or the usage are unknown, or it is too long."""
    lost: Mapping[int, int]
    """Position of each request that left the context, to the number of the compaction, from 0,
    since which no summary and no later message has it."""

    @property
    def recording(self) -> Recording:
        """Its messages and its compactions."""
        return self.subject.recording

    def compaction_before(self, position: int) -> int:
        """Return the number of the newest compaction before a message; -1 if there is none."""
        return bisect_right(self.starts, position) - 1


def archived_session(archive: Archive, key: ThreadKey) -> ArchivedSession:
    """Read a recorded session.

    Raises:
        NoSuchThreadError: The thread is no recorded session.
    """
    session, recording = _recording(archive, key)
    subject = subject_of(recording, Questions(goals=requests_of(recording)))
    tariff = tariff_of_model(recording.model)
    calls = len(recording.answers)
    is_priced = tariff is not None and 0 < calls * len(recording.messages) <= MOST_STEPS
    terms = terms_of(subject, tariff, "model") if is_priced and tariff else None
    starts = tuple(one.line for one in recording.compactions)
    return ArchivedSession(session, subject, starts, terms, _lost(recording))


def count_lost_requests(archive: Archive, key: ThreadKey) -> int:
    """Return the number of requests that a recorded session lost; see `ArchivedSession.lost`.

    Raises:
        NoSuchThreadError: The thread is no recorded session.
    """
    return len(_lost(_recording(archive, key)[1]))


def _recording(archive: Archive, key: ThreadKey) -> tuple[RecordedSession, Recording]:
    session = newest_session(archive, key)
    if session is None:
        raise NoSuchThreadError(key.thread)
    placed = [
        one
        for page in read_pages(archive, key).values()
        for one in page.session.get("new_compactions", ())
    ]
    compactions = tuple(
        RecordedCompaction(
            line=one["position"],
            at=one.get("at", ""),
            trigger=one.get("trigger", ""),
            tokens_before=one.get("tokens_before", 0),
            summary=archive.attachment(key, one["summary"]) if one["summary"] else "",
        )
        for one in placed
    )
    visible = branch_at(archive, key)
    messages = tuple(
        replace(message, line=position)
        for position, message in enumerate(archive.messages(key))
        if position in visible
    )
    info = SessionInfo(session.id, session.project, session.branch, session.title, session.model)
    return session, Recording(key.thread, session.agent, messages, (), info, compactions)


def _lost(recording: Recording) -> dict[int, int]:
    messages, starts = recording.messages, [one.line for one in recording.compactions]
    ends = [end for _, end in pairwise((*starts, len(messages)))]
    lost: dict[int, int] = {}
    for goal in requests_of(recording) if starts else ():
        for number in reversed(range(len(starts))):
            if goal.line >= starts[number]:
                break
            kept = messages[starts[number] : ends[number]]
            if not is_lost(goal, kept, recording.compactions[number].summary):
                break
            lost[goal.line] = number
    return lost
