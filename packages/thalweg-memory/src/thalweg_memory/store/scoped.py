"""The tables of one scope, in one transaction: facts and sections, read and written."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from thalweg.database.base import encode
from thalweg_memory.facts.recall.found import fact_words
from thalweg_memory.facts.values import Fact, FactId, ProfileSection, SectionName, Status
from thalweg_memory.search.embedding_function import Embedding
from thalweg_memory.search.index import Index, IndexEntry
from thalweg_memory.store import scopes
from thalweg_memory.store.digests import Digests, Kind
from thalweg_memory.store.records import read_fact, read_section, write_fact, write_section
from thalweg_memory.store.rows import MemoryRows

_INDEXED: frozenset[Status] = frozenset({"active", "superseded"})
"""Superseded facts answer questions about the past."""
_STATUSES: tuple[Status, ...] = get_args(Status)
ENDLESS = 1 << 60
"""The `LIMIT` of a statement that returns all rows."""


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact with the data of its row."""

    number: int
    item: int
    """In the index; 0 if it is not in it."""
    fact: Fact


class ScopeTransaction:
    """One scope in a transaction. Who writes has taken its row with `scopes.grasp`."""

    def __init__(
        self,
        db: MemoryRows,
        row: scopes.ScopeRow,
        secret: bytes,
        embedding: Embedding | None = None,
    ) -> None:
        self.db = db
        self.row = row
        self.id = row.id
        self.digests = Digests(secret, row.id)
        self._embedding = embedding or Embedding()

    @cached_property
    def index(self) -> Index:
        """The index of the scope."""
        return Index(self.db, self.id, self.digests.secret)

    # -- facts ---------------------------------------------------------------------------

    def kept(self, ids: Iterable[FactId]) -> dict[FactId, FactRow]:
        """Read facts by id."""
        return self._read(
            self.db.rows_by(
                "SELECT fact, item, body FROM memory_fact WHERE scope = ? AND id",
                sorted({encode(id_) for id_ in ids}),
                (self.id,),
            )
        )

    def all_kept(self) -> dict[FactId, FactRow]:
        """Read every fact, oldest first."""
        return self._read(
            self.db.rows(
                "SELECT fact, item, body FROM memory_fact WHERE scope = ? ORDER BY fact", (self.id,)
            )
        )

    def facts(
        self, ids: Sequence[FactId] | None, statuses: Sequence[Status] | None, limit: int | None
    ) -> list[Fact]:
        """See `MemoryStore.facts`."""
        if ids is not None:
            found = self.kept(ids)
        else:
            found = {}
            for status in sorted(set(_STATUSES if statuses is None else statuses)):
                rows = self.db.rows(
                    "SELECT fact, item, body FROM memory_fact WHERE scope = ? AND status = ?"
                    " ORDER BY fact DESC LIMIT ?",
                    (self.id, status, ENDLESS if limit is None else limit),
                )
                found |= self._read(rows)
        in_order = sorted(found.values(), key=lambda kept: kept.number)
        newest = in_order if limit is None else in_order[max(0, len(in_order) - limit) :]
        facts = [kept.fact for kept in newest]
        return [fact for fact in facts if statuses is None or fact.status in statuses]

    def has_more_than(self, most: int) -> bool:
        """See `MemoryStore.has_more_than`."""
        if self.row.fact <= most:
            return False  # no more were ever written: counting would go through all of them
        row = self.db.row(
            "SELECT 1 FROM memory_fact WHERE scope = ? AND status = 'active' LIMIT 1 OFFSET ?",
            (self.id, most),
        )
        return row is not None

    def _read(self, rows: Iterable[tuple[int, int, bytes]]) -> dict[FactId, FactRow]:
        kept = [FactRow(number, item, read_fact(body)) for number, item, body in rows]
        return {each.fact.id: each for each in kept}

    def put(self, fact: Fact, old: FactRow | None) -> None:
        """Write a fact, replacing the one stored under its id."""
        if old is None:
            self.row.fact += 1
            old = FactRow(self.row.fact, 0, fact)
        else:
            self.db.run(
                "DELETE FROM memory_fact WHERE scope = ? AND fact = ?", (self.id, old.number)
            )
        item = self.listed(old, fact)
        row = (self.id, old.number, item, encode(fact.id), fact.status, write_fact(fact))
        self.db.insert("memory_fact", [row])

    def listed(self, old: FactRow, fact: Fact) -> int:
        """See to it that a fact is found by its words, if it is to be found at all."""
        words = fact_words(fact)
        if fact.status not in _INDEXED:
            if old.item:
                self.index.remove({old.item: fact_words(old.fact)})
            return 0
        if not old.item:
            return self.enter([IndexEntry(words, seq=old.number)], [fact.content])[0]
        before = fact_words(old.fact)
        if before != words:
            self.index.replace(old.item, before, words)
            self.index.vectors.put(self._embedding.by_number([old.item], [fact.content]))
        return old.item

    def enter(self, entries: Sequence[IndexEntry], texts: Sequence[str]) -> Sequence[int]:
        """Index items by their words, and by vectors of their texts if these are made."""
        numbers = self.index.add(entries)
        self.index.vectors.put(self._embedding.by_number(numbers, texts))
        return numbers

    def drop(self, facts: Sequence[FactRow]) -> None:
        """Take facts out."""
        self.index.remove({old.item: fact_words(old.fact) for old in facts if old.item})
        self.db.run_each(
            "DELETE FROM memory_fact WHERE scope = ? AND fact = ?",
            [(self.id, old.number) for old in facts],
        )

    # -- the profile ---------------------------------------------------------------------

    def sections(self) -> dict[SectionName, ProfileSection]:
        """Read the sections of the profile."""
        rows = self.db.rows("SELECT body FROM memory_section WHERE scope = ?", (self.id,))
        read = [read_section(body) for (body,) in rows]
        return {section.name: section for section in read}

    def write(self, name: SectionName, section: ProfileSection | None) -> None:
        """Write a section, or take it out."""
        self.db.run("DELETE FROM memory_section WHERE scope = ? AND name = ?", (self.id, name))
        if section is not None:
            self.db.insert("memory_section", [(self.id, name, write_section(section))])

    # -- tombstones ----------------------------------------------------------------------

    def buried(self, texts: Collection[tuple[Kind, str]]) -> set[tuple[Kind, str]]:
        """Return the texts that have a tombstone."""
        by_digest = {self.digests.of(kind, text): (kind, text) for kind, text in texts}
        rows = self.db.rows_by(
            "SELECT digest FROM memory_tombstone WHERE scope = ? AND digest",
            sorted(by_digest),
            (self.id,),
        )
        gone = {bytes(digest) for (digest,) in rows}
        return {(kind, text) for kind, text in texts if self.digests.of(kind, text) in gone}
