"""Which facts superseded which, where some of them are forgotten."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from thalweg_memory.facts.values import NO_FACT, Fact, FactId


class Lineage:
    """Who is next of kin to a fact, past those that go."""

    def __init__(self, facts: Iterable[Fact], gone: Collection[FactId]) -> None:
        self._gone = frozenset(gone)
        self._newer: defaultdict[FactId, dict[FactId, None]] = defaultdict(dict)
        self._older: defaultdict[FactId, dict[FactId, None]] = defaultdict(dict)
        self._there = set()
        for fact in facts:
            self._there.add(fact.id)
            links = [(fact.id, older) for older in fact.supersedes]
            links += [(fact.superseded_by, fact.id)] if fact.superseded_by else []
            for newer, older in links:
                self._newer[older][newer] = None
                self._older[newer][older] = None

    def heir(self, fact: Fact) -> FactId:
        """Return the remaining fact that superseded a fact, directly or not; `NO_FACT` for none."""
        return next(iter(self._staying(fact.superseded_by, self._newer, fact.id)), NO_FACT)

    def superseded(self, fact: Fact) -> tuple[FactId, ...]:
        """Return the facts that one superseded, directly or through forgotten ones (omitted)."""
        found = (
            each for id_ in fact.supersedes for each in self._staying(id_, self._older, fact.id)
        )
        return tuple(dict.fromkeys(found))

    def _staying(
        self, id_: FactId, links: dict[FactId, dict[FactId, None]], but: FactId
    ) -> list[FactId]:
        """Follow links over forgotten facts to remaining ones. Missing facts count as remaining."""
        if id_ not in self._gone:
            return [id_]
        waiting, seen, found = [id_], {id_, but}, []
        while waiting:
            for each in links.get(waiting.pop(), {}):
                if each in seen:
                    continue
                seen.add(each)
                if each in self._gone:
                    waiting.append(each)
                elif each in self._there:
                    found.append(each)
        return found
