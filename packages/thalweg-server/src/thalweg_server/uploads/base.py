"""Storage of one thread's files: a backend for its agent, with more operations for a gateway.

Agent and gateway see the same files by the same paths. A gateway needs operations that backends
lack: reading a part of a file, creating a file only if it is missing, and a note about a file that
becomes void when the file changes.
"""

from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from thalweg_agent.backends.protocol import BackendProtocol


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """The metadata of a stored file.

    Attributes:
        path: Absolute, as `validate_path` returns it.
        size: Bytes.
        modified: When its content was written.
        version: Changes whenever the content changes.
    """

    path: str
    size: int
    modified: datetime
    version: str


class ThreadBackend(BackendProtocol):
    """Files of one thread of one owner. Nothing leads from them to those of another.

    Raises (all methods named here):
        PathError: No file can be at that path, or it leads elsewhere.
        StorageError: The medium failed.
    """

    @abstractmethod
    def stat(self, path: str) -> FileMetadata | None:
        """Return the metadata of a file; `None` if it is missing or not readable."""

    @abstractmethod
    def read_range(self, path: str, start: int, stop: int) -> bytes | None:
        """Return a range of bytes of a file.

        Args:
            path: Path of the file.
            start: The first byte, from 0.
            stop: The byte after the last one; the range ends at the end of the file.

        Returns:
            `None` if there is no such file.
        """

    @abstractmethod
    def files(self, most: int) -> list[FileMetadata]:
        """Return files in all folders, by their paths.

        Args:
            most: How many at most; any others are omitted.
        """

    @abstractmethod
    def create(self, path: str, content: bytes) -> bool:
        """Write a new file; return False and change nothing if it exists."""

    @abstractmethod
    def annotate(self, path: str, note: str) -> None:
        """Store a note about the current version of a file; agents do not see it."""

    @abstractmethod
    def notes(self, folder: str) -> dict[str, str]:
        """Read the notes about files directly in a folder that have not changed since, by path."""


class Places(Protocol):
    """Storage of the files of all threads; one for a process."""

    def backend(self, owner: str, thread: str) -> ThreadBackend:
        """Return the files of one thread; a cheap call that creates nothing."""
        ...

    def forget(self, owner: str, thread: str | None = None) -> None:
        """Delete all files of a thread, or of all threads, with all their metadata.

        Raises:
            StorageError: The medium failed.
        """
        ...

    def close(self) -> None:
        """Release all connections."""
        ...
