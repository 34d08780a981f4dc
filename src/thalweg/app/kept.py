"""Answers that were made before, and still hold."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar, cast

T = TypeVar("T")
MOST = 512
"""Answers that are kept; those that were asked for last."""


class Kept:
    """Keeps answers with the version of what they were made of. Any thread may ask.

    Example:
        >>> kept = Kept()
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
        """Give an answer, made only where there is none of this version.

        Args:
            key: Whose and which; answers of one key are of one type.
            version: Of what it is made of, read before.
            make: Makes it. What changes meanwhile has a higher version, and it is made again.
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
