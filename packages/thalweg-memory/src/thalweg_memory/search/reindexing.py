"""Reindexing of a scope's facts, if an earlier version indexed them under other words.

An item is removed from the index by the words of its insertion. Format 1 derived some of a fact's
words from tables that no longer exist, so the index of such a scope is cleared and rebuilt.
"""

from dataclasses import replace

from thalweg_memory.store.scoped import FORMAT, ScopeTransaction, save_scope
from thalweg_memory.store.turns import all_turns, index_turns


def reindex(scoped: ScopeTransaction) -> None:
    """Rebuild the index of a scope, in a writing transaction, unless its format is current."""
    if scoped.row.format >= FORMAT:
        return
    scoped.index.clear()
    index_turns(scoped, all_turns(scoped))
    for kept in scoped.all_kept().values():
        item = scoped.listed(replace(kept, item=0), kept.fact)
        scoped.db.run(
            "UPDATE memory_fact SET item = ? WHERE scope = ? AND fact = ?",
            (item, scoped.id, kept.number),
        )
    scoped.row.format = FORMAT
    save_scope(scoped.db, scoped.row)
