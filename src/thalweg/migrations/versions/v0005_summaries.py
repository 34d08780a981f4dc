"""Summaries that a model wrote in the background are kept until a compaction shows them."""

from alembic import op

from thalweg.migrations.walls import OF_THREAD, wall

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table of summaries, and give it its wall."""
    op.execute("""
CREATE TABLE IF NOT EXISTS archive_summary (
    thread bigint NOT NULL,
    source bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (thread, source)
);
""")
    op.execute(wall("archive_summary", OF_THREAD))
