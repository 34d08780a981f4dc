"""Packed events of ended runs, compressed turns and shown memories: no older version reads them."""

from thalweg.database.migrations.schema import Schema

NUMBER = "0014"


def upgrade(schema: Schema) -> None:
    """Change no table."""
