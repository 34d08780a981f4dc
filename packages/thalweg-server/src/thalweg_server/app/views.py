"""Threads as the API shows them: messages, turns, contexts."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import assert_never

from thalweg.archive.threads import LoggedMessage, Taken
from thalweg.archive.threads import TurnContext as Sent
from thalweg.engine.additions import AdditionSize
from thalweg.engine.edits import Edit as Decided
from thalweg.engine.edits import Elide, Evict, Fold, Pin, Strip, Supersede, Unpin
from thalweg.engine.entries import Media, Thinking
from thalweg.engine.entries import Message as Logged
from thalweg_server.api.threads import (
    AdditionView,
    Context,
    Edit,
    HistoryItem,
    Message,
    Thread,
    Todo,
    ToolCall,
    Turn,
)
from thalweg_server.app.registry import ThreadRow
from thalweg_server.uploads.base import FileMetadata


def moment(milliseconds: int) -> datetime:
    """Return a time of the registry as a `datetime`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def thread_view(
    row: ThreadRow, *, messages: int, model_calls: int, run: str | None, recorded_by: str
) -> Thread:
    """Show a thread at a glance."""
    return Thread(
        id=row.thread,
        title=row.title,
        created=moment(row.created),
        updated=moment(row.updated),
        messages=messages,
        model_calls=model_calls,
        run=run,
        recorded_by=recorded_by,
    )


def message_view(message: Logged) -> Message:
    """Show a message as people read it."""
    return Message(
        id=message.uid,
        role=message.role,
        text=message.text,
        thinking="\n".join(part.text for part in message.parts if isinstance(part, Thinking)),
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in message.calls
        ),
        answers=message.answers,
        name=message.name,
        is_error=message.is_error,
        media=sum(isinstance(part, Media) for part in message.parts),
    )


def item_view(logged: LoggedMessage) -> HistoryItem:
    """Show a message at its place."""
    return HistoryItem(
        position=logged.position,
        message=message_view(logged.message),
        is_abandoned=logged.is_abandoned,
    )


def turn_view(taken: Taken) -> Turn:
    """Return the API's view of a turn, or another record, with its decisions."""
    page, usage = taken.page, taken.usage
    return Turn(
        turn=taken.turn,
        at=datetime.fromtimestamp(page.at, UTC),
        kind=page.kind,
        model=page.model,
        edits=tuple(map(edit_view, page.edits)),
        tokens=sum(page.tokens.values()),
        limit=page.limit,
        sections=dict(page.tokens),
        input_tokens=usage.input if usage else None,
        cached_tokens=usage.cached if usage else None,
        output_tokens=usage.output if usage else None,
        is_current=taken.is_current,
        note=page.note,
    )


def edit_view(edit: Decided) -> Edit:
    """Show one decision."""
    match edit:
        case Fold():
            summary = edit.summary is not None
            return _edit("fold", edit, edit.last, kept=list(edit.kept), has_summary=summary)
        case Evict() | Elide() | Supersede():
            return _edit(type(edit).__name__.lower(), edit, edit.position)
        case Strip():
            return _edit("strip", edit, edit.positions[-1], positions=list(edit.positions))
        case Pin():
            return _edit("pin", edit, edit.position, quote=edit.quote)
        case Unpin():
            return _edit("unpin", edit, edit.position, quote=edit.quote)
        case _:
            assert_never(edit)


def _edit(kind: str, edit: Decided, position: int, **detail: object) -> Edit:
    return Edit.model_validate(
        {
            "kind": kind,
            "reason": edit.reason,
            "tokens_before": edit.tokens_before,
            "tokens_after": edit.tokens_after,
            "position": position,
            "detail": detail,
        }
    )


def context_view(sent: Sent) -> Context:
    """Show the request of a turn, or what the next one begins with."""
    page = sent.page
    return Context(
        turn=sent.turn,
        at=datetime.fromtimestamp(page.at, UTC),
        model=page.model,
        system=sent.system.text if sent.system else "",
        messages=tuple(map(message_view, sent.messages)),
        tools=sent.tools,
        sections=dict(sent.tokens),
        additions=tuple(map(addition_view, sent.additions)),
        tokens=sum(sent.tokens.values()),
        limit=page.limit,
        window=page.window,
    )


def addition_view(one: AdditionSize) -> AdditionView:
    """Show one part of a request that is no message."""
    position = one.position if one.position >= 0 else None
    return AdditionView(part=one.part, tokens=one.tokens, about=one.about, position=position)


def todos_view(given: object) -> tuple[Todo, ...]:
    """Return a plan; items in an unknown format are dropped."""
    todos = given if isinstance(given, list) else []
    return tuple(
        Todo(content=str(todo["content"]), status=todo["status"])
        for todo in todos
        if isinstance(todo, dict) and {"content", "status"} <= todo.keys()
    )


def paths(files: Iterable[FileMetadata]) -> tuple[str, ...]:
    """Name files in order."""
    return tuple(sorted(file.path for file in files))
