"""The thread of the agent that runs as a file: its messages as text, read from the archive."""

from typing import cast

from langgraph.config import get_config

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.thread_history import history
from thalweg.engine.transcript import as_text, speaker
from thalweg.errors import ArchiveError
from thalweg_agent.backends.calls.operations import Answer, BackendOperation, BlockingBackend
from thalweg_agent.backends.file_data import create_file_data
from thalweg_agent.backends.protocol import FileData, GlobResult, GrepResult, LsResult, ReadResult
from thalweg_agent.backends.searches.matches import (
    entries_of,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg_agent.backends.text import slice_read_response

READ_ONLY = "Error: the record of the conversation cannot be changed"


class TranscriptBackend(BlockingBackend):
    """One file, `/THREAD.md`: each message of the thread as text, also those that left the context.

    It is read-only, and reads the archive at each call. An agent finds it at a route of a
    `CompositeBackend`, as the file tools find any other:

        backend=CompositeBackend(
            default=StateBackend(), routes={"/conversation_history/": TranscriptBackend(archive)}
        )

    Args:
        archive: That of the agent.
        owner: The owner of its threads.
    """

    def __init__(self, archive: Archive, owner: str = "local") -> None:
        self._archive, self._owner = archive, owner

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        try:
            return super()._perform(operation)
        except NotImplementedError:
            return cast("Answer", operation.result(error=READ_ONLY))

    def _files(self) -> dict[str, FileData]:
        thread = str(get_config()["configurable"].get("thread_id", ""))
        if not thread:
            return {}
        try:
            messages = history(self._archive, ThreadKey(self._owner, thread))
        except ArchiveError:
            return {}
        texts = [
            f"## {one.position} {speaker(one.message)}\n\n{as_text(one.message)}\n"
            for one in messages
        ]
        return {f"/{thread.replace('/', '_')}.md": create_file_data("\n".join(texts))}

    def _ls(self, path: str) -> LsResult:
        return LsResult(entries=entries_of(self._files(), f"{path.rstrip('/')}/"))

    def _read(self, path: str, offset: int, limit: int) -> ReadResult:
        data = self._files().get(path)
        if data is None:
            return ReadResult(error=f"File '{path}' not found")
        return slice_read_response(data, offset, limit)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> GrepResult:
        return grep_matches_from_files(self._files(), pattern, path, glob, max_count=max_count)

    def _glob(self, pattern: str, path: str | None) -> GlobResult:
        return glob_matches_from_files(self._files(), pattern, path)
