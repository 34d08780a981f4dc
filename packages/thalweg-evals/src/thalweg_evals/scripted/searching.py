"""How a scripted model searches for removed content: with its tools, and with hints in the context.

Nothing here depends on a harness. A model that can search (`recall`) does; one whose context names
a file with the conversation searches that file with `grep`, then reads it from its beginning.
"""

import re
from collections.abc import Iterator

from thalweg_evals.scripted.moves import Use, View

_KEPT = re.compile(r"/[\w./-]*(?:history|large_tool_results|evicted|offload)[\w./-]*\w")
"""Paths at which a context states that content was stored."""
_NAMED = re.compile(r"recall\(handle=[\"']([0-9a-z_]+)(#\d+(?:-\d+)?)?")
"""References by which a context states that content can be read."""
PAGE = 200
"""Lines of one read."""
MOST = 16
"""Searches in one turn after which a model stops."""
_OVER = re.compile(r"exceeds file length|file not found|not_found", re.IGNORECASE)


def attempts(view: View, words: str) -> Iterator[Use]:
    """Yield the possible searches for some words, the best first."""
    if "recall_memory" in view.tools:
        yield Use("recall_memory", {"query": words})
    if "recall" in view.tools:
        yield Use("recall", {"query": words})
    paths = _paths(view)
    if "grep" in view.tools:
        for pattern in dict.fromkeys([words, _rarest(words)]):
            for path in paths:
                yield Use("grep", {"pattern": pattern, "path": path, "output_mode": "content"})
    yield from _reading(view, paths)


def literal(view: View, words: str) -> Iterator[Use]:
    """Yield reads of the references in the context, without any search."""
    del words
    named = dict.fromkeys(found[1] + (found[2] or "") for found in view.find_all(_NAMED))
    if "recall" in view.tools:
        for handle in named:
            yield Use("recall", {"handle": handle})
    yield from _reading(view, _paths(view))


def was_tried(view: View, use: Use) -> bool:
    """Return whether a call was made since the user's last message."""
    return any((call.name, call.arguments) == (use.tool, use.arguments) for call in view.calls)


def _rarest(words: str) -> str:
    """Return the most specific word of a text: the last name, else the longest word."""
    each = words.split() or [words]
    return next((one for one in reversed(each) if one[:1].isupper()), max(each, key=len))


def _paths(view: View) -> list[str]:
    return list(dict.fromkeys(found[0] for found in view.find_all(_KEPT)))


def _reading(view: View, paths: list[str]) -> Iterator[Use]:
    """Yield reads of files from their beginning, each to its end."""
    if "read_file" not in view.tools:
        return
    for path in paths:
        for page in range(MOST):
            use = Use("read_file", {"file_path": path, "offset": page * PAGE, "limit": PAGE})
            yield use
            if _is_over(view, use):
                break


def _is_over(view: View, use: Use) -> bool:
    """Return whether a page that was read is beyond the end of its file."""
    ids = {
        call.id for call in view.calls if (call.name, call.arguments) == (use.tool, use.arguments)
    }
    return any(one.answers in ids and _OVER.search(one.text[:500]) for one in view.since)
