"""Several backends as one: each below its prefix, and a default for every other path."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeVar

from thalweg.backends.calls.flows import BackendStep, Errors, Flow, FlowBackend, Result
from thalweg.backends.calls.foreign import as_backend
from thalweg.backends.calls.operations import (
    Delete,
    DownloadFiles,
    EditOperation,
    Execute,
    Glob,
    Grep,
    Ls,
    OperationSandbox,
    ReadOperation,
    UploadFiles,
    WriteOperation,
)
from thalweg.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GlobTruncationReason,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
    cap_matches,
)
from thalweg.backends.routes import RoutedPath, Routes, inner_globs
from thalweg.backends.searches.matches import folder_info
from thalweg.errors import InvalidGlobPatternError

Found = TypeVar("Found", FileInfo, GrepMatch)


class CompositeBackend(FlowBackend):
    """Backends below prefixes of a path, and a default for the rest.

    Who uses it sees one tree. A listing, a search or a glob of a folder covers the backends
    below it, too; what the default keeps below a prefix is hidden. Commands run in the
    default. A prefix itself, and what has one below it, cannot be deleted.

    Args:
        default: Answers for every path that is below no prefix.
        routes: Backends by prefix, as in `{"/memories/": StoreBackend()}`; the longest wins.
        artifacts_root: Folder for what middleware writes for its own sake.

    Raises:
        ConfigError: A prefix cannot be one, or an object is no backend.
    """

    step_errors: ClassVar[Errors] = (NotImplementedError,)

    def __init__(
        self,
        default: BackendProtocol,
        routes: dict[str, BackendProtocol],
        *,
        artifacts_root: str = "/",
    ) -> None:
        self.default = as_backend(default)
        self.routes = {prefix: as_backend(backend) for prefix, backend in routes.items()}
        self.artifacts_root = artifacts_root
        self._routes = Routes(self.default, self.routes)
        self.sorted_routes = self._routes.longest_first()

    def place(self, path: str) -> RoutedPath:
        """Find the backend that answers for a path, and what it calls that path."""
        return self._routes.place(path)

    def _ls(self, path: str) -> Flow[LsResult]:
        # Folders that lead to a backend are among the entries.
        place = self.place(path)
        listed = _as_ls((yield BackendStep(place.backend, Ls(place.path))))
        mounted = self._routes.folders_in(path)
        if listed.entries is None:
            # A folder may be there only because a backend is below it.
            if not mounted or place.path == "/":
                return replace(listed, error=place.outer_words(listed.error))
            listed = LsResult(entries=[])
        entries = {folder: folder_info(folder) for folder in mounted}
        for info in self._own(place, listed.entries or (), place.outer_info):
            is_folder = info.get("is_dir", False)
            key = f"{info['path'].rstrip('/')}/" if is_folder else info["path"]
            entries.setdefault(key, info)
        return LsResult(
            error=place.outer_words(listed.error),
            entries=sorted(entries.values(), key=lambda info: info["path"]),
        )

    def _read(self, path: str, offset: int, limit: int) -> Flow[ReadResult]:
        place = self.place(path)
        result = yield BackendStep(place.backend, ReadOperation(place.path, offset, limit))
        read = _expect(ReadResult, result)
        return replace(read, error=place.outer_words(read.error)) if read.error else read

    def _write(self, path: str, content: str) -> Flow[WriteResult]:
        place = self.place(path)
        result = yield BackendStep(place.backend, WriteOperation(place.path, content))
        return _outer(_expect(WriteResult, result), place, path)

    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> Flow[EditResult]:
        place = self.place(path)
        result = yield BackendStep(place.backend, EditOperation(place.path, old, new, replace_all))
        return _outer(_expect(EditResult, result), place, path)

    def _delete(self, path: str) -> Flow[DeleteResult]:
        place = self.place(path)
        below = self._routes.under(path)
        if below or (place.prefix is not None and place.path == "/"):
            mounts = ", ".join(below or [str(place.prefix)])
            return DeleteResult(
                error=f"Error: '{path}' cannot be deleted as a whole: a backend of its own "
                f"is mounted at {mounts}. Delete the files in it one by one."
            )
        try:
            result = yield BackendStep(place.backend, Delete(place.path))
        except NotImplementedError:
            return DeleteResult(error=f"Error: deletion is not supported for '{path}'.")
        return _outer(_expect(DeleteResult, result), place, path)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> Flow[GrepResult]:
        found: dict[tuple[str, int], GrepMatch] = {}
        errors: list[str] = []
        truncated = False
        try:
            searches = self._searches(path, glob)
        except InvalidGlobPatternError as refused:
            return GrepResult(error=str(refused))
        for search in searches:
            left = None if max_count is None else max_count - len(found)
            if left == 0 and truncated:
                break
            result = yield from self._search(pattern, search, left)
            if left == 0 and (result.matches is None or result.matches):
                truncated = True
                break
            if result.error:
                errors.append(result.error)
            if result.matches is None:
                return result
            truncated = truncated or result.truncated
            found.update({(match["path"], match["line"]): match for match in result.matches})
        merged = GrepResult("\n".join(errors) or None, list(found.values()), truncated)
        return cap_matches(merged, max_count)

    def _search(self, pattern: str, search: "_Search", left: int | None) -> Flow[GrepResult]:
        """Search one backend for up to the remaining number of matches.

        If none remain, for one: a full result is complete only if no other backend has a match.
        """
        place = search.place
        wanted = None if left is None else max(left, 1)
        enough = wanted
        while True:
            grep = Grep(pattern, search.path, search.glob, wanted)
            raw = _as_grep((yield BackendStep(place.backend, grep)))
            if raw.matches is None:
                return replace(raw, error=place.outer_words(raw.error))
            raw = cap_matches(raw, wanted)
            matches = raw.matches or []
            own = self._own(place, matches, place.outer_match)
            hidden = len(matches) - len(own)
            # Hidden matches took the place of visible ones.
            if wanted is None or enough is None or not (raw.truncated and hidden):
                break
            if len(own) >= enough:
                break
            wanted += hidden
        return GrepResult(place.outer_words(raw.error), own, raw.truncated)

    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]:
        found: dict[str, FileInfo] = {}
        errors: list[str] = []
        reasons: list[GlobTruncationReason | None] = []
        try:
            searches = self._searches(path, pattern)
        except InvalidGlobPatternError as refused:
            return GlobResult(error=str(refused))
        for search in searches:
            place = search.place
            result = _as_glob(
                (yield BackendStep(place.backend, Glob(search.glob or "", search.path)))
            )
            error = place.outer_words(result.error)
            if result.matches is None:
                return replace(result, error=error)
            if error:
                errors.append(error)
            if result.truncated:
                reasons.append(result.truncation_reason)
            own = self._own(place, result.matches, place.outer_info)
            found.update({info["path"]: info for info in own})
        return GlobResult(
            error="\n".join(errors) or None,
            matches=sorted(found.values(), key=lambda info: info["path"]),
            truncated=bool(reasons),
            truncation_reason=_worst(reasons),
        )

    def _searches(self, path: str | None, glob: str | None) -> list["_Search"]:
        """Return where to search for a folder's content: there, and in the backends below it."""
        place = self.place(path or "/")
        # Without a path a backend chooses, and what it chooses may not be `/`.
        searches = [_Search(place, path if place.prefix is None else place.path, glob)]
        above = [name for name in (path or "/").split("/") if name not in {"", "."}]
        for prefix in self._routes.under(path or "/"):
            names = [name for name in prefix.split("/") if name][len(above) :]
            inner: Sequence[str | None] = [None] if glob is None else inner_globs(glob, names)
            searches += [_Search(self._routes.root(prefix), "/", each) for each in inner]
        return searches

    def _own(
        self, place: RoutedPath, items: Iterable[Found], outer: Callable[[Found], Found]
    ) -> list[Found]:
        """Return a backend's items with outer paths, without those that longer prefixes hide."""
        named = map(outer, items)
        return [item for item in named if self._routes.owns(place, item["path"])]

    execute = OperationSandbox.execute
    aexecute = OperationSandbox.aexecute

    def _execute(self, command: str, timeout: int | None) -> Flow[ExecuteResponse]:
        if not isinstance(self.default, SandboxBackendProtocol):
            raise NotImplementedError(_NO_SHELL)
        result = yield BackendStep(self.default, Execute(command, timeout))
        return _expect(ExecuteResponse, result)

    def _upload_files(self, files: list[tuple[str, bytes]]) -> Flow[list[FileUploadResponse]]:
        answers = [FileUploadResponse(path, error=_NO_ANSWER) for path, _ in files]
        for batch in self._batches([path for path, _ in files]):
            inner = [(place.path, files[at][1]) for at, place in batch.items]
            told = _expect_list(
                FileUploadResponse, (yield BackendStep(batch.backend, UploadFiles(inner)))
            )
            for (at, _), answer in zip(batch.items, told, strict=False):
                answers[at] = replace(answer, path=files[at][0])
        return answers

    def _download_files(self, paths: list[str]) -> Flow[list[FileDownloadResponse]]:
        answers = [FileDownloadResponse(path, error=_NO_ANSWER) for path in paths]
        for batch in self._batches(paths):
            inner = [place.path for _, place in batch.items]
            told = _expect_list(
                FileDownloadResponse, (yield BackendStep(batch.backend, DownloadFiles(inner)))
            )
            for (at, _), answer in zip(batch.items, told, strict=False):
                answers[at] = replace(answer, path=paths[at])
        return answers

    def _batches(self, paths: list[str]) -> list["_BackendBatch"]:
        batches: dict[int, _BackendBatch] = {}
        for at, path in enumerate(paths):
            place = self.place(path)
            batch = batches.setdefault(id(place.backend), _BackendBatch(place.backend))
            batch.items.append((at, place))
        return list(batches.values())


