"""The files of one owner's threads: uploads, files made by agents, and parts of either."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, ValidationError

from thalweg.errors import NoSuchFileError, PathError, StorageError, UploadRefusedError
from thalweg_agent.backends.file_data import read_file_type
from thalweg_agent.backends.paths import validate_path
from thalweg_agent.backends.results import FileData
from thalweg_server.api.files import Artifacts, FileStat, Upload
from thalweg_server.uploads.base import FileMetadata, Places, ThreadBackend
from thalweg_server.uploads.converting import Converter
from thalweg_server.uploads.intake import Kind, UploadPolicy, admitted, kind_by_name
from thalweg_server.uploads.names import safe_name, unlike

UPLOADS: Final = "/uploads"
"""The folder of uploads, as an agent sees it."""
MAX_LISTED: Final = 1_000
"""Artifacts that are listed of a thread."""
MOST_TEXT_BYTES: Final = 1 << 18
"""Bytes of text files and their paths that a state has, in all."""
MOST_TEXTS: Final = 100
"""Text files that a state has."""

_COPIES: Final = ("/large_tool_results/", "/conversation_history/")
"""Folders of content that the context engine offloads: nothing that an agent made."""
_MOST_FILES: Final = 20_000
_STEP: Final = 1 << 20
_MOST_TRIES: Final = 100
UploadLocks = WeakValueDictionary[tuple[str, str], asyncio.Lock]
"""Locks of threads that files are uploaded to, by owner and thread."""
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class _Note(BaseModel):
    """Stored metadata of a file in `/uploads`: an upload, or the text of one."""

    model_config = ConfigDict(frozen=True)

    upload: Upload | None = None
    text_of: str | None = None


class ThreadFiles:
    """The files of one owner's threads. No method takes an owner, so no other can be reached.

    Args:
        owner: The owner.
        places: The storage of the files of all owners.
        policy: Limits of uploads.
        converter: Converts documents to text; one for a process, or owners would not take turns.
        locks: Those of all owners, or requests at once would exceed the limits together.

    Raises (all methods):
        StorageError: The medium failed.
    """

    def __init__(
        self,
        owner: str,
        places: Places,
        *,
        policy: UploadPolicy | None = None,
        converter: Converter | None = None,
        locks: UploadLocks | None = None,
    ) -> None:
        self._owner = owner
        self._places = places
        self.policy = policy or UploadPolicy()
        self._converter = converter or Converter(self.policy)
        self._locks = WeakValueDictionary() if locks is None else locks

    def backend(self, thread: str) -> ThreadBackend:
        """Return the backend of a thread's agent and its subagents, which see changes made here."""
        return self._places.backend(self._owner, thread)

    async def upload(self, thread: str, name: str, content: bytes) -> Upload:
        """Store a file in a thread, with its extracted text if it is a document.

        Args:
            thread: The thread's id.
            name: The sender's name for it.
            content: All of it; no more than a byte above `policy.max_file_bytes` has to be read.

        Raises:
            UploadRefusedError: It is not allowed; nothing of it is stored.
        """
        kept_name = safe_name(name)
        kind = await asyncio.to_thread(admitted, kept_name, content, self.policy)
        files = self.backend(thread)
        async with self._turn(thread):
            await self._refuse_above_bounds(files, kept_name, len(content))
            path = await _created(files, kept_name, content)
        converted = await self._converter.convert(kind, content, owner=self._owner)
        text_path = None
        if converted.text is not None:
            async with self._turn(thread):
                # If the file was deleted meanwhile, it has no text.
                if await _stat(files, path) is not None:
                    text = converted.text.encode("utf-8", "replace")
                    text_path = await _created(files, f"{PurePosixPath(path).name}.md", text)
                    await _write_note(files, text_path, _Note(text_of=path))
        upload = Upload(
            name=PurePosixPath(path).name,
            path=path,
            size=len(content),
            media_type=kind.media_type,
            sha256=hashlib.sha256(content).hexdigest(),
            text_path=text_path,
            created=datetime.now(UTC),
            note=_note(name, PurePosixPath(path).name, converted.note),
        )
        await _write_note(files, path, _Note(upload=upload))
        return upload

    async def _refuse_above_bounds(self, files: ThreadBackend, name: str, size: int) -> None:
        """Refuse an upload above the limits; of other processes, only completed writes count."""
        there = await asyncio.to_thread(files.files, _MOST_FILES)
        notes = await _notes(files)
        sent = [kept for kept in there if _is_sent(kept, notes)]
        policy = self.policy
        if len(sent) >= policy.max_files:
            problem = f"the thread has {len(sent):,} uploads already"
            raise UploadRefusedError(
                name, problem, f"delete some; the limit is {policy.max_files:,}"
            )
        total = sum(kept.size for kept in there)
        if total + size > policy.max_thread_bytes:
            problem = f"the thread's files would have {total + size:,} bytes"
            fix = f"delete some; the limit is {policy.max_thread_bytes:,}"
            raise UploadRefusedError(name, problem, fix)

    def _turn(self, thread: str) -> asyncio.Lock:
        return self._locks.setdefault((self._owner, thread), asyncio.Lock())

    async def uploads(self, thread: str) -> tuple[Upload, ...]:
        """List the uploads of a thread, by name; also files there that its agent changed or put."""
        files = self.backend(thread)
        there = await asyncio.to_thread(files.files, _MOST_FILES)
        notes = await _notes(files)
        return tuple(
            [await self._listed(files, kept, notes) for kept in there if _is_sent(kept, notes)]
        )

    async def _listed(
        self, files: ThreadBackend, kept: FileMetadata, notes: dict[str, _Note]
    ) -> Upload:
        note = notes.get(kept.path)
        if note is not None and note.upload is not None:
            return note.upload
        text = [path for path, other in notes.items() if other.text_of == kept.path]
        upload = Upload(
            name=PurePosixPath(kept.path).name,
            path=kept.path,
            size=kept.size,
            media_type=kind_by_name(kept.path).media_type,
            sha256=await _sha256(files, kept),
            text_path=text[0] if text else None,
            created=kept.modified,
            note="it was changed after it was sent, or was never sent",
        )
        await _write_note(files, kept.path, _Note(upload=upload))
        return upload

    async def delete_upload(self, thread: str, name: str) -> None:
        """Delete an upload, with its text.

        Raises:
            NoSuchFileError: There is no upload of that name.
        """
        files = self.backend(thread)
        path = _sent_path(name)
        async with self._turn(thread):
            notes = await _notes(files)
            texts = [text for text, note in notes.items() if note.text_of == path]
            if await _stat(files, path) is None or notes.get(path, _Note()).text_of is not None:
                raise NoSuchFileError(name)
            for one in (path, *texts):
                deleted = await files.adelete(one)
                if deleted.error is not None and one == path:
                    raise NoSuchFileError(name)

    async def artifacts(self, thread: str) -> Artifacts:
        """List the files made by the agent of a thread and its subagents, by path."""
        there = await asyncio.to_thread(self.backend(thread).files, _MOST_FILES)
        made = [kept for kept in there if not kept.path.startswith((f"{UPLOADS}/", *_COPIES))]
        listed = tuple(_shown(kept) for kept in made[:MAX_LISTED])
        is_cut = len(made) > MAX_LISTED or len(there) >= _MOST_FILES
        return Artifacts(files=listed, truncated=is_cut)

    async def texts(self, thread: str) -> dict[str, FileData]:
        """Return text files among the artifacts of a thread, as a graph's state has files.

        Files that cannot be read or are not UTF-8 are omitted, as are all above `MOST_TEXTS`, and
        those whose paths and contents would have more than `MOST_TEXT_BYTES` in all.
        """
        listed = (await self.artifacts(thread)).files
        return await asyncio.to_thread(_texts, self.backend(thread), listed)

    async def stat(self, thread: str, path: str) -> FileStat:
        """Look at a file of a thread.

        Raises:
            NoSuchFileError: There is none at that path, or none that may be read.
        """
        kept = await _stat(self.backend(thread), path)
        if kept is None:
            raise NoSuchFileError(path)
        return _shown(kept)

    async def read(self, thread: str, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """Return the content of a thread's file, or a range of its bytes.

        Args:
            thread: The thread's id.
            path: The path that the agent sees.
            start: The first byte, from 0.
            stop: The byte after the last one; the end by default.

        Raises:
            NoSuchFileError: There is no readable file at that path.
        """
        files = self.backend(thread)
        end = _FAR if stop is None else stop
        content = await _or_none(files.read_range, path, start, end)
        if content is None:
            raise NoSuchFileError(path)
        return content


_FAR: Final = 1 << 62


def _texts(files: ThreadBackend, listed: Iterable[FileStat]) -> dict[str, FileData]:
    found: dict[str, FileData] = {}
    left = MOST_TEXT_BYTES
    for kept in listed:
        size = kept.size + len(kept.path.encode())
        if size > left or len(found) == MOST_TEXTS or read_file_type(kept.path) != "text":
            continue
        with suppress(PathError, StorageError, UnicodeDecodeError):
            content = files.read_range(kept.path, 0, kept.size)
            if content is not None and b"\0" not in content:  # None: it was deleted meanwhile
                text, changed = content.decode(), kept.modified.isoformat()
                found[kept.path] = FileData(content=text, encoding="utf-8", modified_at=changed)
                left -= size
    return found


async def _created(files: ThreadBackend, name: str, content: bytes) -> str:
    """Write a file to `/uploads`, by a name that nothing there has."""
    listed = await files.als(UPLOADS)
    taken = {PurePosixPath(info["path"]).name for info in listed.entries or ()}
    for _ in range(_MOST_TRIES):
        free = unlike(name, taken)
        try:
            if await asyncio.to_thread(files.create, f"{UPLOADS}/{free}", content):
                return f"{UPLOADS}/{free}"
        except PathError as refused:
            raise UploadRefusedError(name, str(refused), "remove what is there") from None
        # Another came first, or something is there that is not listed: a link to nowhere.
        taken.add(free)
    problem = f"{_MOST_TRIES} names like it are taken"
    raise UploadRefusedError(name, problem, "choose another name")


async def _notes(files: ThreadBackend) -> dict[str, _Note]:
    found: dict[str, _Note] = {}
    for path, text in (await asyncio.to_thread(files.notes, UPLOADS)).items():
        try:
            found[path] = _Note.model_validate_json(text)
        except ValidationError:
            continue  # of another version: as if there were none
    return found


async def _write_note(files: ThreadBackend, path: str, note: _Note) -> None:
    await asyncio.to_thread(files.annotate, path, note.model_dump_json())


async def _stat(files: ThreadBackend, path: str) -> FileMetadata | None:
    return await _or_none(files.stat, path)


async def _or_none(
    ask: Callable[_Given, _Result | None], *given: _Given.args, **named: _Given.kwargs
) -> _Result | None:
    """Call a function for a file; return `None` for a forbidden path, as for a missing file."""
    try:
        return await asyncio.to_thread(ask, *given, **named)
    except PathError:
        return None


async def _sha256(files: ThreadBackend, kept: FileMetadata) -> str:
    digest = hashlib.sha256()
    for start in range(0, kept.size, _STEP):
        digest.update(await _or_none(files.read_range, kept.path, start, start + _STEP) or b"")
    return digest.hexdigest()


def _is_sent(kept: FileMetadata, notes: dict[str, _Note]) -> bool:
    """Whether a file is an upload, and not the text of one."""
    folder, _, _ = kept.path.rpartition("/")
    return folder == UPLOADS and notes.get(kept.path, _Note()).text_of is None


def _sent_path(name: str) -> str:
    """Return the path of an upload, whose name may contain no path.

    Raises:
        NoSuchFileError: No upload can have that name.
    """
    try:
        path = validate_path(f"{UPLOADS}/{name}")
    except PathError:
        raise NoSuchFileError(name) from None
    if path != f"{UPLOADS}/{name}" or "/" in name:
        raise NoSuchFileError(name)
    return path


def _shown(kept: FileMetadata) -> FileStat:
    kind: Kind = kind_by_name(kept.path)
    return FileStat(
        path=kept.path,
        name=PurePosixPath(kept.path).name,
        size=kept.size,
        media_type=kind.media_type,
        modified=kept.modified,
        etag=kept.version,
    )


def _note(sent: str, name: str, note: str) -> str:
    renamed = f"it is stored as {name!r}" if sent != name else ""
    return "; ".join(part for part in (renamed, note) if part)
