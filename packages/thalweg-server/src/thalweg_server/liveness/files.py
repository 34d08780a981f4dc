"""Liveness on one machine: every living process locks a file of its own."""

import asyncio
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from thalweg.database.private_files import make_private_folder
from thalweg.errors import StorageError


class FilePresence:
    """Processes that share a folder; the system unlocks the file of one that dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._held: int | None = None

    async def enter(self) -> str:
        """Create and lock this process's file; return its name."""
        return await asyncio.to_thread(self._enter)

    async def dead(self, names: Collection[str]) -> Collection[str]:
        """Return those of some processes whose files are not locked."""
        return await asyncio.to_thread(self._dead, names)

    async def leave(self) -> None:
        """Delete and unlock this process's file."""
        if self._held is not None:
            self._path(self._name).unlink(missing_ok=True)
            os.close(self._held)
            self._held = None

    def _enter(self) -> str:
        self._name = f"{os.getpid()}-{secrets.token_hex(8)}"
        try:
            make_private_folder(self._folder)
            self._held = os.open(self._path(self._name), os.O_CREAT | os.O_RDWR, 0o600)
            _lock(self._held, is_shared=False)
        except OSError as error:
            fix = "the folder has to be on a disk of this machine and writable"
            raise StorageError(str(self._folder), str(error), fix) from error
        return self._name

    def _dead(self, names: Collection[str]) -> Collection[str]:
        dead = [name for name in names if name != self._name and not self._lives(name)]
        for name in dead:  # a missing file means the same
            with suppress(OSError):
                self._path(name).unlink()
        return dead

    def _lives(self, name: str) -> bool:
        try:
            probe = os.open(self._path(name), os.O_RDONLY)
        except OSError:
            return False
        try:
            # A shared lock: two probes at the same time do not mistake each other for the owner.
            return not _lock(probe, is_shared=True)
        finally:
            os.close(probe)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


def _lock(handle: int, *, is_shared: bool) -> bool:
    import fcntl  # noqa: PLC0415 (not everywhere)

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
