"""The history of Thalweg's own tables in PostgreSQL.

Two rules: one history for the tables of all rooms, each version in SQL of its own; no row of an
owner is in a table without a wall (`thalweg.migrations.walls`).

A room that brings tables adds one file to `versions`, whose `revision` follows the newest and is
the new `HEAD`.
"""

from thalweg.migrations.history import (
    HEAD,
    bring_up_to_date,
    foreign_table,
    is_up_to_date,
    refuse_newer_formats,
    version_of,
)

__all__ = [
    "HEAD",
    "bring_up_to_date",
    "foreign_table",
    "is_up_to_date",
    "refuse_newer_formats",
    "version_of",
]
