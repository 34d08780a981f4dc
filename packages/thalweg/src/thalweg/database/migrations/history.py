"""Every version of the tables, in order. Imported if a database lacks some."""

from collections.abc import Iterator
from types import ModuleType

from thalweg.database.migrations.versions import (
    v0001_tables,
    v0002_walls,
    v0003_service,
    v0004_hidden_turns,
    v0005_summaries,
    v0006_takeover,
    v0007_deletions,
    v0008_waiting_runs,
    v0009_charges,
    v0010_jobs,
    v0011_index,
    v0012_queue,
    v0013_order,
    v0014_packed,
    v0015_turns,
    v0016_words,
    v0017_crons,
)

VERSIONS: tuple[ModuleType, ...] = (
    v0001_tables,
    v0002_walls,
    v0003_service,
    v0004_hidden_turns,
    v0005_summaries,
    v0006_takeover,
    v0007_deletions,
    v0008_waiting_runs,
    v0009_charges,
    v0010_jobs,
    v0011_index,
    v0012_queue,
    v0013_order,
    v0014_packed,
    v0015_turns,
    v0016_words,
    v0017_crons,
)
"""Each has a `NUMBER` and a function `upgrade`, which takes a `Schema`."""


def versions_after(current_version: str) -> Iterator[ModuleType]:
    """List the versions that a database lacks.

    Args:
        current_version: Its version; empty if it has none.
    """
    return (version for version in VERSIONS if current_version < version.NUMBER)
