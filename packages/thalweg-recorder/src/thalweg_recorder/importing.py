"""Importing sessions: rows of a source that the archive lacks are appended, and nothing else.

A row has an id made of its content (`row_ids`), which the archive stores with the message. So an
import that was interrupted anywhere, repeated, or run twice at once adds missing rows, once; a
source that was truncated or rewritten takes nothing away. Messages are stored without the secrets
in them.
"""

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from thalweg.archive import (
    Archive,
    Logged,
    ThreadId,
    ThreadKey,
    is_thread_id,
    parse_thread_id,
)
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, append_page, read_page
from thalweg.archive.threads.session import Retry
from thalweg.database.base import encode
from thalweg.engine.entries import Message, Part, message_to_json, stored_text
from thalweg.engine.pricing.cost import summed
from thalweg.engine.window.reading import Reader
from thalweg.errors import ConflictError, RecordingError
from thalweg.redaction.secrets import redact
from thalweg_recorder.forgotten import ForgottenNames, earlier_name
from thalweg_recorder.hook import is_opted_out
from thalweg_recorder.recordings import Recording
from thalweg_recorder.recordings.base import NoMessageError, RecordedCompaction
from thalweg_recorder.recordings.files import read_growing, session_state, sessions_in
from thalweg_recorder.sessions import (
    OWNER,
    RecordedSession,
    list_sessions,
    newest_session,
    session_to_plain,
    state_of,
)

_PROJECT_FILE = ".project_root"
DIGEST_BYTES = 12
"""Of a row's content in its id: 96 bits, far beyond chance among the rows of one thread."""


def without_secrets(message: Message) -> Message:
    """Redact every text of a message; the content of media is unchanged.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> without_secrets(Message("user", (Text("use ghp_" + "a1B2" * 9),))).text
        'use [redacted: GitHub token]'
    """
    parts = tuple(map(_redacted, message.parts))
    return replace(message, parts=parts, extra=redact_escaped(message.extra))


def _redacted(part: Part) -> Part:
    texts = {name: redact_escaped(getattr(part, name)) for name in _TEXTS if hasattr(part, name)}
    return replace(part, **texts)  # type: ignore[arg-type]  # its own


_TEXTS = ("text", "url", "arguments", "json", "extra")
"""Fields of parts with text of the session."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*("?)', re.DOTALL)
"""A string that is cut off matches as well: if it did not, each further mark would be tried."""


def redact_escaped(text: str) -> str:
    r"""Redact a text and the JSON strings in it, in which quotation marks are escaped.

    Example:
        >>> redact_escaped('{"command": "export API_KEY=\\"abcd1234efgh5678ijkl\\""}')
        '{"command": "export API_KEY=\\"[redacted: key]\\""}'
    """
    return redact(_STRING.sub(_redact_string, text) if "\\" in text else text)


def _redact_string(found: re.Match[str]) -> str:
    try:
        string = json.loads(found[0] if found[1] else f'{found[0]}"', strict=False)
    except ValueError:
        return found[0]
    safe = redact_escaped(string)
    if safe == string:
        return found[0]
    dumped = stored_text(json.dumps(safe, ensure_ascii=False))
    return dumped if found[1] else dumped[:-1]


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of one source."""

    source: str
    thread: str = ""
    """Name of its thread; empty if nothing was read."""
    new: int = 0
    """Messages that were appended."""
    compactions: int = 0
    """Compactions among the new messages."""
    skipped: str = ""
    """Why it was not read, in a few words; empty if it was."""
    error: str = ""
    """Why it could not be read."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of rows that were read and are no messages, by their kind."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The rows that an import adds to a thread."""

    rows: tuple[Logged, ...]
    session: RecordedSession
    compactions: tuple[tuple[int, RecordedCompaction], ...]
    """New ones, each with the position in the log that it came before."""


