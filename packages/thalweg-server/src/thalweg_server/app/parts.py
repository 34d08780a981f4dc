"""Resources that are open while an application runs, shared by all owners."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.archive import Archive
from thalweg_memory import MemoryStore
from thalweg_server.app.registry import Registry
from thalweg_server.app.response_cache import ResponseCache
from thalweg_server.checkpoints.erasure import Erasure
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.running import ProcessRuns
from thalweg_server.settings.sections import Settings
from thalweg_server.uploads.base import Places
from thalweg_server.uploads.converting import Converter

if TYPE_CHECKING:
    from thalweg_server.app.agents.agents import Agents
    from thalweg_server.checkpoints.owners import Checkpoints


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
    """Removes the bytes of deleted content from files."""
    places: Places
    converter: Converter
    agents: "Callable[[], Awaitable[Agents]]"
    """Who makes agents; imported when first asked."""
    any_model: bool = False
    """Whether a run may name a model that the settings do not."""
