"""Files as items of one namespace of a store.

A namespace is unique to its owner. Characters that stores or globs interpret are refused in it; a
dot, which stores refuse, is encoded.
"""

import asyncio
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, Item, PutOp

from thalweg.errors import PathError
from thalweg_agent.backends.calls.flows import Flow, FlowBackend, Result, ago, go
from thalweg_agent.backends.concurrency.path_lock import PathLockQueue
from thalweg_agent.backends.file_data import (
    create_file_data,
    file_data_from_bytes,
    file_data_to_bytes,
    read_file_type,
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

Namespace = tuple[str, ...]
_COMPONENT: Final = re.compile(r"[A-Za-z0-9\-_.@+:~]+")
_LOCKS: Final[WeakKeyDictionary[BaseStore, dict[Namespace, PathLockQueue]]] = WeakKeyDictionary()
_PAGE: Final = 1000
_SURELY_LAST: Final = 100
"""A store that returns fewer items has no more; some return 100 for any limit."""
_PASSES: Final = 4
_Identity = tuple[Namespace, str]
"""What distinguishes an item from others."""


def as_kept(namespace: Namespace) -> Namespace:
    """Make a namespace of what stores take: they refuse a dot, and half the names have one.

    No component has a `%` of its own, so no two become the same.
    """
    return tuple(component.replace(".", "%2E") for component in namespace)


def validate_namespace(namespace: Namespace) -> Namespace:
    """Refuse a namespace that could mean others, too.

    Raises:
        ValueError: There is nothing in it, or in a component of it, or a character that
            stores or globs take to mean something.
        TypeError: A component is no text.
    """
    if not namespace:
        message = "Namespace tuple must not be empty."
        raise ValueError(message)
    for at, component in enumerate(namespace):
        _validate_component(at, component)
    return tuple(namespace)


def _validate_component(at: int, component: object) -> None:
    if not isinstance(component, str):
        message = (
            f"Namespace component at index {at} must be a string, got {type(component).__name__}."
        )
        raise TypeError(message)
    if not component:
        message = f"Namespace component at index {at} must not be empty."
        raise ValueError(message)
    if not _COMPONENT.fullmatch(component):
        message = (
            f"Namespace component at index {at} contains disallowed characters: {component!r}. "
            "Only alphanumeric characters, hyphens, underscores, dots, @, +, colons, and tildes "
            "are allowed."
        )
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class StoreCall:
    """A call of a method of the store; its awaited twin has an `a` in front."""

    method: str
    given: Sequence[Any]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def on(self, store: BaseStore) -> object:
        """Make it by blocking."""
        return getattr(store, self.method)(*self.given, **self.options)

    async def aon(self, store: BaseStore) -> object:
        """Await it; in a thread if the store has only blocking methods."""
        try:
            return await getattr(store, f"a{self.method}")(*self.given, **self.options)
        except NotImplementedError:
            return await asyncio.to_thread(self.on, store)


@dataclass(frozen=True, slots=True)
class LockPath:
    """A lock on a path and everything below it, within this process.

    It is released before the next one is acquired: a flow that waited for a second lock with the
    first one held could deadlock.
    """

    path: str


class StoreFiles(FlowBackend):
    """The files of one namespace of a store. Those of namespaces below it are not among them.

    Args:
        store: The store.
        namespace: As the store takes it.
    """

    def __init__(self, store: BaseStore, namespace: Namespace) -> None:
        self._store = store
        self._namespace = namespace

    def _now(self, flow: Flow[Result]) -> Result:
        with ExitStack() as held:

            def perform(step: StoreCall | LockPath) -> object:
                if isinstance(step, StoreCall):
                    return step.on(self._store)
                held.close()
                return held.enter_context(self._locks().at(step.path))

            return go(flow, perform)

    async def _later(self, flow: Flow[Result]) -> Result:
        async with AsyncExitStack() as held:

            async def perform(step: StoreCall | LockPath) -> object:
                if isinstance(step, StoreCall):
                    return await step.aon(self._store)
                await held.aclose()
                return await held.enter_async_context(self._locks().at(step.path))

            return await ago(flow, perform)

    def _locks(self) -> PathLockQueue:
        """The one lock queue of this namespace in this process, for all callers."""
        return _LOCKS.setdefault(self._store, {}).setdefault(self._namespace, PathLockQueue())

    def _ls(self, path: str) -> Flow[LsResult]:
        try:
            folder = validate_path(path).rstrip("/") + "/"
        except PathError as refused:
            return LsResult(error=f"Path '{path}': {refused}")
        return LsResult(entries=entries_of((yield from self._all_files()), folder))

    def _read(self, path: str, offset: int, limit: int) -> Flow[ReadResult]:
        item = yield from self._get(key_of(path))
        if item is None:
            return ReadResult(error=f"File '{path}' not found")
        try:
            file_data = as_file_data(item)
        except (ValueError, TypeError) as damaged:
            return ReadResult(error=str(damaged))
        if read_file_type(path) != "text" or file_data["encoding"] == "base64":
            return ReadResult(file_data=file_data)
        return slice_read_response(file_data, offset, limit)

    def _write(self, path: str, content: str) -> Flow[WriteResult]:
        key = key_of(path)
        try:
            value = _value(create_file_data(content))
        except ValueError:
            return WriteResult(
                error=f"Error writing file '{path}': the content has half a character in it"
            )
        yield LockPath(key)
        yield from self._replace(key, value)
        return WriteResult(path=path)

    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> Flow[EditResult]:
        key = key_of(path)
        yield LockPath(key)
        item = yield from self._get(key)
        if item is None:
            return EditResult(error=f"Error: File '{path}' not found")
        try:
            edited = edit_file_data(as_file_data(item), old, new, replace_all=replace_all)
            if isinstance(edited, str):
                return EditResult(error=edited)
            value = _value(edited[0])
        except (ValueError, TypeError) as damaged:
            return EditResult(error=f"Error: {damaged}")
        yield self._call("put", key, value)
        return EditResult(path=path, occurrences=edited[1])

    def _delete(self, path: str) -> Flow[DeleteResult]:
        base = validate_path(path).rstrip("/")
        if not base:
            return DeleteResult(error=f"Error deleting '{path}': {ROOT_IS_KEPT}")
        yield LockPath(base)
        found = [item.key for item in (yield from self._all_items())]
        keys = [key for key in found if key == base or key.startswith(f"{base}/")]
        if not keys:
            return DeleteResult(error=f"Error: File '{path}' not found")
        yield StoreCall("batch", [[PutOp(self._namespace, key, None) for key in keys]])
        return DeleteResult(path=path)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> Flow[GrepResult]:
        files = yield from self._all_files()
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]:
        return glob_matches_from_files((yield from self._all_files()), pattern, path)

    def _upload_files(self, files: list[tuple[str, bytes]]) -> Flow[list[FileUploadResponse]]:
        answers: list[FileUploadResponse] = []
        for path, content in files:
            key = key_or_none(path)
            if key is not None:
                yield LockPath(key)
                yield from self._replace(key, _value(file_data_from_bytes(content)))
            answers.append(FileUploadResponse(path, error=INVALID_PATH if key is None else None))
        return answers

    def _download_files(self, paths: list[str]) -> Flow[list[FileDownloadResponse]]:
        answers: list[FileDownloadResponse] = []
        for path in paths:
            key = key_or_none(path)
            item = None if key is None else (yield from self._get(key))
            if item is None:
                error = INVALID_PATH if key is None else FILE_NOT_FOUND
                answers.append(FileDownloadResponse(path, error=error))
                continue
            try:
                answers.append(FileDownloadResponse(path, file_data_to_bytes(as_file_data(item))))
            except (ValueError, TypeError) as damaged:
                answers.append(FileDownloadResponse(path, error=str(damaged)))
        return answers

    def _call(self, method: str, *given: object, **options: object) -> StoreCall:
        return StoreCall(method, (self._namespace, *given), options)

    def _get(self, key: str) -> Flow[Item | None]:
        item: Item | None = yield self._call("get", key)
        return item

    def _replace(self, key: str, value: dict[str, Any]) -> Flow[None]:
        """Put a file where another may be; it is as old as that."""
        existing = yield from self._get(key)
        created_at = None if existing is None else existing.value.get("created_at")
        yield self._call("put", key, {**value, "created_at": created_at} if created_at else value)

    def _all_files(self) -> Flow[dict[str, FileData]]:
        """Read every file; an item that is none is passed over."""
        files: dict[str, FileData] = {}
        for item in sorted((yield from self._all_items()), key=lambda item: item.key):
            with suppress(ValueError, TypeError):
                files[item.key] = as_file_data(item)
        return files

    def _all_items(self) -> Flow[list[Item]]:
        """Return every item, page after page, despite concurrent writes.

        Stores return the last changed items first, so a write between two pages shifts the rest.
        Each page begins with the last item of the one before; if it does not, all is read again. A
        search finds items of namespaces below, too.
        """
        seen: dict[_Identity, Item] = {}
        for _ in range(_PASSES):
            found, is_whole = yield from self._one_pass()
            seen = found if is_whole else {**seen, **found}
            if is_whole:
                break
        return [item for (namespace, _), item in seen.items() if namespace == self._namespace]

    def _one_pass(self) -> Flow[tuple[dict[_Identity, Item], bool]]:
        found: dict[_Identity, Item] = {}
        page: Sequence[Item] = yield self._call("search", limit=_PAGE, offset=0)
        while True:
            known = len(found)
            found.update({_identity(item): item for item in page})
            if len(page) < _SURELY_LAST:
                return found, True
            last = _identity(page[-1])
            position = max(known - 1, 0) + len(page) - 1
            page = yield self._call("search", limit=_PAGE, offset=position)
            if not page or _identity(page[0]) != last:
                return found, False


