"""Turns of a memory can be hidden; a scope stores its last clear and the words of its index.

An index counts and lists the facts of a status.
"""

from thalweg.database.migrations.schema import Schema

NUMBER = "0004"


def upgrade(schema: Schema) -> None:
    """Add the columns. Existing rows count as never hidden or cleared."""
    schema.add_column("memory", "memory_scope", "format bigint NOT NULL DEFAULT 1")
    schema.add_column("memory", "memory_scope", "cleared bigint NOT NULL DEFAULT 0")
    schema.add_column("memory", "memory_turn", "hidden bigint NOT NULL DEFAULT 0")
    schema.make("memory", _INDEX)
    schema.in_sqlite("memory", "UPDATE memory_meta SET value = x'32' WHERE name = 'version';")


_INDEX = """
CREATE INDEX IF NOT EXISTS memory_fact_status ON memory_fact (scope, status, fact);
"""
