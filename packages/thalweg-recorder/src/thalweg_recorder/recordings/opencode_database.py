"""The database of opencode, `opencode.db` or that of a channel, with all of its sessions.

A session in it is addressed as a file would be: `…/opencode.db#ses_…`.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import NoMessageError, Recording
from thalweg_recorder.recordings.formats import opencode
from thalweg_recorder.recordings.rows import as_object
from thalweg_recorder.recordings.source import RecordedFile

BUSY_TIMEOUT_S = 5.0
_SQLITE = b"SQLite format 3\0"


def sessions_in(path: Path) -> list[Path]:
    """Return the addresses of the sessions in a database of opencode, the oldest first.

    Raises:
        RecordingError: The database cannot be read.
    """
    with _opened(path) as db:
        rows = db.execute("SELECT id FROM session ORDER BY time_created, id").fetchall()
    return [path.with_name(f"{path.name}#{session}") for (session,) in rows]


def is_database(path: Path) -> bool:
    """Return whether a file is a database of SQLite."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def is_session(path: Path) -> bool:
    """Return whether a path addresses a session in a database: `FILE#SESSION`."""
    return bool(path.name.partition("#")[2]) and is_database(_database(path))


def _database(path: Path) -> Path:
    return path.with_name(path.name.partition("#")[0])


def session_state(path: Path) -> tuple[int, int]:
    """Return the number of the parts of a session, and when it changed last, in nanoseconds.

    Raises:
        RecordingError: The database cannot be read.
    """
    session = path.name.partition("#")[2]
    with _opened(_database(path)) as db:
        count, changed = db.execute(_STATE, {"session": session}).fetchone()
    return count, changed * 1_000_000 if isinstance(changed, int) else 0


def read_session(path: Path) -> Recording:
    """Parse a session.

    Of an answer that is not complete, the parts that are complete are read.

    Raises:
        RecordingError: The database cannot be read, or has no such session or no message of it.
    """
    session = path.name.partition("#")[2]
    with _opened(_database(path)) as db:
        info = db.execute(_SESSION, (session,)).fetchone()
        if info is None:
            raise RecordingError(str(path), "there is no such session", "list them: opencode")
        messages = list(_messages(db, session))
    keys = ("id", "parentID", "directory", "title", "version")
    document = {"info": dict(zip(keys, info, strict=True)), "messages": messages}
    recording = opencode.read(RecordedFile(session, "", document, ()))
    if not recording.messages:
        raise NoMessageError(str(path), "holds no message", "record at least one turn")
    return recording


def _messages(db: sqlite3.Connection, session: str) -> Iterator[dict[str, Any]]:
    parts: dict[str, list[Any]] = {}
    for part, message, data in db.execute(_PARTS, (session,)):
        parts.setdefault(message, []).append(_with_id(data, part))
    for message, data in db.execute(_MESSAGES, (session,)):
        info, of_message = _with_id(data, message), parts.pop(message, [])
        written = len(of_message)
        role, time = as_object(info).get("role"), as_object(as_object(info).get("time"))
        if role == "assistant" and "completed" not in time:
            of_message = list(takewhile(_is_complete, of_message))
        yield {"info": info, "parts": of_message, "waiting": written - len(of_message)}
    yield from ({"info": None, "parts": of_none} for of_none in parts.values())


def _with_id(data: object, own: str) -> Any:  # noqa: ANN401 (any JSON value)
    """Parse the JSON of a row and add its id; a text that is no JSON is returned unchanged."""
    try:
        value = json.loads(data) if isinstance(data, str | bytes) else data
    except (ValueError, RecursionError):
        return str(data)
    return {**value, "id": own} if isinstance(value, dict) else value


def _is_complete(part: object) -> bool:
    """Return whether a part of an answer that is being written does not change any more.

    Only the result of a call is added to it; it is a message of its own.
    """
    known = as_object(part)
    if known.get("type") == "tool":
        return as_object(known.get("state")).get("status") != "pending"
    return "end" in as_object(known.get("time", {"end": 0}))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)) as db:
            yield db
    except (sqlite3.Error, ValueError) as error:
        problem = f"is no database of opencode that can be read ({error})"
        raise RecordingError(str(path), problem, "check the path and its permissions") from error


_STATE = """
SELECT (SELECT COUNT(*) FROM part WHERE session_id = :session),
    (SELECT MAX(time_updated) FROM (
        SELECT time_updated FROM part WHERE session_id = :session
        UNION ALL SELECT time_updated FROM message WHERE session_id = :session
        UNION ALL SELECT time_updated FROM session WHERE id = :session))
"""
_SESSION = "SELECT id, parent_id, directory, title, version FROM session WHERE id = ?"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
