"""The time that a contestant takes, excluding the work of others."""

import time
from dataclasses import dataclass


@dataclass(slots=True)
class Stopwatch:
    """Runs inside `with`, and adds up until it is read."""

    _started: float = 0.0
    _spent_s: float = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._spent_s += time.perf_counter() - self._started

    def lap_ms(self) -> float:
        """Return the milliseconds since the last call, and restart."""
        spent, self._spent_s = self._spent_s, 0.0
        return spent * 1e3