def import_sessions(
    archive: Archive,
    paths: Iterable[Path],
    *,
    owner: str = OWNER,
    exclude: Sequence[str] = (),
    forgotten: ForgottenNames | None = None,
) -> Iterator[Imported]:
    """Import recorded sessions, except for those whose source did not change.

    Args:
        archive: The target.
        paths: The sources.
        owner: The owner of the new threads.
        exclude: Patterns (`*`, `?`, `[…]`) of sources and projects that are not imported.
        forgotten: Forgotten sessions, which are not imported again.

    Yields:
        The result of each source, in their order. One that cannot be read does not stop the others.

    Raises:
        StorageError: The archive cannot be written, such as on a full disk. Yielded results
            are stored, and importing again continues there.
    """
    read = {session.source: (thread, session) for thread, session in list_sessions(archive, owner)}
    for path in chain.from_iterable(_addresses(path, read) for path in paths):
        thread, before = read.get(str(path.absolute()), ("", None))
        if _matches(str(path.absolute()), exclude):
            yield Imported(str(path), thread, skipped="excluded")
            continue
        try:
            size, changed = session_state(path)
            if _is_unchanged(before, size, changed):
                yield Imported(str(path), thread, skipped="unchanged")
                continue
            known_as = (before.agent, before.resume) if before else ()
            recording = _with_project(read_growing(path, *known_as), path)
        except NoMessageError:
            yield Imported(str(path), thread, skipped="without messages")
            continue
        except RecordingError as error:
            yield Imported(str(path), thread, error=str(error))
            continue
        source = ImportSource(str(path.absolute()), size, changed)
        for one, of_thread in _threads(recording, source):
            yield import_recording(
                archive, one, of_thread, owner=owner, exclude=exclude, forgotten=forgotten
            )


def _threads(
    recording: Recording, source: "ImportSource"
) -> Iterator[tuple[Recording, "ImportSource"]]:
    """Yield the threads of a log, its own last: with it the log counts as read."""
    for one in recording.subagents:
        yield one, ImportSource(f"{source.path}#{one.name}")
    yield recording, source


def import_copy(
    archive: Archive,
    copy: Path,
    original: Path,
    *,
    owner: str = OWNER,
    forgotten: ForgottenNames | None = None,
) -> Imported:
    """Import a copy of a log that was made before its agent may have rewritten the log.

    The log itself counts as not read yet. See `import_sessions` for the arguments and errors.
    """
    try:
        recording = _with_project(read_growing(copy), original)
    except NoMessageError:
        return Imported(str(original), skipped="without messages")
    except RecordingError as error:
        return Imported(str(original), error=str(error))
    source = ImportSource(str(original.absolute()))
    imported = [
        import_recording(archive, one, of_thread, owner=owner, forgotten=forgotten)
        for one, of_thread in _threads(recording, source)
    ]
    return imported[-1]


def _addresses(path: Path, known: Mapping[str, tuple[str, RecordedSession]]) -> list[Path]:
    """Return the sessions of a source; one that cannot be listed is an error when it is read."""
    try:
        before = known.get(str(path.absolute()))
        if before is not None and _is_unchanged(before[1], *session_state(path)):
            return [path]
        return sessions_in(path)
    except RecordingError:
        return [path]


def _is_unchanged(before: RecordedSession | None, size: int, changed: int) -> bool:
    return before is not None and (before.size_bytes, before.mtime_ns) == (size, changed)


def _with_project(recording: Recording, path: Path) -> Recording:
    """Add the project that Gemini CLI stores next to its sessions, if the log has none."""
    place = path.parent.parent / _PROJECT_FILE
    if recording.session.project or not place.is_file():
        return recording
    project = place.read_text("utf-8", "replace").strip()
    return replace(recording, session=replace(recording.session, project=project))


@dataclass(frozen=True, slots=True)
class ImportSource:
    """The source of a recording, and its state before it was read."""

    path: str
    """An absolute path, or the address of a session inside a file."""
    size_bytes: int = 0
    mtime_ns: int = 0


def import_recording(
    archive: Archive,
    recording: Recording,
    source: ImportSource,
    *,
    owner: str = OWNER,
    exclude: Sequence[str] = (),
    forgotten: ForgottenNames | None = None,
) -> Imported:
    """Add the rows of a recording that its thread in the archive lacks, in one transaction.

    See `import_sessions` for the arguments.

    Raises:
        ConflictError: Other imports of the same session were faster, again and again.
        StorageError: The archive cannot be written; nothing was added.
    """
    key = _key_of(archive, recording, source, owner)
    thread = key.thread
    project = recording.session.project
    if project and _matches(project, exclude):
        return Imported(source.path, thread, skipped="excluded")
    if project and is_opted_out(project):
        return Imported(source.path, thread, skipped="opted out")
    tries = Retry()
    while True:
        length = archive.length(key)
        # After the length: a thread that is forgotten later has another one.
        if forgotten is not None and thread in forgotten:
            return Imported(source.path, thread, skipped="forgotten")
        if recording.resumed.at:
            before, path = newest_session(archive, key), Path(source.path)
            if before is None or before.resume != recording.resumed:
                # Another import was faster, or the thread was deleted: the log is read whole.
                return import_copy(archive, path, path, owner=owner, forgotten=forgotten)
        plan = _planned(archive, key, recording, source, length)
        if plan is None:
            return Imported(source.path, thread)
        try:
            _enter(archive, key, plan, length)
        except ConflictError as conflict:
            tries.spend(conflict)
        else:
            new, compactions = len(plan.rows), len(plan.compactions)
            return Imported(source.path, thread, new, compactions, left_out=recording.left_out)


