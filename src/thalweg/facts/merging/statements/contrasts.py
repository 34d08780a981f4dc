"""Words that set two facts apart: at work and at home, staging and production, the two sisters."""

from thalweg.facts.merging.statements.claims import Statement
from thalweg.facts.merging.statements.tables.contrasts import CHINESE, ENGLISH
from thalweg.facts.merging.statements.tables.english_words import stems
from thalweg.facts.merging.statements.tables.rows import rows

_PAIRS = tuple(map(stems, rows(ENGLISH)))
_HAN_PAIRS = tuple(frozenset(row.split()) for row in rows(CHINESE))


def contrast(
    first: Statement, second: Statement, values: frozenset[str], *, has_subject: bool = False
) -> str:
    """Name what sets two statements apart, or nothing.

    Args:
        first: One.
        second: The other.
        values: Words of the values that are compared: they set nothing apart.
        has_subject: Whether both are known to be about the same subject.
    """
    if first.contrasts and second.contrasts:
        for group in _GROUPS:
            one, other = (first.contrasts & group) - values, (second.contrasts & group) - values
            if one and other and not one & other:
                return f"{' '.join(sorted(one))} is not {' '.join(sorted(other))}"
    return "" if has_subject else _kin(first, second)


_KIN = next(group for group in _PAIRS if "sister" in group)
_HAN_KIN = next(group for group in _HAN_PAIRS if "母亲" in group)


def _kin(first: Statement, second: Statement) -> str:
    """Say whether one tells of the user and the other of a relative."""
    for group in (_KIN, _HAN_KIN):
        one = {w for c in first.claims for w in c.subject.split()} & group
        other = {w for c in second.claims for w in c.subject.split()} & group
        if bool(one) != bool(other) and first.claims and second.claims:
            return f"told of {' '.join(sorted(one | other))} alone"
    return ""


_GROUPS = (*_PAIRS, *_HAN_PAIRS)
ENGLISH_WORDS = frozenset(word for group in _PAIRS for word in group)
"""What a reader of English looks for."""
HAN_WORDS = frozenset(word for group in _HAN_PAIRS for word in group)
"""What a reader of Chinese looks for."""
