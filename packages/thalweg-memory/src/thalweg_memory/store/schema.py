"""The tables of a memory that statements name all at once; `database.migrations` creates them.

Texts are in them unchanged, not compressed: forgotten content can be searched for. Every key
begins with the scope, and every statement names it, except for those on the queue of jobs, which
holds no content.

`memory_fact.item` is the fact's number in the index, 0 if it is not in it. `memory_turn.hidden`
is the operation that hid the turn; 0, or the negative number of the undo, if the turn is shown.
`memory_scope.format` is the version of the words that the scope's facts are indexed under
(`memory.search.reindexing`), `cleared` the version that the last clear made: a run that began
before it captures hidden turns.
"""

CONTENT = (
    "memory_thread",
    "memory_turn",
    "memory_fact",
    "memory_section",
    "memory_vector",
    "memory_operation",
    "memory_change",
    "memory_told",
)
"""Tables with content that a user may want forgotten. The index has no words, only keyed digests of
them."""
SCOPED = (
    *CONTENT,
    "memory_tombstone",
    "memory_item",
    "memory_word",
    "memory_posting",
)
"""Tables of which every statement names the scope. Jobs are looked for across scopes."""
