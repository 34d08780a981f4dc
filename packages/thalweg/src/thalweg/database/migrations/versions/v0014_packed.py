"""Events of ended runs are packed and shown memories compressed, which no earlier version reads."""

from thalweg.database.migrations.schema import Schema

NUMBER = "0014"


def upgrade(schema: Schema) -> None:
    """Change no table."""
