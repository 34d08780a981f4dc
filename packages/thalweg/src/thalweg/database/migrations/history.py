"""Every version of the tables, in order. Imported if a database lacks some."""

from types import ModuleType

from thalweg.database.migrations.versions import v0019_tables

VERSIONS: tuple[ModuleType, ...] = (v0019_tables,)
"""Each has a `NUMBER` and a function `upgrade`, which takes a `Schema`; the first one also converts
the tables of all earlier numbers."""
