"""Walls around the rows of an owner: the statements with which a version adds one to a table.

Each reader or writer sets the owner whose rows are meant, for the length of one transaction, and
sees no others, with any statement: the setting `thalweg.owner`, and within an owner's rows
`thalweg.thread` (archive) or `thalweg.scope` (memory). The functions of the same names return the
settings; those of a thread and a scope only if it is the owner's. Row-level security does not
restrict superusers and roles that may bypass it.

Queries across owners use functions that run as the owner of the tables, and nothing else: only
for that role, and only while such a function has set `thalweg.across`, are the rows of all owners
visible.
"""

OF_OWNER = "owner = thalweg_owner()"
OF_THREAD = "thread = (SELECT thalweg_thread())"
OF_SCOPE = "scope = (SELECT thalweg_scope())"
OF_OWNERS = (
    "owner = ANY (string_to_array((SELECT current_setting('thalweg.owner', true)), chr(31)))"
)
"""Of runs: one transaction writes events of many owners, and names them all, as text."""
OF_FILES = "owner = (SELECT current_setting('thalweg.files', true))"
"""Of files: whose they are is a tag made of the owner's name."""


def wall(table: str, condition: str) -> str:
    """Let only those rows of a table be seen and written of which a condition holds.

    Example:
        >>> print(wall("notes", OF_OWNER).strip())
        ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
        ALTER TABLE notes FORCE ROW LEVEL SECURITY;
        DROP POLICY IF EXISTS of_owner ON notes;
        CREATE POLICY of_owner ON notes USING (owner = thalweg_owner());
    """
    return f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS of_owner ON {table};
CREATE POLICY of_owner ON {table} USING ({condition});
"""


def door(table: str) -> str:
    """Let the functions that look across owners into a table."""
    return f"""
DROP POLICY IF EXISTS across ON {table};
CREATE POLICY across ON {table} TO CURRENT_USER
    USING (current_setting('thalweg.across', true) = 'yes');
"""