@dataclass(frozen=True, slots=True)
class _Search:
    """One backend's part of a search."""

    place: RoutedPath
    path: str | None
    glob: str | None


@dataclass(frozen=True, slots=True)
class _BackendBatch:
    """The items for one backend, with their positions in the whole batch."""

    backend: BackendProtocol
    items: list[tuple[int, RoutedPath]] = field(default_factory=list[tuple[int, RoutedPath]])


_NO_ANSWER: Final = "the backend returned nothing for this file"
_NO_SHELL: Final = (
    "Default backend doesn't support command execution (SandboxBackendProtocol). "
    "To enable execution, provide a default backend that implements SandboxBackendProtocol."
)


def _expect(kind: type[Result], result: object) -> Result:
    if not isinstance(result, kind):
        message = f"a backend returned {type(result).__name__}, not {kind.__name__}"
        raise TypeError(message)
    return result


def _expect_list(kind: type[Result], result: object) -> list[Result]:
    return [_expect(kind, item) for item in _expect(list, result)]


# Older backends return bare lists, and an error as a text.


def _as_ls(result: object) -> LsResult:
    return LsResult(entries=result) if isinstance(result, list) else _expect(LsResult, result)


def _as_glob(result: object) -> GlobResult:
    return GlobResult(matches=result) if isinstance(result, list) else _expect(GlobResult, result)


def _as_grep(result: object) -> GrepResult:
    if isinstance(result, str):
        return GrepResult(error=result)
    return GrepResult(matches=result) if isinstance(result, list) else _expect(GrepResult, result)


Changed = TypeVar("Changed", WriteResult, EditResult, DeleteResult)


def _outer(result: Changed, place: RoutedPath, path: str) -> Changed:
    """Name the changed path as it was asked for."""
    outer = None if result.path is None else path
    return replace(result, path=outer, error=place.outer_words(result.error))


def _worst(reasons: list[GlobTruncationReason | None]) -> GlobTruncationReason | None:
    """Return the reason to report: one that no narrower pattern resolves, before all others."""
    if "unreadable" in reasons:
        return "unreadable"
    return next((reason for reason in reasons if reason is not None), None)
