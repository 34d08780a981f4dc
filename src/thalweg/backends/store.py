"""Files in a LangGraph store: they outlive a thread and are shared by those who may."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from langgraph.config import get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore, Item, PutOp

from thalweg.backends.files import (
    create_file_data,
    file_data_from_bytes,
    file_data_to_bytes,
    read_file_type,
    update_file_data,
    with_content,
)
from thalweg.backends.matches import (
    file_info,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg.backends.text import edit_text, slice_read_response
from thalweg.backends.turnstile import Turnstile
from thalweg.errors import PathError

Namespace = tuple[str, ...]
NamespaceFactory = Callable[[Runtime[Any]], Namespace]
"""Whose files they are, from the runtime of the run: its context, its user, its store."""

Result = TypeVar("Result")

_TURNSTILES: Final[WeakKeyDictionary[BaseStore, dict[Namespace, Turnstile]]] = WeakKeyDictionary()
_PAGE: Final = 1000
_SURELY_LAST: Final = 100
"""A store that gives fewer than this has no more; some give 100 whatever they are asked."""
_PASSES: Final = 4


@dataclass(frozen=True, slots=True)
class _Get:
    key: str


@dataclass(frozen=True, slots=True)
class _Put:
    key: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Drop:
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    offset: int


@dataclass(frozen=True, slots=True)
class _Turn:
    """Nobody else in this process changes what is at a path or below it.

    It is for as long as the next is not taken: who waited for a second while having a first
    might wait for somebody who waits for the first.
    """

    path: str


_Call = _Get | _Put | _Drop | _Page
_Step = _Call | _Turn
_Flow = Generator[_Step, Any, Result]
"""What to do with the store, one step after the other: written once for both ways."""


class StoreBackend(BackendProtocol):
    """Files as items of a LangGraph `BaseStore`, by path, in one namespace.

    An edit reads and writes under a lock, so that no edit of another thread or task of this
    process is lost; stores know no such thing between processes. Items of namespaces below
    this one belong to others and are never seen.

    Args:
        store: Where the items are; the store of the run when `None`.
        namespace: Whose files they are, or how to know from the runtime. Outside of a run the
            factory is given `None`.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> backend = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("notes", "ann"))
        >>> backend.write("/a.md", "hello").path
        '/a.md'
    """

    def __init__(
        self,
        *,
        namespace: NamespaceFactory | Namespace | None = None,
        store: BaseStore | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace

    def _get_store(self) -> BaseStore:
        if self._store is not None:
            return self._store
        try:
            return get_store()
        except (RuntimeError, KeyError):
            raise RuntimeError(_NO_STORE) from None

    def _get_namespace(self) -> Namespace:
        if self._namespace is None:
            return ("filesystem",)
        if not callable(self._namespace):
            return _validate_namespace(self._namespace)
        try:
            runtime = get_runtime()
        except (RuntimeError, KeyError):
            # A factory that asks nothing of it does without.
            return _validate_namespace(self._without_runtime(self._namespace))
        return _validate_namespace(self._namespace(runtime))

    @staticmethod
    def _without_runtime(factory: Callable[[Any], Namespace]) -> Namespace:
        try:
            return factory(None)
        except AttributeError as missing:
            raise RuntimeError(_NO_RUNTIME) from missing

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`; a folder of nothing is empty, not missing."""
        return self._now(self._ls(path))

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        return await self._later(self._ls(path))

    def _ls(self, path: str) -> _Flow[LsResult]:
        try:
            folder = validate_path(path).rstrip("/") + "/"
        except PathError as refused:
            return LsResult(error=f"Path '{path}': {refused}")
        files = yield from _all_files()
        entries: dict[str, FileInfo] = {}
        for name, file_data in files.items():
            if not name.startswith(folder):
                continue
            first, slash, _ = name[len(folder) :].partition("/")
            entry = folder + first + slash
            entries[entry] = (
                FileInfo(path=entry, is_dir=True, size=0, modified_at="")
                if slash
                else file_info(entry, file_data)
            )
        return LsResult(entries=[entries[entry] for entry in sorted(entries)])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`."""
        return self._now(_read(file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        return await self._later(_read(file_path, offset, limit))

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        return self._now(_write(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        return await self._later(_write(file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `BackendProtocol.edit`."""
        return self._now(_edit(file_path, old_string, new_string, replace_all=replace_all))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `edit`."""
        return await self._later(_edit(file_path, old_string, new_string, replace_all=replace_all))

    def delete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.delete`."""
        return self._now(_delete(file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        return await self._later(_delete(file_path))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.grep`."""
        files = self._now(_all_files())
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        files = await self._later(_all_files())
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        return glob_matches_from_files(self._now(_all_files()), pattern, path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        return glob_matches_from_files(await self._later(_all_files()), pattern, path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`; what is no UTF-8 is kept as base64."""
        return self._now(_upload(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        return await self._later(_upload(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.download_files`."""
        return self._now(_download(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        return await self._later(_download(paths))

    def _now(self, flow: _Flow[Result]) -> Result:
        kept = _Kept(self._get_store(), _as_kept(self._get_namespace()))
        with ExitStack() as held:
            try:
                step = next(flow)
                while True:
                    if isinstance(step, _Turn):
                        held.close()
                        held.enter_context(kept.turnstile().at(step.path))
                        step = flow.send(None)
                    else:
                        step = flow.send(kept.perform(step))
            except StopIteration as done:
                result: Result = done.value
                return result

    async def _later(self, flow: _Flow[Result]) -> Result:
        kept = _Kept(self._get_store(), _as_kept(self._get_namespace()))
        async with AsyncExitStack() as held:
            try:
                step = next(flow)
                while True:
                    if isinstance(step, _Turn):
                        await held.aclose()
                        await held.enter_async_context(kept.turnstile().at(step.path))
                        step = flow.send(None)
                    else:
                        step = flow.send(await kept.aperform(step))
            except StopIteration as done:
                result: Result = done.value
                return result


@dataclass(frozen=True, slots=True)
class _Kept:
    """A namespace of a store."""

    store: BaseStore
    namespace: Namespace

    def turnstile(self) -> Turnstile:
        """The one turnstile of this namespace in this process, whoever asks."""
        return _TURNSTILES.setdefault(self.store, {}).setdefault(self.namespace, Turnstile())

    def perform(self, step: "_Call") -> object:
        """Do a step by a blocking call."""
        match step:
            case _Get(key):
                return self.store.get(self.namespace, key)
            case _Put(key, value):
                self.store.put(self.namespace, key, value)
                return None
            case _Drop(keys):
                return self.store.batch([PutOp(self.namespace, key, None) for key in keys])
            case _Page(offset):
                return self._placed(self.store.search(self.namespace, limit=_PAGE, offset=offset))

    async def aperform(self, step: "_Call") -> object:
        """Do a step by an awaited call; in a thread if the store has only blocking ones."""
        try:
            match step:
                case _Get(key):
                    return await self.store.aget(self.namespace, key)
                case _Put(key, value):
                    await self.store.aput(self.namespace, key, value)
                    return None
                case _Drop(keys):
                    drops = [PutOp(self.namespace, key, None) for key in keys]
                    return await self.store.abatch(drops)
                case _Page(offset):
                    page = await self.store.asearch(self.namespace, limit=_PAGE, offset=offset)
                    return self._placed(page)
        except NotImplementedError:
            return await asyncio.to_thread(self.perform, step)

    def _placed(self, page: Sequence[Item]) -> list["_Placed"]:
        return [_Placed(item, self.namespace) for item in page]


@dataclass(frozen=True, slots=True)
class _Placed:
    """An item of a page, and the namespace that was searched."""

    item: Item
    namespace: Namespace

    @property
    def identity(self) -> tuple[Namespace, str]:
        return tuple(self.item.namespace), self.item.key

    @property
    def is_ours(self) -> bool:
        """A search finds items of namespaces below, too."""
        return tuple(self.item.namespace) == self.namespace


def _all_items() -> _Flow[list[Item]]:
    """Read every item, page after page, though others write meanwhile.

    Stores give what was changed last first, so a write between two pages shifts the rest.
    Each page begins with the last item of the one before; if it does not, all is read again.
    """
    seen: dict[tuple[Namespace, str], _Placed] = {}
    for _ in range(_PASSES):
        found, is_whole = yield from _one_pass()
        seen = found if is_whole else {**seen, **found}
        if is_whole:
            break
    return [placed.item for placed in seen.values() if placed.is_ours]


def _all_files() -> _Flow[dict[str, FileData]]:
    """Read every file; an item that is none is passed over."""
    files: dict[str, FileData] = {}
    items = yield from _all_items()
    for item in sorted(items, key=lambda item: item.key):
        with suppress(ValueError, TypeError):
            files[item.key] = _as_file_data(item)
    return files


def _one_pass() -> _Flow[tuple[dict[tuple[Namespace, str], _Placed], bool]]:
    found: dict[tuple[Namespace, str], _Placed] = {}
    page: Sequence[_Placed] = yield _Page(0)
    while True:
        known = len(found)
        found.update({placed.identity: placed for placed in page})
        if len(page) < _SURELY_LAST:
            return found, True
        last = page[-1].identity
        position = max(known - 1, 0) + len(page) - 1
        page = yield _Page(position)
        if not page or page[0].identity != last:
            return found, False


def _read(path: str, offset: int, limit: int) -> _Flow[ReadResult]:
    try:
        item: Item | None = yield _Get(_key(path))
        if item is None:
            return ReadResult(error=f"File '{path}' not found")
        file_data = _as_file_data(item)
    except PathError as refused:
        return ReadResult(error=f"Error reading file '{path}': {refused}")
    except (ValueError, TypeError) as damaged:
        return ReadResult(error=str(damaged))
    if read_file_type(path) != "text" or file_data["encoding"] == "base64":
        return ReadResult(file_data=file_data)
    return slice_read_response(file_data, offset, limit)


def _write(path: str, content: str) -> _Flow[WriteResult]:
    try:
        key = _key(path)
        value = _value(create_file_data(content))
    except PathError as refused:
        return WriteResult(error=f"Error writing file '{path}': {refused}")
    except ValueError:
        return WriteResult(
            error=f"Error writing file '{path}': the content has half a character in it"
        )
    yield _Turn(key)
    yield from _replace(key, value)
    return WriteResult(path=path)


def _replace(key: str, value: dict[str, Any]) -> _Flow[None]:
    """Put a file where another may be; it is as old as that."""
    existing: Item | None = yield _Get(key)
    created_at = None if existing is None else existing.value.get("created_at")
    yield _Put(key, {**value, "created_at": created_at} if created_at else value)


def _edit(path: str, old: str, new: str, *, replace_all: bool) -> _Flow[EditResult]:
    try:
        key = _key(path)
    except PathError as refused:
        return EditResult(error=f"Error editing file '{path}': {refused}")
    yield _Turn(key)
    item: Item | None = yield _Get(key)
    if item is None:
        return EditResult(error=f"Error: File '{path}' not found")
    edited = _edited(item, old, new, replace_all=replace_all)
    if isinstance(edited, str):
        return EditResult(error=edited)
    value, occurrences = edited
    yield _Put(key, value)
    return EditResult(path=path, occurrences=occurrences)


def _edited(
    item: Item, old: str, new: str, *, replace_all: bool
) -> tuple[dict[str, Any], int] | str:
    """Make the item of an edited file, or the words of an error."""
    try:
        file_data = _as_file_data(item)
        if file_data["encoding"] == "base64":
            return "Error: Cannot edit binary files with text replacements."
        edited = edit_text(file_data["content"], old, new, replace_all=replace_all)
        if isinstance(edited, str):
            return edited
        content, occurrences = edited
        return _value(update_file_data(file_data, content)), occurrences
    except (ValueError, TypeError) as damaged:
        return f"Error: {damaged}"


def _delete(path: str) -> _Flow[DeleteResult]:
    try:
        base = validate_path(path).rstrip("/")
    except PathError as refused:
        return DeleteResult(error=f"Error deleting '{path}': {refused}")
    if not base:
        return DeleteResult(
            error=f"Error deleting '{path}': the root directory cannot be deleted; "
            "delete what is in it"
        )
    yield _Turn(base)
    found = [item.key for item in (yield from _all_items())]
    keys = tuple(key for key in found if key == base or key.startswith(f"{base}/"))
    if not keys:
        return DeleteResult(error=f"Error: File '{path}' not found")
    yield _Drop(keys)
    return DeleteResult(path=path)


def _upload(files: list[tuple[str, bytes]]) -> _Flow[list[FileUploadResponse]]:
    answers: list[FileUploadResponse] = []
    for path, content in files:
        key = _key_or_none(path)
        if key is not None:
            yield _Turn(key)
            yield from _replace(key, _value(file_data_from_bytes(content)))
        answers.append(FileUploadResponse(path, error=INVALID_PATH if key is None else None))
    return answers


def _download(paths: list[str]) -> _Flow[list[FileDownloadResponse]]:
    answers: list[FileDownloadResponse] = []
    for path in paths:
        key = _key_or_none(path)
        if key is None:
            answers.append(FileDownloadResponse(path, error=INVALID_PATH))
            continue
        item: Item | None = yield _Get(key)
        if item is None:
            answers.append(FileDownloadResponse(path, error=FILE_NOT_FOUND))
            continue
        try:
            content = file_data_to_bytes(_as_file_data(item))
        except (ValueError, TypeError) as damaged:
            answers.append(FileDownloadResponse(path, error=str(damaged)))
        else:
            answers.append(FileDownloadResponse(path, content))
    return answers


def _key(path: str) -> str:
    key = validate_path(path)
    if key == "/":
        raise PathError(path, "Path is a folder")
    return key


def _key_or_none(path: str) -> str | None:
    try:
        return _key(path)
    except PathError:
        return None


def _as_file_data(item: Item) -> FileData:
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
    """Make an item of a file. Text with a NUL, which PostgreSQL refuses, goes as base64.

    Raises:
        UnicodeEncodeError: There is half a character in it.
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


def _as_kept(namespace: Namespace) -> Namespace:
    """Make a namespace of what stores take: they refuse a dot, and half the names have one.

    No component has a `%` of its own, so no two become the same.
    """
    return tuple(component.replace(".", "%2E") for component in namespace)


def _validate_namespace(namespace: Namespace) -> Namespace:
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


_COMPONENT: Final = re.compile(r"[A-Za-z0-9\-_.@+:~]+")
_NO_STORE: Final = (
    "StoreBackend must be used inside a LangGraph graph execution (e.g. via create_deep_agent), "
    "or initialized with an explicit store and namespace: "
    "StoreBackend(store=my_store, namespace=lambda _rt: ('filesystem',))"
)
_NO_RUNTIME: Final = (
    "The namespace factory tried to read the Runtime, but it is unavailable (running outside a "
    "LangGraph graph execution). Use StoreBackend inside a graph (e.g. via create_deep_agent), "
    "or pass a namespace factory that does not read the Runtime."
)
