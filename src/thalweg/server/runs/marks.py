"""Short names of runs, for notices between processes."""

from hashlib import blake2b

from thalweg.server.runs.base import RunKey


def mark(key: RunKey) -> str:
    """Return the short name of a run in notifications; two runs may share one.

    Example:
        >>> len(mark(RunKey("ann", "thread", "run")))
        12
    """
    return blake2b(f"{key.owner}\0{key.run}".encode(errors="replace"), digest_size=6).hexdigest()
