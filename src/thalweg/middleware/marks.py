"""The mark: where in which journal a graph's state was left.

A state may come to another thread: checkpoints are copied, and a run may have another owner.
So a mark says whose turn it names.
"""

import hashlib
import json

from thalweg.archive import ThreadKey


def write_mark(key: ThreadKey, turn: int) -> str:
    """Mark a state as left in a turn of a thread.

    Example:
        >>> key = ThreadKey("ada", "t1")
        >>> mark = write_mark(key, 12)
        >>> read_mark(mark, key), read_mark(mark, ThreadKey("bob", "t1"))
        (12, None)
    """
    return f"{_whose(key)}:{turn}"


def read_mark(mark: object, key: ThreadKey) -> int | None:
    """Tell the turn of a thread that a state was left in; `None` if it was another's, or none."""
    whose, _, turn = mark.partition(":") if isinstance(mark, str) else ("", "", "")
    return int(turn) if whose == _whose(key) and turn.isdecimal() else None


def _whose(key: ThreadKey) -> str:
    return hashlib.sha256(json.dumps([key.owner, key.thread]).encode()).hexdigest()[:12]
