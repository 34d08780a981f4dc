"""Several backends as one: each below its prefix, and a default for every other path."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from thalweg_agent.backends.calls.flows import Flow, FlowBackend, ask
from thalweg_agent.backends.calls.foreign import as_backend
from thalweg_agent.backends.calls.operations import (
    Answer,
    BackendOperation,
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
from thalweg_agent.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GlobTruncationReason,
    GrepMatch,
    GrepResult,
    LsResult,
    SandboxBackendProtocol,
    cap_matches,
)
from thalweg_agent.backends.results import PATH_NOT_FOUND
from thalweg_agent.backends.routes import RoutedPath, Routes, inner_globs
from thalweg_agent.backends.searches.matches import folder_info

_FileOperation = ReadOperation | WriteOperation | EditOperation
Found = TypeVar("Found", FileInfo, GrepMatch)
Response = TypeVar("Response", FileUploadResponse, FileDownloadResponse)


class CompositeBackend(FlowBackend):
    """Backends below prefixes of a path, and a default for the rest.

    A caller sees one tree. A listing, a search or a glob of a folder covers the backends
    below it, too; files of the default below a prefix are hidden. Commands run in the
    default. A prefix, and a folder with one below it, cannot be deleted.

    Args:
        default: Answers for every path that is below no prefix.
        routes: Backends by prefix, as in `{"/memories/": StoreBackend()}`; the longest wins.
        artifacts_root: Folder for the files that middleware writes for its own use.

    Raises:
        ConfigError: A prefix cannot be one, or an object is no backend.
    """

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
        """Return the backend of a path, and the path as that backend names it."""
        return self._routes.place(path)

    def real_path(self, path: str) -> str:
        """Return the target of a path after links are resolved, for rules about paths.

        Raises:
            ValueError: The target is outside the backend of the path.
            OSError: The links form a cycle.
        """
        place = self.place(path)
        resolve = getattr(place.backend, "real_path", None)
        return place.outer(place.path if resolve is None else resolve(place.path))

    def _flow(self, operation: BackendOperation[Answer]) -> Flow[Answer]:
        if isinstance(operation, _FileOperation):
            return self._of_file(operation)
        return super()._flow(operation)

    def _of_file(self, operation: _FileOperation) -> Flow[Any]:
        place = self.place(operation.file_path)
        inner: BackendOperation[Any] = replace(operation, file_path=place.path)
        return _outer((yield from _answered(place, inner)), place, operation.file_path)

    def _ls(self, path: str) -> Flow[LsResult]:
        # Folders that lead to a backend are among the entries.
        place = self.place(path)
        listed = yield from _answered(place, Ls(place.path))
        mounted = self._routes.folders_in(path)
        if listed.entries is None:
            # A folder may be there only because a backend is below it.
            if not mounted or place.path == "/":
                return _outer(listed, place, path)
            is_missing = (listed.error or "").endswith(PATH_NOT_FOUND)
            listed = LsResult(None if is_missing else listed.error, [])
        entries = {folder: folder_info(folder) for folder in mounted}
        for info in self._own(place, listed.entries or ()):
            is_folder = info.get("is_dir", False)
            key = f"{info['path'].rstrip('/')}/" if is_folder else info["path"]
            entries.setdefault(key, info)
        return LsResult(
            error=place.outer_words(listed.error),
            entries=sorted(entries.values(), key=lambda info: info["path"]),
        )

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
            return _outer((yield from _answered(place, Delete(place.path))), place, path)
        except NotImplementedError:
            return DeleteResult(error=f"Error: deletion is not supported for '{path}'.")

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> Flow[GrepResult]:
        found: dict[tuple[str, int], GrepMatch] = {}
        errors: list[str] = []
        skipped: list[FileInfo] = []
        truncated = False
        for search in self._searches(path, glob):
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
            skipped += result.skipped
            found.update({(match["path"], match["line"]): match for match in result.matches})
        merged = GrepResult("\n".join(errors) or None, [*found.values()], truncated, skipped)
        return cap_matches(merged, max_count)

    def _search(self, pattern: str, search: "_Search", left: int | None) -> Flow[GrepResult]:
        """Search one backend for up to the remaining number of matches.

        If none remain, for one: a full result is complete only if no other backend has a match.
        """
        place = search.place
        requested = None if left is None else max(left, 1)
        enough = requested
        while True:
            raw = yield from _answered(place, Grep(pattern, search.path, search.glob, requested))
            if raw.matches is None:
                return replace(raw, error=place.outer_words(raw.error))
            raw = cap_matches(raw, requested)
            matches = raw.matches or []
            own = self._own(place, matches)
            hidden = len(matches) - len(own)
            # Hidden matches took the place of visible ones.
            if requested is None or enough is None or not (raw.truncated and hidden):
                break
            if len(own) >= enough:
                break
            requested += hidden
        skipped = self._own(place, raw.skipped)
        return GrepResult(place.outer_words(raw.error), own, raw.truncated, skipped)

    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]:
        found: dict[str, FileInfo] = {}
        errors: list[str] = []
        reasons: list[GlobTruncationReason | None] = []
        for search in self._searches(path, pattern):
            place = search.place
            result = yield from _answered(place, Glob(search.glob or "", search.path))
            error = place.outer_words(result.error)
            if result.matches is None:
                return replace(result, error=error)
            if error:
                errors.append(error)
            if result.truncated:
                reasons.append(result.truncation_reason)
            own = self._own(place, result.matches)
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

    def _own(self, place: RoutedPath, items: Iterable[Found]) -> list[Found]:
        """Return a backend's items with outer paths, without those that longer prefixes hide."""
        named: list[Found] = [{**item, "path": place.outer(item["path"])} for item in items]
        return [item for item in named if self._routes.owns(place, item["path"])]

    execute = OperationSandbox.execute
    aexecute = OperationSandbox.aexecute

    def _execute(self, command: str, timeout: int | None) -> Flow[ExecuteResponse]:
        if not isinstance(self.default, SandboxBackendProtocol):
            raise NotImplementedError(_NO_SHELL)
        return ask(self.default, Execute(command, timeout))

    def _upload_files(self, files: list[tuple[str, bytes]]) -> Flow[list[FileUploadResponse]]:
        return self._batched(
            [path for path, _ in files],
            lambda inner: UploadFiles([(path, files[at][1]) for at, path in inner.items()]),
        )

    def _download_files(self, paths: list[str]) -> Flow[list[FileDownloadResponse]]:
        return self._batched(paths, lambda inner: DownloadFiles([*inner.values()]))

    def _batched(
        self,
        paths: list[str],
        operation_of: Callable[[dict[int, str]], BackendOperation[list[Response]]],
    ) -> Flow[list[Response]]:
        """Perform one operation on each backend; it is made of inner paths by position."""
        batches: dict[int, dict[int, RoutedPath]] = {}
        for at, path in enumerate(paths):
            place = self.place(path)
            batches.setdefault(id(place.backend), {})[at] = place
        found: dict[int, Response] = {}
        for batch in batches.values():
            operation = operation_of({at: place.path for at, place in batch.items()})
            answers = yield from ask(next(iter(batch.values())).backend, operation)
            for at, answer in zip(batch, answers, strict=False):
                found[at] = replace(answer, path=paths[at])
            for at in batch:
                found.setdefault(at, operation.result(paths[at], error=_NO_ANSWER))
        return [found[at] for at in range(len(paths))]


