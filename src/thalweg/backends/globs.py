"""What a glob matches: the one meaning, for `glob` and for the files that `grep` looks at."""

import re
from collections.abc import Callable
from functools import lru_cache

from thalweg.backends.paths import to_posix_path
from thalweg.errors import InvalidGlobPatternError

Matcher = Callable[[str], bool]
"""Whether a path, relative to the folder of a search, is meant."""


@lru_cache(maxsize=256)
def compile_grep_include_glob(pattern: str) -> Matcher:
    """Compile a glob to a test of paths relative to the folder of the search.

    Without a `/` it is a test of the name alone, at any depth; with one, of the whole
    relative path; `BackendProtocol.glob` has the table. A `!` at the beginning has no special
    meaning.

    Raises:
        InvalidGlobPatternError: The pattern climbs with `..`, or its braces make more than
            1,000 patterns. One that is merely odd (`*.{py`, `[a-`) matches nothing.

    Example:
        >>> anywhere = compile_grep_include_glob("*.py")
        >>> anywhere("src/app/main.py"), anywhere(".hidden.py")
        (True, False)
        >>> compile_grep_include_glob("/*.py")("src/app/main.py")
        False
    """
    if ".." in to_posix_path(pattern).split("/"):
        problem = f"Path traversal not allowed in glob pattern {pattern!r}"
        raise InvalidGlobPatternError(problem)
    matches = _compile(pattern)
    if "/" in pattern:
        return matches
    return lambda path: matches(path.rsplit("/", 1)[-1])


def _compile(pattern: str) -> Matcher:
    # Costs 30 ms to import, and most agents never search.
    from wcmatch import glob  # noqa: PLC0415
    from wcmatch._wcparse import PatternLimitException  # noqa: PLC0415

    try:
        compiled = glob.compile(pattern.lstrip("/"), flags=glob.BRACE | glob.GLOBSTAR)
    except (PatternLimitException, RecursionError, re.error) as refused:
        problem = f"Invalid glob pattern {pattern!r}: {refused}"
        raise InvalidGlobPatternError(problem) from refused
    return lambda path: bool(compiled.match(path))
