"""Reindexing of a scope's facts, if an earlier version indexed them under other words.

An item is removed from the index by the words of its insertion. Format 1 derived some of a fact's
words from tables that no longer exist, so the index of such a scope is cleared and rebuilt.
"""

from dataclasses import replace

from thalweg.memory.facts.recall.found import turn_words
from thalweg.memory.facts.recall.pieces import pieces
from thalweg.memory.search.index import IndexEntry
from thalweg.memory.store import scopes, threads
from thalweg.memory.store.records import read_turn
from thalweg.memory.store.scoped import ScopeTransaction


def reindex(scoped: ScopeTransaction) -> None:
    """Rebuild the index of a scope, in a writing transaction, unless its format is current."""
    if scoped.row.format >= scopes.FORMAT:
        return
    scoped.index.clear()
    names = threads.names(scoped.db, scoped.id)
    rows = scoped.db.rows(
        "SELECT thread, seq, body FROM memory_turn WHERE scope = ? ORDER BY thread, seq",
        (scoped.id,),
    )
    turns = [(thread, seq, read_turn(names[thread], seq, body)) for thread, seq, body in rows]
    cut = [(*turn, *piece) for turn in turns for piece in pieces(turn[2].text)]
    scoped.enter(
        [
            IndexEntry(turn_words(turn, start, stop), thread, seq, start, stop)
            for thread, seq, turn, start, stop in cut
        ],
        [turn.text[start:stop] for _, _, turn, start, stop in cut],
    )
    for kept in scoped.all_kept().values():
        item = scoped.listed(replace(kept, item=0), kept.fact)
        scoped.db.run(
            "UPDATE memory_fact SET item = ? WHERE scope = ? AND fact = ?",
            (item, scoped.id, kept.number),
        )
    scoped.row.format = scopes.FORMAT
    scopes.save(scoped.db, scoped.row)