@dataclass(frozen=True, slots=True)
class _Search:
    """One backend's part of a search."""

    place: RoutedPath
    path: str | None
    glob: str | None


_NO_ANSWER: Final = "the backend returned nothing for this file"
_NO_SHELL: Final = (
    "Default backend doesn't support command execution (SandboxBackendProtocol). "
    "To enable execution, provide a default backend that implements SandboxBackendProtocol."
)


def _answered(place: RoutedPath, operation: BackendOperation[Answer]) -> Flow[Answer]:
    """Have a backend answer. Older ones return bare lists, and an error as a text.

    Raises:
        TypeError: The answer is of another kind.
    """
    answer: Any = yield from ask(place.backend, operation)
    kind = operation.result
    match answer:
        case str():
            answer = kind(error=answer)
        case list():
            answer = kind(None, answer)
        case _ if not isinstance(answer, kind):
            message = f"a backend returned {type(answer).__name__}, not {kind.__name__}"
            raise TypeError(message)
    return cast("Answer", answer)


def _outer(result: Answer, place: RoutedPath, path: str) -> Answer:
    """Name a path in a result as it was asked for."""
    inner: Any = result
    outer = {"path": path} if getattr(inner, "path", None) is not None else {}
    return cast("Answer", replace(inner, error=place.outer_words(inner.error), **outer))


def _worst(reasons: list[GlobTruncationReason | None]) -> GlobTruncationReason | None:
    """Return the reason to report: one that no narrower pattern resolves, before all others."""
    if "unreadable" in reasons:
        return "unreadable"
    return next((reason for reason in reasons if reason is not None), None)
