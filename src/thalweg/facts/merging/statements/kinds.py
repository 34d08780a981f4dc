"""The kind of a thing, whatever language it is told in."""

from thalweg.facts.merging.statements.chinese import tokens as chinese
from thalweg.facts.merging.statements.english import tokens as english


def kind_of(value: str) -> frozenset[str]:
    """Name the kinds that a folded value is of: one for each language that knows it."""
    return frozenset(table[value] for table in (english.KIND_OF, chinese.KIND_OF) if value in table)
