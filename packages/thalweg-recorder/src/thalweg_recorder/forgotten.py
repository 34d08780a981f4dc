"""Threads that a person had forgotten, so that an import does not bring them back."""

import hashlib
import os
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from thalweg.database.private_files import make_private_file, make_private_folder

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
        names = accumulate(str(thread).split("."), "{}.{}".format)
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


def _digest(thread: str) -> str:
    return hashlib.blake2b(thread.encode(), digest_size=16).hexdigest()
