"""Calls that are made again: which of them are, because a request no longer shows their result.

By facts of the log: the same tool, target and other arguments, and nothing written in between.
Likeness of texts decides nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b

from thalweg.engine.edits import Evict, Rewrite
from thalweg.engine.entries import Action, Entry, ToolUse
from thalweg.engine.snapshot import RemovedResult

MAX_RESULTS = 400
"""Most calls that are remembered after their compaction, the newest."""
REPEATABLE: tuple[Action, ...] = ("read", "search", "run", "other")
"""Actions whose results come back together, once repeated calls have paid for it."""


@lru_cache(maxsize=4_096)
def call_key(use: ToolUse) -> str:
    """Return the key of a call: equal for the same tool, target and other arguments."""
    call = f"{use.name}\n{use.target}\n{use.scope}".encode("utf-8", "surrogatepass")
    return blake2b(call, digest_size=8).hexdigest()


def remember_result(results: dict[str, RemovedResult], entry: Entry) -> None:
    """Add a compacted result to those that a repeated call is compared with.

    A write makes the results of its target outdated, and those of all commands.
    """
    use = entry.answers
    if use is None or entry.is_fetched or entry.message.is_error:
        return
    if use.action == "write":
        for key, result in results.items():
            if not result.is_outdated and _is_outdated(result.action, result.target, (use,)):
                results[key] = replace(result, is_outdated=True)
    key = call_key(use)
    old = results.pop(key, None)
    reads = 0 if old is None or old.is_outdated else old.reads + 1
    results[key] = RemovedResult(
        entry.position, use.position, use.action, use.target, entry.tokens, reads=reads
    )


def removed_result(
    entry: Entry,
    results: Mapping[str, RemovedResult],
    entries: Mapping[int, Entry],
    rewrites: Mapping[int, Rewrite],
) -> RemovedResult | None:
    """Return the earlier result of a call that is made again while no request shows it whole.

    Args:
        entry: The newer result.
        results: Compacted results, see `remember_result`.
        entries: Live messages by position.
        rewrites: Edits of them by position.

    Returns:
        `None` if the call was not made before, or its result is shown whole. `is_outdated` if
        something was written in between.
    """
    use = entry.answers
    if use is None or entry.is_fetched:
        return None
    key = call_key(use)
    found = results.get(key)
    for position, edit in rewrites.items():
        old = entries.get(position)
        if isinstance(edit, Evict) and edit.freed > 0 and old and old.answers:
            is_newer = (found.position if found else -1) < position < entry.position
            if is_newer and call_key(old.answers) == key:
                found = RemovedResult(
                    position, old.answers.position, use.action, use.target, old.tokens
                )
    if found is None:
        return None
    between = [
        (p, e.answers)
        for p, e in entries.items()
        if found.position < p < entry.position and e.answers
    ]
    if any(p not in rewrites and call_key(other) == key for p, other in between):
        return None
    writes = (other for _, other in between if other.action == "write")
    is_outdated = _is_outdated(use.action, use.target, writes)
    return replace(found, is_outdated=True) if is_outdated else found


def _is_outdated(action: Action, target: str, writes: Iterable[ToolUse]) -> bool:
    return any(action == "run" or (target and write.target == target) for write in writes)
