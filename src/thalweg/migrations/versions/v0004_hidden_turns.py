"""Turns of a memory can be hidden; a scope knows its last clear and the words of its index.

An index counts and lists the facts of a status.
"""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns. Rows that are there get the values of what was never hidden or cleared."""
    op.execute("""
ALTER TABLE memory_scope ADD COLUMN IF NOT EXISTS format bigint NOT NULL DEFAULT 1;
ALTER TABLE memory_scope ADD COLUMN IF NOT EXISTS cleared bigint NOT NULL DEFAULT 0;
ALTER TABLE memory_turn ADD COLUMN IF NOT EXISTS hidden bigint NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS memory_fact_status ON memory_fact (scope, status, fact);
""")
