"""What owners spent on models, by day, over all processes."""

from thalweg.database.migrations.schema import Schema
from thalweg.database.migrations.walls import OF_OWNER, wall

NUMBER = "0009"

_CHARGES = """
CREATE TABLE IF NOT EXISTS app_charge (
    owner bytea NOT NULL,
    day bigint NOT NULL,
    model bytea NOT NULL,
    calls bigint NOT NULL,
    input bigint NOT NULL,
    cached bigint NOT NULL,
    written bigint NOT NULL,
    output bigint NOT NULL,
    PRIMARY KEY (owner, day, model)
){clustered};
"""


def upgrade(schema: Schema) -> None:
    """Add the table of charges."""
    schema.make("app", _CHARGES)
    schema.in_postgres(wall("app_charge", OF_OWNER))
