"""What to do with the items of a store, step by step: written once for both ways of calling."""

import asyncio
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, Item, PutOp

from thalweg.backends.calls.flows import Flow
from thalweg.backends.concurrency.path_lock import PathLockQueue
from thalweg.backends.file_data import (
    create_file_data,
    file_data_from_bytes,
    file_data_to_bytes,
    read_file_type,
    with_content,
)
from thalweg.backends.namespaces import Namespace
from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileUploadResponse,
    ReadResult,
    WriteResult,
)
from thalweg.backends.text import edit_file_data, slice_read_response
from thalweg.errors import PathError

_TURNSTILES: Final[WeakKeyDictionary[BaseStore, dict[Namespace, PathLockQueue]]] = (
    WeakKeyDictionary()
)
_PAGE: Final = 1000
_SURELY_LAST: Final = 100
"""A store that returns fewer items has no more; some return 100 for any limit."""
_PASSES: Final = 4


@dataclass(frozen=True, slots=True)
class GetItem:
    """Ask for an item."""

    key: str


@dataclass(frozen=True, slots=True)
class PutItem:
    """Put an item."""

    key: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeleteItems:
    """Delete items."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListItems:
    """Ask for a page of all items."""

    offset: int


@dataclass(frozen=True, slots=True)
class LockPath:
    """A lock on a path and everything below it, within this process.

    It is released before the next one is acquired: a flow that waited for a second lock with the
    first one held could deadlock.
    """

    path: str


Call = GetItem | PutItem | DeleteItems | ListItems
Step = Call | LockPath


@dataclass(frozen=True, slots=True)
class StoreNamespace:
    """A namespace of a store."""

    store: BaseStore
    namespace: Namespace

    def turnstile(self) -> PathLockQueue:
        """The one lock queue of this namespace in this process, for all callers."""
        return _TURNSTILES.setdefault(self.store, {}).setdefault(self.namespace, PathLockQueue())

    def perform(self, step: "Call") -> object:
        """Do a step by a blocking call."""
        match step:
            case GetItem(key):
                return self.store.get(self.namespace, key)
            case PutItem(key, value):
                self.store.put(self.namespace, key, value)
                return None
            case DeleteItems(keys):
                return self.store.batch([PutOp(self.namespace, key, None) for key in keys])
            case ListItems(offset):
                return self._placed(self.store.search(self.namespace, limit=_PAGE, offset=offset))

    async def aperform(self, step: "Call") -> object:
        """Do a step by an awaited call; in a thread if the store has only blocking ones."""
        try:
            match step:
                case GetItem(key):
                    return await self.store.aget(self.namespace, key)
                case PutItem(key, value):
                    await self.store.aput(self.namespace, key, value)
                    return None
                case DeleteItems(keys):
                    drops = [PutOp(self.namespace, key, None) for key in keys]
                    return await self.store.abatch(drops)
                case ListItems(offset):
                    page = await self.store.asearch(self.namespace, limit=_PAGE, offset=offset)
                    return self._placed(page)
        except NotImplementedError:
            return await asyncio.to_thread(self.perform, step)

    def _placed(self, page: Sequence[Item]) -> list["NamespacedItem"]:
        return [NamespacedItem(item, self.namespace) for item in page]


@dataclass(frozen=True, slots=True)
class NamespacedItem:
    """An item of a page, and the namespace that was searched."""

    item: Item
    namespace: Namespace

    @property
    def identity(self) -> tuple[Namespace, str]:
        """A key that distinguishes it from others."""
        return tuple(self.item.namespace), self.item.key

    @property
    def is_ours(self) -> bool:
        """A search finds items of namespaces below, too."""
        return tuple(self.item.namespace) == self.namespace


def all_items() -> Flow[list[Item]]:
    """Return every item, page after page, despite concurrent writes.

    Stores return the last changed items first, so a write between two pages shifts the rest. Each
    page begins with the last item of the one before; if it does not, all is read again.
    """
    seen: dict[tuple[Namespace, str], NamespacedItem] = {}
    for _ in range(_PASSES):
        found, is_whole = yield from _one_pass()
        seen = found if is_whole else {**seen, **found}
        if is_whole:
            break
    return [placed.item for placed in seen.values() if placed.is_ours]


def all_files() -> Flow[dict[str, FileData]]:
    """Read every file; an item that is none is passed over."""
    files: dict[str, FileData] = {}
    items = yield from all_items()
    for item in sorted(items, key=lambda item: item.key):
        with suppress(ValueError, TypeError):
            files[item.key] = as_file_data(item)
    return files


def _one_pass() -> Flow[tuple[dict[tuple[Namespace, str], NamespacedItem], bool]]:
    found: dict[tuple[Namespace, str], NamespacedItem] = {}
    page: Sequence[NamespacedItem] = yield ListItems(0)
    while True:
        known = len(found)
        found.update({placed.identity: placed for placed in page})
        if len(page) < _SURELY_LAST:
            return found, True
        last = page[-1].identity
        position = max(known - 1, 0) + len(page) - 1
        page = yield ListItems(position)
        if not page or page[0].identity != last:
            return found, False


def read(path: str, offset: int, limit: int) -> Flow[ReadResult]:
    """Return a window of lines, unchanged and without numbers; see `BackendProtocol.read`."""
    try:
        item: Item | None = yield GetItem(key_of(path))
        if item is None:
            return ReadResult(error=f"File '{path}' not found")
        file_data = as_file_data(item)
    except PathError as refused:
        return ReadResult(error=f"Error reading file '{path}': {refused}")
    except (ValueError, TypeError) as damaged:
        return ReadResult(error=str(damaged))
    if read_file_type(path) != "text" or file_data["encoding"] == "base64":
        return ReadResult(file_data=file_data)
    return slice_read_response(file_data, offset, limit)


def write(path: str, content: str) -> Flow[WriteResult]:
    """Write or replace a file, and create missing folders; see `BackendProtocol.write`."""
    try:
        key = key_of(path)
        value = _value(create_file_data(content))
    except PathError as refused:
        return WriteResult(error=f"Error writing file '{path}': {refused}")
    except ValueError:
        return WriteResult(
            error=f"Error writing file '{path}': the content has half a character in it"
        )
    yield LockPath(key)
    yield from _replace(key, value)
    return WriteResult(path=path)


def _replace(key: str, value: dict[str, Any]) -> Flow[None]:
    """Put a file where another may be; it is as old as that."""
    existing: Item | None = yield GetItem(key)
    created_at = None if existing is None else existing.value.get("created_at")
    yield PutItem(key, {**value, "created_at": created_at} if created_at else value)


def edit(path: str, old: str, new: str, *, replace_all: bool) -> Flow[EditResult]:
    """Replace an exact text in a file that exists; see `BackendProtocol.edit`."""
    try:
        key = key_of(path)
    except PathError as refused:
        return EditResult(error=f"Error editing file '{path}': {refused}")
    yield LockPath(key)
    item: Item | None = yield GetItem(key)
    if item is None:
        return EditResult(error=f"Error: File '{path}' not found")
    edited = _edited(item, old, new, replace_all=replace_all)
    if isinstance(edited, str):
        return EditResult(error=edited)
    value, occurrences = edited
    yield PutItem(key, value)
    return EditResult(path=path, occurrences=occurrences)


def _edited(
    item: Item, old: str, new: str, *, replace_all: bool
) -> tuple[dict[str, Any], int] | str:
    """Make the item of an edited file, or the words of an error."""
    try:
        file_data = as_file_data(item)
        edited = edit_file_data(file_data, old, new, replace_all=replace_all)
        return edited if isinstance(edited, str) else (_value(edited[0]), edited[1])
    except (ValueError, TypeError) as damaged:
        return f"Error: {damaged}"


def delete(path: str) -> Flow[DeleteResult]:
    """Delete a file, or a folder and everything in it; see `BackendProtocol.delete`."""
    try:
        base = validate_path(path).rstrip("/")
    except PathError as refused:
        return DeleteResult(error=f"Error deleting '{path}': {refused}")
    if not base:
        return DeleteResult(
            error=f"Error deleting '{path}': the root directory cannot be deleted; "
            "delete what is in it"
        )
    yield LockPath(base)
    found = [item.key for item in (yield from all_items())]
    keys = tuple(key for key in found if key == base or key.startswith(f"{base}/"))
    if not keys:
        return DeleteResult(error=f"Error: File '{path}' not found")
    yield DeleteItems(keys)
    return DeleteResult(path=path)


def upload(files: list[tuple[str, bytes]]) -> Flow[list[FileUploadResponse]]:
    """Write bytes to many paths; return one result for each, in their order.

    See `BackendProtocol.upload_files`.
    """
    answers: list[FileUploadResponse] = []
    for path, content in files:
        key = key_or_none(path)
        if key is not None:
            yield LockPath(key)
            yield from _replace(key, _value(file_data_from_bytes(content)))
        answers.append(FileUploadResponse(path, error=INVALID_PATH if key is None else None))
    return answers


def download(paths: list[str]) -> Flow[list[FileDownloadResponse]]:
    """Return the bytes of many files; one result for each, in their order.

    See `BackendProtocol.download_files`.
    """
    answers: list[FileDownloadResponse] = []
    for path in paths:
        key = key_or_none(path)
        if key is None:
            answers.append(FileDownloadResponse(path, error=INVALID_PATH))
            continue
        item: Item | None = yield GetItem(key)
        if item is None:
            answers.append(FileDownloadResponse(path, error=FILE_NOT_FOUND))
            continue
        try:
            content = file_data_to_bytes(as_file_data(item))
        except (ValueError, TypeError) as damaged:
            answers.append(FileDownloadResponse(path, error=str(damaged)))
        else:
            answers.append(FileDownloadResponse(path, content))
    return answers


def key_of(path: str) -> str:
    """Return the key of a file.

    Raises:
        PathError: No file can be at that path.
    """
    key = validate_path(path)
    if key == "/":
        raise PathError(path, "Path is a folder")
    return key


def key_or_none(path: str) -> str | None:
    """Return the key of a file, or `None` if there can be none."""
    try:
        return key_of(path)
    except PathError:
        return None


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
