"""Files in the state of an agent: they live and are checkpointed with its thread."""

from base64 import standard_b64decode

from langgraph.config import get_config

from thalweg.backends.concurrency.run_context import RunContext, here
from thalweg.backends.file_data import (
    create_file_data,
    file_data_from_bytes,
    file_data_to_string,
    read_file_type,
    update_file_data,
    with_content,
)
from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileOperationError,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg.backends.searches.matches import (
    entries_of,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg.backends.text import edit_file_data, slice_read_response
from thalweg.engine.prompts import prompt
from thalweg.engine.undocumented import READ_KEY
from thalweg.errors import PathError


class StateBackend(BackendProtocol):
    """Keeps files in the state of the agent that runs, in its channel `files`.

    They are there as long as the agent's thread, and go where its checkpoints go. In an agent
    whose state has our channel, all that run in one step, and all their subagents, work on the
    same live files: a change is seen at once, an edit applies to what is there now, and what is
    checkpointed is the change. In any other graph a change shows in its own task at once and
    elsewhere after the step.

    Raises:
        RuntimeError: By every method that is called outside of a step of a graph.
    """

    def __init__(self) -> None: ...

    def ls(self, path: str) -> LsResult:
        """List the entries of a folder, not of folders in it; see `BackendProtocol.ls`."""
        if (refused := _refused(path)) is not None:
            return LsResult(error=refused)
        folder = path if path.endswith("/") else f"{path}/"
        return LsResult(entries=entries_of(_here().files(), folder))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""
        data = _here().get_file(file_path)
        if (refused := _refused(file_path)) is not None:
            return ReadResult(error=refused)
        if data is None:
            return ReadResult(error=f"File '{file_path}' not found")
        if read_file_type(file_path) != "text":
            return ReadResult(file_data=with_content(data, file_data_to_string(data)))
        return slice_read_response(data, offset, limit)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find the lines that contain a text; see `BackendProtocol.grep`."""
        return grep_matches_from_files(_here().files(), pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files, and never folders, by their paths; see `BackendProtocol.glob`."""
        return glob_matches_from_files(_here().files(), pattern, path)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write or replace a file, and create missing folders.

        See `BackendProtocol.write`.
        """
        at = _here()
        with at.held():
            if (problem := _refused(file_path) or _ended(at, file_path)) is not None:
                return WriteResult(error=problem)
            held = at.get_file(file_path)
            made = create_file_data(content) if held is None else update_file_data(held, content)
            made["encoding"] = "utf-8"
            at.put_file(file_path, made)
        return WriteResult(path=file_path)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
    ) -> EditResult:
        """See `BackendProtocol.edit`; applies to what the file is at this moment."""
        at = _here()
        with at.held():
            if (problem := _refused(file_path) or _ended(at, file_path)) is not None:
                return EditResult(error=problem)
            held = at.get_file(file_path)
            if held is None:
                return EditResult(error=f"Error: File '{file_path}' not found")
            edited = edit_file_data(held, old_string, new_string, replace_all=replace_all)
            if isinstance(edited, str):
                return EditResult(error=edited)
            at.put_file(file_path, edited[0])
        return EditResult(path=file_path, occurrences=edited[1])

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder and everything in it; see `BackendProtocol.delete`."""
        at = _here()
        path = file_path.rstrip("/")
        with at.held():
            if (problem := _refused(file_path) or _ended(at, file_path)) is not None:
                return DeleteResult(error=problem)
            gone = [p for p in at.files() if p == path or p.startswith(f"{path}/")]
            if not gone:
                return DeleteResult(error=f"Error: File '{file_path}' not found")
            for each in gone:
                at.put_file(each, None)
        return DeleteResult(path=file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write bytes to many paths; return one result for each, in their order.

        See `BackendProtocol.upload_files`.
        """
        at = _here()
        with at.held():
            if (problem := _ended(at, "")) is not None:
                return [FileUploadResponse(path=path, error=problem) for path, _ in files]
            made: dict[str, FileData] = {}
            for path, content in files:
                if _refused(path) is not None:
                    continue
                held = made.get(path) or at.get_file(path)
                made[path] = file_data_from_bytes(content, held.get("created_at") if held else None)
            for path, data in made.items():
                at.put_file(path, data)
        return [
            FileUploadResponse(path=path, error=None if path in made else "invalid_path")
            for path, _ in files
        ]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return the bytes of many files; one result for each, in their order.

        See `BackendProtocol.download_files`.
        """
        at = _here()
        return [_download(path, at.get_file(path)) for path in paths]


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


def _refused(path: str) -> str | None:
    """Return why a path is invalid; a valid one is used unchanged, as the key in the state."""
    try:
        validate_path(path)
    except PathError as refused:
        return f"Error: {refused}"
    return None


def _ended(at: RunContext, path: str) -> str | None:
    """Refuse calls of an agent that was stopped: its thread may continue for a while."""
    if at.mine is None or not at.mine.author.ended:
        return None
    return prompt("files_ended").render(path=path)


def _download(path: str, data: FileData | None) -> FileDownloadResponse:
    if data is None:
        error: FileOperationError = "file_not_found" if _refused(path) is None else "invalid_path"
        return FileDownloadResponse(path=path, content=None, error=error)
    text = file_data_to_string(data)
    is_bytes = data.get("encoding") == "base64"
    return FileDownloadResponse(path, standard_b64decode(text) if is_bytes else text.encode())
