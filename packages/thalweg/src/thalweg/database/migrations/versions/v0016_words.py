"""Words of memory's index share rows, which no earlier version reads.

Memory itself moves the words of a scope when it next reads or writes it. The pieces of a turn have
one entry in an index.
"""

from thalweg.database.migrations.schema import Schema

NUMBER = "0016"

_ITEMS = """
DROP INDEX IF EXISTS memory_item_turn;
CREATE INDEX memory_item_turn ON memory_item (scope, thread, seq);
"""
_SERVED_ITEMS = """
CREATE INDEX memory_item_turns ON memory_item (scope, thread, seq);
DROP INDEX IF EXISTS memory_item_turn;
ALTER INDEX memory_item_turns RENAME TO memory_item_turn;
"""


def upgrade(schema: Schema) -> None:
    """Leave the place of a piece out of the index of turns; on a server, reads go on meanwhile."""
    schema.in_sqlite("memory", _ITEMS)
    schema.in_postgres(_SERVED_ITEMS)