def _key_of(archive: Archive, recording: Recording, source: ImportSource, owner: str) -> ThreadKey:
    """Return the thread of a recording; of one that an earlier version imported, its name there."""
    key = ThreadKey(owner, thread_name(recording, source.path))
    earlier = ThreadKey(owner, earlier_name(key.thread))
    return earlier if earlier != key and archive.length(earlier) else key


def _planned(
    archive: Archive, key: ThreadKey, recording: Recording, source: ImportSource, length: int
) -> ImportPlan | None:
    """Plan an import against the archive; `None` if it already has all of it."""
    before = newest_session(archive, key)
    messages = recording.messages
    ids = row_ids(messages)
    known = set(archive.positions(key, ids))
    if len(known) < length:
        # Others may be messages that were not complete.
        known.update(archive.positions(key, (row for m in messages for row in _partial_ids(m))))
    plan = plan_import(recording, source, ids, known, length, before)
    has_new = plan.rows or plan.compactions or plan.session != before
    return plan if has_new else None


def plan_import(
    recording: Recording,
    source: ImportSource,
    ids: Sequence[str],
    known: Collection[str],
    length: int,
    before: RecordedSession | None,
) -> ImportPlan:
    """Return the rows that an import appends.

    If the agent completed a message after an earlier import, only the difference is appended:
    its further parts, in a message of their own.

    Args:
        recording: The current content of the source.
        source: The source.
        ids: Of its rows, see `row_ids`.
        known: Ids of rows that the archive has, those of `_partial_ids` included.
        length: Length of the thread's log.
        before: The session as of the import before.
    """
    reader = Reader(lambda _: 0)  # an import plans no context
    rows: list[Logged] = []
    appended: list[Message] = []
    for read, row in zip(recording.messages, ids, strict=True):
        # Redacted before a call is shortened: a secret that is cut is not recognized.
        entry = reader.read(without_secrets(read) if read.calls else read)
        if row in known:
            continue
        message = replace(read, uid=row)
        if known and (stored := _stored_parts(read, known)):
            message = replace(message, parts=message.parts[stored:], usage=None)
        about = entry.answers.brief if entry.answers else ""
        appended.append(message)
        rows.append(Logged(without_secrets(message), about))
    placed = tuple(
        (length + sum(m.line < compaction.line for m in appended), compaction)
        for compaction in _new_compactions(recording.compactions, before)
    )
    # Every row of the archive is still in the source.
    is_whole = bool(recording.resumed.at) or len(known) >= length
    session = _session_after(recording, source, before, appended, placed, is_whole=is_whole)
    return ImportPlan(tuple(rows), session, placed)


def _new_compactions(
    compactions: Sequence[RecordedCompaction], before: RecordedSession | None
) -> Sequence[RecordedCompaction]:
    """Return those after the newest existing one; by number if the source has no times."""
    if before is None:
        return compactions
    if all(compaction.at for compaction in compactions):
        return [one for one in compactions if one.at > before.compacted_at]
    return compactions[before.compactions :]


def row_ids(messages: Sequence[Message]) -> list[str]:
    """Name each row of a source by its content: the same row has the same id in every import.

    The id depends on the content with its time and its id in the source; not on its line, its
    cost and the fields next to its content, which may change until it is complete. Equal rows are
    numbered.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> one = Message("user", (Text("yes"),), uid="u1", line=4)
        >>> row_ids([one, replace(one, line=9)])
        ['u1~319006bfd6c2750a6fc0207a', 'u1~319006bfd6c2750a6fc0207a~2']
    """
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for message in messages:
        row = _row_id(message)
        seen[row] += 1
        ids.append(row if seen[row] == 1 else f"{row}~{seen[row]}")
    return ids


