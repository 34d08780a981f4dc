"""What is open while an application runs, and shared by all owners."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.app.erasure import Erasure
from thalweg.app.kept import Kept
from thalweg.app.registry import Registry
from thalweg.archive import Archive
from thalweg.memory import MemoryStore
from thalweg.runs.base import Journal
from thalweg.runs.running import Runs
from thalweg.settings.whole import Settings
from thalweg.uploads.base import Places
from thalweg.uploads.converting import Converter

if TYPE_CHECKING:
    from thalweg.app.agents import Agents
    from thalweg.app.checkpoints import Checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The open parts; `App` opens and closes them."""

    settings: Callable[[], Settings]
    """As they are now."""
    archive: Archive
    memories: MemoryStore
    kept: Kept
    """Answers about memories that have not changed since."""
    checkpoints: "Checkpoints"
    """Those of all owners."""
    registry: Registry
    journal: Journal
    runs: Runs
    erasure: Erasure
    """Takes the bytes of what was deleted out of files."""
    places: Places
    converter: Converter
    agents: "Callable[[], Awaitable[Agents]]"
    """Who makes agents; imported when first asked."""
    any_model: bool = False
    """Whether a run may name a model that the settings do not."""
