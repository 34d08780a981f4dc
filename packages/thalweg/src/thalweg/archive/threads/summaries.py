"""Summaries written in the background, stored in the archive.

Each is stored by a digest of its source messages. If a rewind, a deletion or an edit changes those,
the digest differs, and the summary is never shown.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from thalweg.archive import Archive, ThreadKey
from thalweg.engine.edits import PendingSummary
from thalweg.engine.entries import Message, parts_to_plain
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.summaries.summary import (
    Summary,
    SummaryDefect,
    summary_from_data,
    summary_to_data,
)

LEASE_S = 300.0
"""Seconds after a request when a missing summary counts as lost with its process."""


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """The result of a request for a summary, and its cost."""

    summary: Summary | None
    """`None` if no model returned a usable one."""
    spent: Usage
    faults: tuple[SummaryDefect, ...] = ()
    """Errors, and dropped lines."""


def source_digest(messages: Sequence[tuple[int, Message]]) -> str:
    """Return a digest of 64 hex digits of messages and their positions, in any order.

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
    """Store the result of a request; return whether the thread still exists."""
    plain = {
        "summary": None if stored.summary is None else summary_to_data(stored.summary),
        "spent": asdict(stored.spent),
        "faults": [asdict(fault) for fault in stored.faults],
    }
    return archive.add_summary(key, source, json.dumps(plain, separators=(",", ":")))


def stored_summary(archive: Archive, key: ThreadKey, source: str) -> StoredSummary | None:
    """Return the result stored by `keep_summary`; `None` if there is none."""
    text = archive.summary(key, source)
    if not text:
        return None
    plain = json.loads(text)
    return StoredSummary(
        None if plain["summary"] is None else summary_from_data(plain["summary"]),
        Usage(**plain["spent"]),
        tuple(SummaryDefect(**fault) for fault in plain["faults"]),
    )


def is_lost(pending: PendingSummary, now: float) -> bool:
    """Return whether a missing summary can no longer be expected from another process.

    Args:
        pending: The summary.
        now: In seconds since 1970.
    """
    return now - pending.since > LEASE_S
