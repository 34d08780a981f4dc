"""The checkpoint pointer of a graph's state: its journal and the turn in it.

A state may reach another thread or another archive: checkpoints are copied, a run may have another
owner, an agent may be recreated with another archive. So a pointer names the journal of its turn,
and how many messages are in the archive's log and no longer in the state.
"""

import hashlib
import json
from dataclasses import dataclass

from thalweg.archive import ThreadKey


@dataclass(frozen=True, slots=True)
class CheckpointPointer:
    """The checkpoint pointer that a state holds."""

    thread: str
    """Digest of the owner and the thread."""
    archive: str
    """`Archive.identity` of the archive that has the journal; empty in an older mark."""
    turn: int
    """Place of the turn's record in the journal."""
    released: int | None
    """Number of messages that were removed from the state and are in the archive alone; `None` in a
    pointer of a version that did not count them."""

    def is_of(self, key: ThreadKey) -> bool:
        """Return whether a state is of this thread and owner, in any archive."""
        return self.thread == _digest(key)


def write_pointer(key: ThreadKey, turn: int, *, archive: str = "", released: int = 0) -> str:
    """Return the checkpoint pointer to a turn of a thread.

    Args:
        key: The thread.
        turn: Place of the turn's record in the journal.
        archive: `Archive.identity` of the archive that has the journal.
        released: Messages of the thread that the state does not hold any more.

    Example:
        >>> key = ThreadKey("ada", "t1")
        >>> pointer = write_pointer(key, 12, archive="a1", released=3)
        >>> (
        ...     read_pointer_turn(pointer, key, "a1"),
        ...     read_pointer_turn(pointer, ThreadKey("bob", "t1"), "a1"),
        ... )
        (12, None)
        >>> parse_pointer(pointer).released
        3
    """
    return f"{_digest(key)}:{archive}:{turn}:{released}"


def read_pointer_turn(pointer: object, key: ThreadKey, archive: str = "") -> int | None:
    """Return the turn of a checkpoint pointer; `None` for another thread or without a pointer."""
    parsed = parse_pointer(pointer)
    if parsed is None or not parsed.is_of(key):
        return None
    is_same_archive = parsed.released is None or parsed.archive == archive
    return parsed.turn if is_same_archive else None


def parse_pointer(pointer: object) -> CheckpointPointer | None:
    """Parse a checkpoint pointer of any thread; return `None` if it is invalid."""
    match pointer.split(":") if isinstance(pointer, str) else ():
        case (thread, archive, turn, released) if turn.isdecimal() and released.isdecimal():
            return CheckpointPointer(thread, archive, int(turn), int(released))
        case (thread, turn) if turn.isdecimal():
            return CheckpointPointer(thread, "", int(turn), None)
        case _:
            return None


def _digest(key: ThreadKey) -> str:
    return hashlib.sha256(json.dumps([key.owner, key.thread]).encode()).hexdigest()[:12]
