"""What a statement says: of whom it tells what, whether it holds, and what it replaces.

Two rules: nothing here guesses, what no rule knows has its words and no claim; a rule holds for
nearly every statement, and lives in a table.
"""

from thalweg.facts.merging.statements.claims import USER, Claim, Statement
from thalweg.facts.merging.statements.reading import (
    read_statement,
    subject_key,
    value_key,
    value_words,
)

__all__ = [
    "USER",
    "Claim",
    "Statement",
    "read_statement",
    "subject_key",
    "value_key",
    "value_words",
]
