"""Glob matching, the same for `glob` and for the files that `grep` searches."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from thalweg.errors import InvalidGlobPatternError
from thalweg_agent.backends.paths import to_posix_path

MAX_GLOBSTARS: Final = 4
"""Stretches of `**` in one pattern. Each multiplies the work by the depth of a path: with eight,
one path of thirty folders takes seconds, and nothing can stop it."""
_MAX_ALTERNATIVES: Final = 1000

Matcher = Callable[[str], bool]
"""Whether a path, relative to the folder of a search, is meant."""


@lru_cache(maxsize=256)
def compile_grep_include_glob(pattern: str) -> Matcher:
    """Compile a glob to a test of paths relative to the folder of the search.

    Without a `/` it is a test of the name alone, at any depth; with one, of the whole
    relative path; `BackendProtocol.glob` has the table. A `!` at the beginning has no special
    meaning.

    Raises:
        InvalidGlobPatternError: The pattern climbs with `..`, its braces make more than 1,000
            patterns, or it has more than `MAX_GLOBSTARS` times `**`. One that is merely odd
            (`*.{py`, `[a-`) matches nothing.

    Example:
        >>> anywhere = compile_grep_include_glob("*.py")
        >>> anywhere("src/app/main.py"), anywhere(".hidden.py")
        (True, False)
        >>> compile_grep_include_glob("/*.py")("src/app/main.py")
        False
    """
    pattern = anchored(pattern)
    if ".." in to_posix_path(pattern).split("/"):
        problem = f"Path traversal not allowed in glob pattern {pattern!r}"
        raise InvalidGlobPatternError(problem)
    if (most := _globstars(pattern)) > MAX_GLOBSTARS:
        raise _invalid(pattern, f"it has {most} times `**`; use at most {MAX_GLOBSTARS}")
    matches = _compile(pattern)
    if "/" in pattern:
        return matches
    return lambda path: matches(path.rsplit("/", 1)[-1])


def anchored(pattern: str) -> str:
    """Return a pattern without `./` at its beginning: like `/`, it is the folder of the search.

    Example:
        >>> anchored("./*.py"), anchored("*.py")
        ('/*.py', '*.py')
    """
    return re.sub(r"^(?:\./+)+", "/", pattern)


def _globstars(pattern: str) -> int:
    """Count the stretches of `**` in that of a pattern's alternatives which has the most."""
    return max((len(_STRETCH.findall(each)) for each in alternatives(pattern)), default=0)


_STRETCH: Final = re.compile(r"\*\*+(?:/\*\*+)*")


def alternatives(pattern: str) -> list[str]:
    """Return the patterns that a pattern with braces means.

    Raises:
        InvalidGlobPatternError: There are more than 1,000.
    """
    if "{" not in pattern:
        return [pattern]
    # Comes with wcmatch, which is slow to import and rarely needed.
    import bracex  # noqa: PLC0415

    try:
        return bracex.expand(pattern, keep_escapes=True, limit=_MAX_ALTERNATIVES)
    except bracex.ExpansionLimitException as refused:
        raise _invalid(pattern, refused) from refused
    except RecursionError:  # as wcmatch does: a pattern without alternatives
        return [pattern]


def _invalid(pattern: str, problem: object) -> InvalidGlobPatternError:
    return InvalidGlobPatternError(f"Invalid glob pattern {pattern!r}: {problem}")


def _compile(pattern: str) -> Matcher:
    # Costs 30 ms to import, and most agents never search.
    from wcmatch import glob  # noqa: PLC0415
    from wcmatch._wcparse import PatternLimitException  # noqa: PLC0415

    try:
        compiled = glob.compile(pattern.lstrip("/"), flags=glob.BRACE | glob.GLOBSTAR)
    except (PatternLimitException, RecursionError, re.error) as refused:
        raise _invalid(pattern, refused) from refused
    return lambda path: bool(compiled.match(path))