def _row_id(message: Message) -> str:
    named = replace(message, line=-1, usage=None, name="", extra="")
    digest = hashlib.blake2b(message_to_json(named).encode(), digest_size=DIGEST_BYTES)
    return f"{message.uid}~{digest.hexdigest()}"


def _partial_ids(message: Message) -> list[str]:
    """Name the rows that a message may have been when it was not complete, longest first."""
    return [
        _row_id(replace(message, parts=message.parts[:parts]))
        for parts in range(len(message.parts) - 1, 0, -1)
    ]


def _stored_parts(message: Message, known: Container[str]) -> int:
    """Count the parts of a message that the archive has as a message that was not complete."""
    partial_ids = enumerate(_partial_ids(message), 1)
    return next((len(message.parts) - k for k, row in partial_ids if row in known), 0)


def _session_after(
    recording: Recording,
    source: ImportSource,
    before: RecordedSession | None,
    appended: Sequence[Message],
    placed: Sequence[tuple[int, RecordedCompaction]],
    *,
    is_whole: bool,
) -> RecordedSession:
    """Return the updated metadata of a session; data that a source lost is kept."""
    info, was = recording.session, before or RecordedSession(agent=recording.format)
    point = recording.resume
    point = replace(point, session=replace(point.session, title=redact(point.session.title)))
    times = [message.at for message in appended if message.at]
    answers = [*recording.resumed.usage, *recording.answers]
    first = next((usage.id for usage in recording.answers), "")
    if not is_whole:
        answers = [*was.usage, *(message.usage for message in appended if message.usage)]
    return RecordedSession(
        agent=recording.format,
        id=info.id or was.id,
        project=info.project or was.project,
        branch=info.branch or was.branch,
        title=redact(info.title) or was.title or recording.title,
        model=info.model or was.model,
        source=source.path,
        size_bytes=source.size_bytes,
        mtime_ns=source.mtime_ns,
        started_at=min((*times, *filter(None, (was.started_at,))), default=""),
        ended_at=max((*times, was.ended_at), default=""),
        usage=summed(answers),
        first_answer=was.first_answer or first,
        compactions=was.compactions + len(placed),
        compacted_at=max((one.at for _, one in placed), default=was.compacted_at),
        resume=point if is_whole and point.at else None,
    )


def _enter(archive: Archive, key: ThreadKey, plan: ImportPlan, length: int) -> None:
    """Append the rows, with a record in the journal that states their source."""
    count = archive.turn_count(key)
    before = read_page(archive, key, count - 1) if count else None
    line = before.line if before else ThreadBranch()
    for position in range(length, length + len(plan.rows)):
        line = line.add(position)
    summaries = [redact(compaction.summary) for _, compaction in plan.compactions]
    digests = archive.attach(key, *summaries) if summaries else []
    new = [
        {"position": position, **_plain(compaction), "summary": digest}
        for (position, compaction), digest in zip(plan.compactions, digests, strict=True)
    ]
    page = TurnRecord(
        kind="import",
        at=time.time(),
        parent=count - 1 if count else None,
        root=before.root if before else 0,
        length=length + len(plan.rows),
        line=line,
        model=plan.session.model,
        note=f"{len(plan.rows)} messages from {plan.session.source}",
        session={**session_to_plain(plan.session), **({"new_compactions": new} if new else {})},
    )
    state = state_of(plan.session)
    append_page(archive, key, page, before, length=length, log=plan.rows, state=state)


def _plain(compaction: RecordedCompaction) -> dict[str, str | int]:
    names = ("at", "trigger", "tokens_before")
    return {name: value for name in names if (value := getattr(compaction, name))}


def thread_name(recording: Recording, source: str) -> ThreadId:
    """Name the thread of a recorded session.

    If the log does not state an id, the name of the file and a digest of its path do; the digest
    alone does if the name or the stated id cannot be part of an id.

    Example:
        >>> thread_name(Recording("run-7", "chat-document", ()), "/runs/run-7.json")
        'chat-document:run-7-86379b90'
    """
    stated, place = recording.session.id, source.encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(place, digest_size=4).hexdigest()
    name = f"{recording.format}:{stated or f'{Path(recording.name).name}-{digest}'}"
    if not is_thread_id(name):
        digest = hashlib.blake2b(encode(stated) or place, digest_size=16).hexdigest()
        name = f"{recording.format}:{digest}"
    return parse_thread_id(name)


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(text, pattern) or text == pattern.rstrip("/") for pattern in patterns)
