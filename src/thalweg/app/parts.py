"""What is open while an application runs, and shared by all owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.archive import Archive
    from thalweg.memory import MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The open parts. `App` closes them."""

    home: Path
    archive: Archive
    memories: MemoryStore
