"""Threads that a person had forgotten, so that an import does not bring them back."""

import hashlib
import os
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from thalweg.database.private_files import make_private_file, make_private_folder
from thalweg_recorder.recordings.files import FORMATS

FILE = "forgotten"


class ForgottenNames:
    """Names of forgotten threads, as digests in a file, so that it does not show the names.

    Args:
        folder: The recorder's folder, see `user_folder`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._place = folder / FILE

    def __contains__(self, thread: object) -> bool:
        """Return whether a thread was forgotten, or the session of which it is a part."""
        names = (*names_with_parents(str(thread)), earlier_name(str(thread)))
        return not self._digests().isdisjoint(map(_digest, names))

    def add(self, threads: Iterable[str]) -> None:
        """Add threads, durably before it returns.

        Raises:
            OSError: The file cannot be written.
        """
        make_private_folder(self._place.parent)
        make_private_file(self._place)
        with self._place.open("a", encoding="ascii") as file:
            file.writelines(f"{_digest(thread)}\n" for thread in threads)
            file.flush()
            os.fsync(file.fileno())

    def _digests(self) -> set[str]:
        try:
            return set(self._place.read_text("ascii").split())
        except FileNotFoundError:
            return set()


def names_with_parents(thread: str) -> Iterable[str]:
    """Return the name of a thread, and those of the sessions that it may be a part of.

    Example:
        >>> list(names_with_parents("claude-code:s1.tool-results"))
        ['claude-code:s1', 'claude-code:s1.tool-results']
        >>> list(names_with_parents("thalweg-thread:run.2"))
        ['thalweg-thread:run.2']
    """
    # An agent without a format of its own is read from `agent-rows`, which have parts.
    is_whole = any(thread.startswith(f"{one.name}:") for one in FORMATS if not one.has_parts)
    return (thread,) if is_whole else accumulate(thread.split("."), "{}.{}".format)


def earlier_name(thread: str) -> str:
    """Return the name that an earlier version gave a thread: that of a part without its session.

    Example:
        >>> earlier_name("opencode:ses_root.ses_child"), earlier_name("thalweg-thread:run.2")
        ('opencode:ses_child', 'thalweg-thread:run.2')
    """
    if len([*names_with_parents(thread)]) == 1:
        return thread
    return f"{thread.partition(':')[0]}:{thread.rpartition('.')[2]}"


def _digest(thread: str) -> str:
    return hashlib.blake2b(thread.encode(), digest_size=16).hexdigest()
