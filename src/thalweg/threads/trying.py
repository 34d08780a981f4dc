"""Beginning again where another run was faster: how often, and when it is given up."""

from dataclasses import dataclass

from thalweg.errors import ConflictError

TRIES = 20
"""How often something is tried that others may come before."""


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
        """Count one try that another run came before.

        Raises:
            ConflictError: It was the last one.
        """
        self.left -= 1
        if not self.left:
            raise conflict
