"""What is open while an application runs, and shared by all owners."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.archive import Archive
from thalweg.memory import MemoryStore
from thalweg.server.app.registry import Registry
from thalweg.server.app.response_cache import ResponseCache
from thalweg.server.checkpoints.erasure import Erasure
from thalweg.server.runs.journal import Journal
from thalweg.server.runs.running import ProcessRuns
from thalweg.server.settings.whole import Settings
from thalweg.server.uploads.base import Places
from thalweg.server.uploads.converting import Converter

if TYPE_CHECKING:
    from thalweg.server.app.agents.agents import Agents
    from thalweg.server.checkpoints.owners import Checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class AppParts:
    """The open parts; `App` opens and closes them."""

    settings: Callable[[], Settings]
    """As they are now."""
    archive: Archive
    memories: MemoryStore
    kept: ResponseCache
    """Answers about memories that have not changed since."""
    checkpoints: "Checkpoints"
    """Those of all owners."""
    registry: Registry
    journal: Journal
    runs: ProcessRuns
    erasure: Erasure
    """Takes the bytes of what was deleted out of files."""
    places: Places
    converter: Converter
    agents: "Callable[[], Awaitable[Agents]]"
    """Who makes agents; imported when first asked."""
    any_model: bool = False
    """Whether a run may name a model that the settings do not."""
