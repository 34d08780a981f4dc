"""Retry with backoff after a conflict with another run."""

import random
import time
from dataclasses import dataclass

from thalweg.errors import ConflictError

MAX_ATTEMPTS = 30
"""Attempts at an operation that may conflict."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.002, 0.25
"""Longest pause before the next attempt: doubled each time, up to the maximum. The actual one is
random, so that two runs do not conflict repeatedly."""


@dataclass(slots=True)
class Retry:
    """The remaining attempts of one operation on a thread.

    Example:
        >>> tries = Retry(2)
        >>> def append() -> str:
        ...     if tries.left == 2:
        ...         raise ConflictError("t1", 0, 1)
        ...     return "appended"
        >>> def act() -> str:
        ...     while True:
        ...         try:
        ...             return append()
        ...         except ConflictError as conflict:
        ...             tries.spend(conflict)
        >>> act()
        'appended'
    """

    left: int = MAX_ATTEMPTS

    def spend(self, conflict: ConflictError) -> None:
        """Count one attempt that ended in a conflict, and pause.

        Raises:
            ConflictError: It was the last one.
        """
        self.left -= 1
        if not self.left:
            raise conflict
        longest = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** (MAX_ATTEMPTS - self.left))
        time.sleep(random.uniform(0, longest))  # noqa: S311 (no secret)
