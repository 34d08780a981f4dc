"""Files in the state of an agent: they live and are checkpointed with its thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from langgraph.config import get_config

from thalweg.engine.undocumented import READ_KEY
from thalweg.errors import PathError
from thalweg_agent.backends.calls.operations import Answer, BackendOperation, BlockingBackend
from thalweg_agent.backends.concurrency.run_context import RunContext, here
from thalweg_agent.backends.file_data import (
    create_file_data,
    file_data_from_bytes,
    file_data_to_bytes,
    file_data_to_string,
    read_file_type,
    update_file_data,
    with_content,
)
from thalweg_agent.backends.paths import ROOT_IS_KEPT, key_of, key_or_none, validate_path
from thalweg_agent.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg_agent.backends.searches.matches import (
    entries_of,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg_agent.backends.text import edit_file_data, slice_read_response
from thalweg_agent.prompts import prompt


class StateBackend(BlockingBackend):
    """Keeps files in the state of the agent that runs, in its channel `files`.

    They exist as long as the agent's thread, and are stored with its checkpoints. In an agent
    whose state has our channel, all calls of one step, and all their subagents, work on the
    same live files: a change is visible at once, an edit applies to the current content, and the
    checkpoint stores the change. In any other graph a change is visible in its own task at once
    and elsewhere after the step.

    Raises:
        RuntimeError: By every method that is called outside of a step of a graph.
    """

    def __init__(self) -> None: ...

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        try:
            return super()._perform(operation)
        except PathError as refused:
            return cast("Answer", operation.result(error=f"Error: {refused}"))
        except _EndedError as refused:
            return cast("Answer", operation.result(error=str(refused)))

    def _ls(self, path: str) -> LsResult:
        validate_path(path)
        folder = path if path.endswith("/") else f"{path}/"
        return LsResult(entries=entries_of(_here().files(), folder))

    def _read(self, path: str, offset: int, limit: int) -> ReadResult:
        data = _here().get_file(path)
        validate_path(path)
        if data is None:
            return ReadResult(error=f"File '{path}' not found")
        if read_file_type(path) != "text":
            return ReadResult(file_data=with_content(data, file_data_to_string(data)))
        return slice_read_response(data, offset, limit)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> GrepResult:
        return grep_matches_from_files(_here().files(), pattern, path, glob, max_count=max_count)

    def _glob(self, pattern: str, path: str | None) -> GlobResult:
        return glob_matches_from_files(_here().files(), pattern, path)

    def _write(self, path: str, content: str) -> WriteResult:
        with _changing(path) as at:
            held = at.get_file(path)
            made = create_file_data(content) if held is None else update_file_data(held, content)
            made["encoding"] = "utf-8"
            at.put_file(path, made)
        return WriteResult(path=path)

    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> EditResult:
        with _changing(path) as at:
            held = at.get_file(path)
            if held is None:
                return EditResult(error=f"Error: File '{path}' not found")
            edited = edit_file_data(held, old, new, replace_all=replace_all)
            if isinstance(edited, str):
                return EditResult(error=edited)
            at.put_file(path, edited[0])
        return EditResult(path=path, occurrences=edited[1])

    def _delete(self, file_path: str) -> DeleteResult:
        path = file_path.rstrip("/")
        if validate_path(file_path) == "/":
            return DeleteResult(error=f"Error deleting '{file_path}': {ROOT_IS_KEPT}")
        with _changing(file_path) as at:
            gone = [p for p in at.files() if p == path or p.startswith(f"{path}/")]
            for each in gone:
                at.put_file(each, None)
        if not gone:
            return DeleteResult(error=f"Error: File '{file_path}' not found")
        return DeleteResult(path=file_path)

    def _upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        made: dict[str, FileData] = {}
        try:
            with _changing() as at:
                for path, content in files:
                    if not key_or_none(path):
                        continue
                    held = made.get(path) or at.get_file(path)
                    created_at = held.get("created_at") if held else None
                    made[path] = file_data_from_bytes(content, created_at)
                for path, data in made.items():
                    at.put_file(path, data)
        except _EndedError as refused:
            return [FileUploadResponse(path, error=str(refused)) for path, _ in files]
        return [
            FileUploadResponse(path, error=None if path in made else INVALID_PATH)
            for path, _ in files
        ]

    def _download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        at = _here()
        return [_download(path, at.get_file(path)) for path in paths]


class _EndedError(Exception):
    """The agent was stopped: its thread may continue for a while, and changes nothing."""


@contextmanager
def _changing(path: str | None = None) -> Iterator[RunContext]:
    """Keep others from changing files meanwhile. A valid path is used unchanged, as the key.

    Raises:
        PathError: The path is invalid.
        _EndedError: The agent was stopped.
    """
    at = _here()
    with at.held():
        if path is not None:
            key_of(path)
        if at.agent_files is not None and at.agent_files.author.ended:
            raise _EndedError(prompt("files_ended").render(path=path or ""))
        yield at


def _here() -> RunContext:
    at = here()
    if at is not None:
        return at
    try:
        get_config()
    except RuntimeError:
        raise RuntimeError(_OUTSIDE) from None
    raise RuntimeError(_NO_STEP)


_PREPARE = (
    'To pre-populate files, pass them on invoke: agent.invoke({"messages": [...], "files": {...}})'
)
_OUTSIDE = (
    "StateBackend must be used inside a LangGraph graph execution (e.g. via create_deep_agent). "
    f"It cannot read or write state outside of a graph context. {_PREPARE}"
)
_NO_STEP = (
    f"StateBackend requires {READ_KEY} in the LangGraph config. Make sure the backend is "
    f"used inside a graph node or tool, not called directly. {_PREPARE}"
)


def _download(path: str, data: FileData | None) -> FileDownloadResponse:
    if data is None:
        return FileDownloadResponse(
            path, error=FILE_NOT_FOUND if key_or_none(path) else INVALID_PATH
        )
    return FileDownloadResponse(path, file_data_to_bytes(data))
