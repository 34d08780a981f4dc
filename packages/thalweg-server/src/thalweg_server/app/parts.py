"""Resources that are open while an application runs, shared by all owners."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeVar, cast

from thalweg.archive import Archive
from thalweg_memory import MemoryStore
from thalweg_server.app.registry import Registry
from thalweg_server.checkpoints.erasure import Erasure
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.running import ProcessRuns
from thalweg_server.settings.sections import Settings
from thalweg_server.uploads.base import Places
from thalweg_server.uploads.converting import Converter

if TYPE_CHECKING:
    from thalweg_server.app.agents.agents import Agents
    from thalweg_server.checkpoints.owners import Checkpoints

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


class SharedCall:
    """Calls a function in a thread; callers that wait for it share one call.

    Args:
        do: The function.
    """

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do
        self._begun = self._done = 0
        self._lock = asyncio.Lock()

    async def __call__(self) -> None:
        """Return after a call that began later than this one."""
        begun = self._begun
        async with self._lock:
            if self._done > begun:
                return
            self._begun += 1
            await asyncio.to_thread(self._do)
            self._done = self._begun


@dataclass(frozen=True, slots=True, kw_only=True)
class AppParts:
    """The open parts; `App` opens and closes them."""

    settings: Callable[[], Settings]
    """As they are now."""
    archive: Archive
    prune: SharedCall
    """Deletes large texts that no thread has; it reads all of them."""
    memories: MemoryStore
    kept: ResponseCache
    """Answers about memories that have not changed since."""
    checkpoints: "Checkpoints"
    """Those of all owners."""
    registry: Registry
    journal: Journal
    runs: ProcessRuns
    erasure: Erasure
    """Removes the bytes of deleted content from files."""
    places: Places
    converter: Converter
    agents: "Callable[[], Awaitable[Agents]]"
    """Who makes agents; imported when first asked."""
    any_model: bool = False
    """Whether a run may name a model that the settings do not."""
