"""The structured summary of a session that is about to be compacted: no model writes it."""

from thalweg.archive import Archive, ThreadKey
from thalweg.engine.compaction.structured_summary import absorb
from thalweg.engine.compaction.summary_rendering import render
from thalweg.engine.snapshot import Record
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader

SUMMARY_TOKENS = 1_500


def summarize(archive: Archive, key: ThreadKey) -> str:
    """Write what happened in a thread: requests, files, commands with outcome, open errors.

    It is made from the messages themselves, in at most `SUMMARY_TOKENS` tokens; each line names
    the position of its message, which `recall` of `thalweg mcp` reads.
    """
    count = exact_counter()
    reader = Reader(count)
    record = absorb(Record(), map(reader.read, archive.messages(key)))
    budget = SUMMARY_TOKENS
    while True:
        text = render(record, handle=key.thread, budget=budget, count=count)
        spent = count(text)
        if spent <= SUMMARY_TOKENS or budget <= 1:
            break
        budget = max(1, budget * SUMMARY_TOKENS // (spent + 1))
    while count(text) > SUMMARY_TOKENS:  # the goal alone is longer
        text = text[: len(text) * SUMMARY_TOKENS // (count(text) + 1)]
    return text
