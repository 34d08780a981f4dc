"""The mark: where in which journal a graph's state was left.

A state may come to another thread or another archive: checkpoints are copied, a run may have
another owner, an agent may be made anew with another archive. So a mark names the journal that
its turn is in, and how many messages left the state for the archive's log.
"""

import hashlib
import json
from dataclasses import dataclass

from thalweg.archive import ThreadKey


@dataclass(frozen=True, slots=True)
class Mark:
    """What a state holds of where it was left."""

    thread: str
    """Digest of the owner and the thread."""
    archive: str
    """`Archive.identity` of the archive that has the journal; empty in an older mark."""
    turn: int
    released: int | None
    """Messages of the thread that left the state and are in the archive alone; `None` in a mark
    of a version that did not count them."""

    def is_of(self, key: ThreadKey) -> bool:
        """Tell whether a state was left by this thread of this owner, in whichever archive."""
        return self.thread == _digest(key)


def write_mark(key: ThreadKey, turn: int, *, archive: str = "", released: int = 0) -> str:
    """Mark a state as left in a turn of a thread.

    Args:
        key: The thread.
        turn: Number of the turn in the journal.
        archive: `Archive.identity` of the archive that has the journal.
        released: Messages of the thread that the state does not hold any more.

    Example:
        >>> key = ThreadKey("ada", "t1")
        >>> mark = write_mark(key, 12, archive="a1", released=3)
        >>> read_mark(mark, key, "a1"), read_mark(mark, ThreadKey("bob", "t1"), "a1")
        (12, None)
        >>> parse_mark(mark).released
        3
    """
    return f"{_digest(key)}:{archive}:{turn}:{released}"


def read_mark(mark: object, key: ThreadKey, archive: str = "") -> int | None:
    """Return the turn of a thread that a state was left in; `None` if it was another's, or none."""
    parsed = parse_mark(mark)
    if parsed is None or not parsed.is_of(key):
        return None
    is_here = parsed.released is None or parsed.archive == archive
    return parsed.turn if is_here else None


def parse_mark(mark: object) -> Mark | None:
    """Parse a mark, whatever thread it names; `None` if it is none."""
    match mark.split(":") if isinstance(mark, str) else ():
        case (thread, archive, turn, released) if turn.isdecimal() and released.isdecimal():
            return Mark(thread, archive, int(turn), int(released))
        case (thread, turn) if turn.isdecimal():
            return Mark(thread, "", int(turn), None)
        case _:
            return None


def _digest(key: ThreadKey) -> str:
    return hashlib.sha256(json.dumps([key.owner, key.thread]).encode()).hexdigest()[:12]
