"""The index of an archive has no words for the shapes of answers; searches fill it again."""

from thalweg.database.migrations.schema import Schema

NUMBER = "0011"

# FTS5 removes a passage only by the very words with which it was added, so the index starts anew.
_IN_SQLITE = """
INSERT INTO archive_words (archive_words) VALUES ('delete-all');
DELETE FROM archive_passage;
UPDATE archive_thread SET indexed = 0, passages = 0;
"""
_IN_POSTGRES = """
SELECT set_config('thalweg.across', 'yes', true);
LOCK TABLE archive_thread, archive_passage, archive_words IN ACCESS EXCLUSIVE MODE;
TRUNCATE archive_passage, archive_words;
UPDATE archive_thread SET indexed = 0, passages = 0;
SELECT set_config('thalweg.across', '', true);
"""


def upgrade(schema: Schema) -> None:
    """Delete the index; its background batches and the next search make it again."""
    schema.in_sqlite("archive", _IN_SQLITE)
    schema.in_postgres(_IN_POSTGRES)