def _identity(item: Item) -> _Identity:
    return tuple(item.namespace), item.key


def as_file_data(item: Item) -> FileData:
    """Take an item as a file, also one of the time when content was a list of lines.

    Raises:
        ValueError: It has no content.
        TypeError: Its content is of no kind that a file has.
    """
    value: dict[str, Any] = item.value
    content = value.get("content")
    if content is None:
        message = f"Store item does not contain valid content field. Got: {value.keys()}"
        raise ValueError(message)
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        content = "\n".join(content)
    if not isinstance(content, str):
        message = (
            "Store item `content` must be a `str` or legacy `list[str]`, "
            f"got {type(content).__name__}."
        )
        raise TypeError(message)
    file_data = FileData(content=content, encoding=value.get("encoding", "utf-8"))
    if isinstance(created_at := value.get("created_at"), str):
        file_data["created_at"] = created_at
    if isinstance(modified_at := value.get("modified_at"), str):
        file_data["modified_at"] = modified_at
    return _without_mask(file_data)


def _value(file_data: FileData) -> dict[str, Any]:
    """Return the item of a file. Text with a NUL, which PostgreSQL refuses, becomes base64.

    Raises:
        UnicodeEncodeError: It contains a lone surrogate.
    """
    encoded = file_data["content"].encode()
    if b"\0" not in encoded:
        return {**file_data}
    return {**file_data, "content": b64encode(encoded).decode(), "encoding": "base64"}


def _without_mask(file_data: FileData) -> FileData:
    """Undo what `_value` does to text with a NUL."""
    if file_data["encoding"] != "base64":
        return file_data
    content = file_data_to_bytes(file_data)
    if b"\0" not in content:
        return file_data
    try:
        return with_content({**file_data, "encoding": "utf-8"}, content.decode())
    except UnicodeDecodeError:
        return file_data
