"""What holds now, what held at a time, and how the rest is told.

Which of two facts is the newer one is decided here and nowhere else: never by how well it answers
a question, and never by a model.
"""

from collections.abc import Iterable

from thalweg.facts.merging.comparing import claims_of, compare
from thalweg.facts.values import Fact, FactId, Trust

_END_OF_DAY = "T23:59:59Z"
_DAY_CHARS = len("2026-03-02")


def holds(fact: Fact, as_of: str = "") -> bool:
    """Say whether a fact holds now, or held at a time.

    Args:
        fact: One that is trusted, or not: quarantined facts never hold.
        as_of: A time or a day in ISO 8601, its end; empty for now.

    Example:
        >>> from thalweg.facts.values import Fact, FactId
        >>> fact = Fact(
        ...     FactId("a"), "User lives in Berlin", "context", 1, "2025-01-01", "manual",
        ...     valid_from="2025-01-01T00:00:00Z", valid_to="2026-03-02T00:00:00Z",
        ...     status="superseded",
        ... )
        >>> holds(fact), holds(fact, "2025-06-01"), holds(fact, "2026-03-02")
        (False, True, False)
    """  # fmt: skip
    if fact.trust < Trust.IMPORT or fact.status == "quarantined":
        return False
    if not as_of:
        return fact.status == "active" and not fact.valid_to
    at = f"{as_of}{_END_OF_DAY}" if len(as_of) == _DAY_CHARS else as_of
    return _since(fact) <= at and (at < fact.valid_to if fact.valid_to else fact.status == "active")


def current(facts: Iterable[Fact], as_of: str = "") -> tuple[list[Fact], list[Fact]]:
    """Part facts into those that hold and those that held before, each in the order given.

    Of facts that tell different values of an attribute with one value at a time only the last
    holds, whatever their status says: the one that holds since the latest day, or was said last.

    Args:
        facts: Of one memory. Those that are not trusted are in neither list.
        as_of: See `holds`.
    """
    at = f"{as_of}{_END_OF_DAY}" if len(as_of) == _DAY_CHARS else as_of
    trusted = [f for f in facts if f.trust >= Trust.IMPORT and f.status != "quarantined"]
    trusted = [fact for fact in trusted if not at or _since(fact) <= at]
    holding = [fact for fact in trusted if holds(fact, as_of)]
    stale = _stale(holding)
    kept = [fact for fact in holding if fact.id not in stale]
    ids = {fact.id for fact in kept}
    return kept, [fact for fact in trusted if fact.id not in ids]


def until(fact: Fact) -> str:
    """Tell until when a fact held, as it stands behind its content: `(until 2026-03-02)`.

    Empty for one that holds, or of which nobody knows until when it did.
    """
    return f"(until {fact.valid_to[:_DAY_CHARS]})" if fact.valid_to else ""


def _since(fact: Fact) -> str:
    return fact.valid_from or fact.observed_at or fact.created_at


def _freshness(fact: Fact) -> tuple[str, str]:
    return max(fact.valid_from, fact.observed_at or fact.created_at), fact.id


def _stale(facts: Iterable[Fact]) -> set[FactId]:
    """List the facts that a later one of the same attribute of the same subject replaces."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        for claim in claims_of(fact):
            if claim.is_single:
                groups.setdefault((claim.subject, claim.attribute), []).append(fact)
    stale: set[FactId] = set()
    for group in groups.values():
        group.sort(key=_freshness)
        for i, fact in enumerate(group):
            if any(compare(fact, later).kind == "update" for later in group[i + 1 :]):
                stale.add(fact.id)
    return stale
