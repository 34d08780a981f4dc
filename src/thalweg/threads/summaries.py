"""Summaries that were written in the background, as the archive keeps them.

Each is kept under a digest of the messages that it is of. Where a rewind, a deletion or an edit
changed those, the digest is another one, and the summary is never shown.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from thalweg.archive import Archive, ThreadKey
from thalweg.context.edits import PendingSummary
from thalweg.entries import Message, parts_to_plain
from thalweg.summaries.check import Fault
from thalweg.summaries.summary import Summary, summary_from_data, summary_to_data
from thalweg.threads.journal import Spent

LEASE_S = 300.0
"""A summary that is not there so long after it was asked for was lost with its process."""


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """What came of a request for a summary, and what it cost."""

    summary: Summary | None
    """`None` where no model gave one that may be kept."""
    spent: Spent
    faults: tuple[Fault, ...] = ()
    """What went wrong, and what was left out."""


def source_digest(messages: Sequence[tuple[int, Message]]) -> str:
    """Return 64 hex digits that stand for messages, each with its position, in any order.

    Example:
        >>> hello = Message("user", ())
        >>> source_digest([(0, hello)]) == source_digest([(1, hello)])
        False
    """
    plain = [
        [position, message.uid, message.role, message.answers, parts_to_plain(message.parts)]
        for position, message in sorted(messages, key=lambda pair: pair[0])
    ]
    return hashlib.sha256(json.dumps(plain, separators=(",", ":")).encode()).hexdigest()


def keep_summary(archive: Archive, key: ThreadKey, source: str, stored: StoredSummary) -> bool:
    """Store what came of a request; return whether the thread is still there."""
    plain = {
        "summary": None if stored.summary is None else summary_to_data(stored.summary),
        "spent": asdict(stored.spent),
        "faults": [asdict(fault) for fault in stored.faults],
    }
    return archive.add_summary(key, source, json.dumps(plain, separators=(",", ":")))


def stored_summary(archive: Archive, key: ThreadKey, source: str) -> StoredSummary | None:
    """Read what `keep_summary` stored; `None` where nothing was."""
    text = archive.summary(key, source)
    if not text:
        return None
    plain = json.loads(text)
    return StoredSummary(
        None if plain["summary"] is None else summary_from_data(plain["summary"]),
        Spent(**plain["spent"]),
        tuple(Fault(**fault) for fault in plain["faults"]),
    )


def is_lost(pending: PendingSummary, now: float) -> bool:
    """Return whether a summary that is not stored will not come from another process any more.

    Args:
        pending: The summary.
        now: In seconds since 1970.
    """
    return now - pending.since > LEASE_S
