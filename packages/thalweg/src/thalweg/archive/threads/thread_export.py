"""Export a whole thread: for a replay, or for a provider."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, assert_never, get_args

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.paths import existing_default
from thalweg.archive.threads.contexts import TurnContext, context_at, next_context
from thalweg.archive.threads.thread_history import history
from thalweg.database.private_files import open_private
from thalweg.engine.entries import Message, message_to_json
from thalweg.engine.wires.registry import WIRES
from thalweg.errors import ConfigError

Format = Literal["jsonl", "openai"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""`jsonl` is complete, and `thalweg replay` reads it."""


EXPORT_NAME = "thalweg-thread"
"""The first line of a `jsonl` export has it under `thalweg`."""

EXPORT_VERSION = 1
"""Of the `jsonl` format."""


def check_format(name: str) -> Format:
    """Return a format by its name.

    Raises:
        ConfigError: No format has this name.
    """
    for form in FORMATS:
        if form == name:
            return form
    raise ConfigError("--format", f"there is no format {name!r}", f"use {', '.join(FORMATS)}")


def thread_lines(
    messages: Iterable[Message], thread: str, context: TurnContext | None
) -> Iterator[str]:
    """Yield the lines of a thread.

    Args:
        messages: Oldest first, beginning with the system prompt.
        thread: Name of the thread.
        context: Of the newest request, with its model, window and tool schemas; `None` if no
            request is recorded.
    """
    head = {"thalweg": EXPORT_NAME, "version": EXPORT_VERSION, "thread": thread}
    model, window = (context.page.model, context.page.window) if context else ("", 0)
    tools = list(context.tools) if context else []
    yield json.dumps({**head, "model": model, "window": window, "tools": tools})
    for message in messages:
        yield message_to_json(message)


def write_to(place: Path, pieces: Iterable[str], *, archive: str | None) -> None:
    """Write an export to a file, whole or not at all.

    Args:
        place: The file; an existing one is replaced.
        pieces: The text.
        archive: Path of the archive, which must not be replaced; as for `open_existing`.

    Raises:
        ConfigError: The file is the archive.
        OSError: The file cannot be written.
    """
    if place.exists() and not place.is_file():  # a pipe, a terminal
        with place.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(pieces)
        return
    archive_path = Path(archive) if archive else existing_default()
    if place.exists() and archive_path.exists() and place.samefile(archive_path):
        raise ConfigError("--output", f"the archive itself is at {place}", "name another file")
    partial_file = place.with_name(f"{place.name}.part")
    try:
        with open(
            partial_file,
            "w",
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            opener=open_private,
        ) as file:
            file.writelines(pieces)
        partial_file.replace(place)
    finally:
        partial_file.unlink(missing_ok=True)


def export(
    archive: Archive, key: ThreadKey, form: Format = "jsonl", turn: int | None = None
) -> Iterator[str]:
    """Yield the export of a thread, with its system prompt and its media.

    Args:
        archive: The archive of the thread.
        key: The thread.
        form: Format of the export.
        turn: Exports the thread as of the request of this turn; by default as it is now.

    Returns:
        The text, piece by piece.

    Raises:
        ArchiveError: The thread has no such turn.
    """
    messages = [logged.message for logged in history(archive, key, turn)]
    context = None
    if turn is not None:
        context = context_at(archive, key, turn)
    elif archive.turn_count(key):
        context = next_context(archive, key)
    if context is not None and context.system is not None:
        messages.insert(0, context.system)
    match form:
        case "jsonl":
            lines = thread_lines(messages, key.thread, context)
            return (f"{line}\n" for line in lines)
        case "openai":
            return iter([f"{json.dumps(_request_body(messages, context), indent=1)}\n"])
        case _:
            assert_never(form)


def _request_body(messages: Sequence[Message], context: TurnContext | None) -> dict[str, Any]:
    """Return the body of a request to OpenAI's chat completions that would send all messages."""
    body: dict[str, Any] = {"model": context.page.model} if context and context.page.model else {}
    if context and context.tools:
        body["tools"] = list(context.tools)
    return {**body, "messages": WIRES["openai-chat"].write(messages)}
