"""Crons: requests of runs with a schedule, and the time of the next run of each."""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import OF_OWNERS, wall

NUMBER = "0017"

_CRONS = """
CREATE TABLE run_cron (
    owner text {by_bytes} NOT NULL,
    cron text {by_bytes} NOT NULL,
    thread text {by_bytes} NOT NULL,
    due bigint NOT NULL,
    body text NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    PRIMARY KEY (owner, cron)
){clustered};
"""


def upgrade(schema: Schema) -> None:
    """Make the table of crons."""
    schema.make("runs", _CRONS)
    schema.in_postgres(wall("run_cron", OF_OWNERS))
