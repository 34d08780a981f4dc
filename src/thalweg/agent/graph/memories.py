"""The `memory` argument of an agent: paths of files, and the memory of its user."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from thalweg.memory import Memory, MemoryStore

Given: TypeAlias = "str | MemoryStore | Memory"
"""A `str` is the path of a file in the backend, as in `deepagents`: never an address."""


def split_memory(
    given: "Sequence[Given] | MemoryStore | Memory | None",
) -> "tuple[list[str] | None, MemoryStore | Memory | None]":
    """Separate the paths of files from the memory of the user.

    Returns:
        The paths, `None` if none were passed: an empty list renders a prompt that states so. And
        the memory.

    Raises:
        ConfigError: The argument is a single string, or holds more than one memory.
    """
    if given is None:
        return None, None
    if isinstance(given, str):
        problem = f"{given!r} is ambiguous: a path or an address"
        mend = "pass [path] for a file, open_memory(address) for a memory"
        raise ConfigError("memory", problem, mend)
    each: Iterable[Given] = given if isinstance(given, Sequence) else (given,)
    files = [one for one in each if isinstance(one, str)]
    users = [one for one in each if not isinstance(one, str)]
    if len(users) > 1:
        problem = f"{len(users)} memories were passed"
        raise ConfigError("memory", problem, "pass one memory and any number of paths")
    return files if files or not users else None, users[0] if users else None
