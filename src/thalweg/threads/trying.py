"""Beginning again where another run was faster: how often, how soon, and when it is given up."""

import random
import time
from dataclasses import dataclass

from thalweg.errors import ConflictError

TRIES = 30
"""How often something is tried that others may come before."""
PAUSE_S, LONGEST_S = 0.002, 0.25
"""Before the next try, at most: doubled each time, up to the longest. Chance decides how much of
it, so that two runs do not meet again and again."""


@dataclass(slots=True)
class Tries:
    """What is left of the tries of one act on a thread.

    Example:
        >>> tries = Tries(2)
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

    left: int = TRIES

    def spend(self, conflict: ConflictError) -> None:
        """Count one try that another run came before, and pause.

        Raises:
            ConflictError: It was the last one.
        """
        self.left -= 1
        if not self.left:
            raise conflict
        longest = min(LONGEST_S, PAUSE_S * 2 ** (TRIES - self.left))
        time.sleep(random.uniform(0, longest))  # noqa: S311 (no secret)
