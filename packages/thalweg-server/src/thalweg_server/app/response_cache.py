"""Answers that were made before, and still hold."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar, cast

T = TypeVar("T")
MOST = 512
"""Answers that are kept; those that were asked for last."""


class ResponseCache:
    """Caches answers with the version of their source. Thread-safe.

    Example:
        >>> kept = ResponseCache()
        >>> kept.get("ada", 1, lambda: "made"), kept.get("ada", 1, lambda: "made again")
        ('made', 'made')
        >>> kept.get("ada", 2, lambda: "made again")
        'made again'
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._answers: OrderedDict[object, tuple[int, object]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: object, version: int, make: Callable[[], T]) -> T:
        """Return a cached value, computed if there is none of this version.

        Args:
            key: Owner and name; values of one key have one type.
            version: Version of its source, read before.
            make: Computes it. A concurrent change has a higher version, and the value is computed
                again.
        """
        with self._lock:
            found = self._answers.get(key)
            if found is not None and found[0] == version:
                self._answers.move_to_end(key)
                return cast("T", found[1])
        answer = make()
        with self._lock:
            self._answers[key] = (version, answer)
            self._answers.move_to_end(key)
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return answer
