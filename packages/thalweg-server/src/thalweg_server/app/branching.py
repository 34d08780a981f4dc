"""Threads made of threads: their logs."""

import time
from collections.abc import Sequence

from thalweg.archive import Archive, Logged, ThreadKey, TurnRow
from thalweg.archive.threads import LoggedMessage
from thalweg.archive.threads.branch import ThreadBranch
from thalweg.archive.threads.journal import TurnRecord, page_to_json
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader


def copy_log(archive: Archive, target: ThreadKey, messages: Sequence[LoggedMessage]) -> None:
    """Write messages into a new thread, word for word.

    Its journal has one turn, an import, from which the next run continues.

    Raises:
        ConflictError: The thread is not new.
    """
    reader = Reader(exact_counter())
    entries = [reader.read(one.message) for one in messages]
    logged = [Logged(e.message, e.answers.brief if e.answers else "") for e in entries]
    if logged:
        line = ThreadBranch.of(range(len(logged)))
        page = TurnRecord(kind="import", at=time.time(), length=len(logged), line=line)
        archive.add_turn(target, TurnRow(page_to_json(page)), length=0, log=logged)
