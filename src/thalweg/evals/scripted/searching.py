"""How a model looks for what left its context: with the tools it has, and what it was told.

Nothing here knows a harness. A model that can search (`recall`) does; one that is told of a file
with the conversation searches that file with `grep`, then reads it from its beginning.
"""

import re
from collections.abc import Iterator

from thalweg.evals.scripted.moves import Use, View, written

_KEPT = re.compile(r"/[\w./-]*(?:history|large_tool_results|evicted|offload)[\w./-]*\w")
"""Paths in which a context says that something was put."""
_HANDLE = re.compile(r"\b[a-z]{1,4}_[0-9a-z]{8,}\b")
PAGE = 200
"""Lines that are read at a time."""
MOST = 24
"""Looks after which a model gives up."""


def attempts(view: View, words: str) -> Iterator[Use]:
    """Give the ways in which something can be looked for, the best first."""
    if "recall" in view.tools:
        yield Use("recall", {"query": words})
    paths = list(dict.fromkeys(found[0] for found in view.find_all(_KEPT)))
    if "grep" in view.tools:
        for path in paths:
            yield Use("grep", {"pattern": words, "path": path, "output_mode": "content"})
    if "read_file" in view.tools:
        for path in paths:
            for page in range(MOST):
                yield Use("read_file", {"file_path": path, "offset": page * PAGE, "limit": PAGE})


def literal(view: View, words: str) -> Iterator[Use]:
    """Give what a model does that reads back only what the context names, and never asks."""
    del words
    for found in view.find_all(re.compile(r"recall\(([^)]*)\)")):
        handle = _HANDLE.search(found[1])
        if handle is not None and "recall" in view.tools:
            yield Use("recall", {"handle": handle[0]})
    if "read_file" in view.tools:
        for path in dict.fromkeys(found[0] for found in view.find_all(_KEPT)):
            for page in range(MOST):
                yield Use("read_file", {"file_path": path, "offset": page * PAGE, "limit": PAGE})


def is_over(view: View) -> bool:
    """Tell whether the newest look came to an end of a file: nothing follows."""
    newest = next((one for one in reversed(view.messages) if one.role == "tool"), None)
    return newest is not None and "exceeds file length" in written(newest)
