"""Summaries that a model wrote in the background are kept until a compaction shows them."""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import OF_THREAD, wall

NUMBER = "0005"


_SUMMARIES = """
CREATE TABLE IF NOT EXISTS archive_summary (
    thread bigint NOT NULL,
    source bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (thread, source)
){clustered};
"""


def upgrade(schema: Schema) -> None:
    """Create the table of summaries, and add its wall."""
    schema.make("archive", _SUMMARIES)
    schema.in_postgres(wall("archive_summary", OF_THREAD))
