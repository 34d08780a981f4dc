"""Threads, turns and contexts as plain values that JSON can hold."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from thalweg.archive.threads.contexts import TurnContext
from thalweg.archive.threads.finding import ThreadOverview
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.operations import OperationResult
from thalweg.archive.threads.savings import Saved
from thalweg.archive.threads.thread_history import LoggedMessage, Taken
from thalweg.engine.entries import Message, message_to_json
from thalweg.engine.pricing.savings import Saving
from thalweg.engine.serialization import edit_to_plain


def plain_message(message: Message) -> dict[str, Any]:
    """Return a message as an object of JSON; `message_from_json` parses it."""
    plain: dict[str, Any] = json.loads(message_to_json(message))
    return plain


def plain_thread(known: ThreadOverview) -> dict[str, Any]:
    """Return the summary of a thread."""
    newest = known.newest
    return {
        "thread": known.thread,
        "messages": known.length,
        "model_calls": known.model_calls,
        "tokens": sum(newest.tokens.values()) if newest else None,
        "model": newest.model if newest else None,
        "at": _time(newest.at) if newest else None,
    }


def plain_logged(logged: LoggedMessage) -> dict[str, Any]:
    """Return one message of a log with its position."""
    return {
        "position": logged.position,
        "abandoned": logged.is_abandoned,
        "message": plain_message(logged.message),
    }


def plain_turn(turn: Taken, saving: Saving | None = None) -> dict[str, Any]:
    """Return one turn of the journal, with the savings of its rewrite."""
    return {
        **_page(turn.number, turn.page),
        "current": turn.is_current,
        "usage": asdict(turn.usage) if turn.usage else None,
        "saving": saving.to_json() if saving else None,
    }


def plain_saved(saved: Saved) -> dict[str, Any]:
    """Return what all rewrites of a thread have saved so far, in uncached input tokens."""
    return {
        "saved": round(saved.realised, 1),
        "cost_beyond_window": round(saved.beyond, 1),
    }


def plain_context(context: TurnContext) -> dict[str, Any]:
    """Return the context that a turn sent."""
    return {
        **_page(context.turn, context.page),
        "system": plain_message(context.system) if context.system else None,
        "messages": [
            {
                "position": item.position if item.position >= 0 else None,
                "tokens": item.tokens,
                "section": item.section,
                "message": plain_message(item.message),
            }
            for item in context.items
        ],
        "tools": list(context.tools),
        "additions": [asdict(one) for one in context.additions],
    }


def plain_done(done: OperationResult) -> dict[str, Any]:
    """Return a manual operation."""
    return {**asdict(done), "fits": done.fits}


def _page(number: int, page: TurnRecord) -> dict[str, Any]:
    return {
        "turn": number,
        "kind": page.kind,
        "at": _time(page.at),
        "parent": page.parent,
        "messages_logged": page.length,
        "positions": [[span.first, span.last] for span in page.line.spans],
        "model": page.model or None,
        "window": page.window or None,
        "limit": page.limit or None,
        "tokens": dict(page.tokens),
        "edits": [edit_to_plain(edit) for edit in page.edits],
        "spent": asdict(page.spent) if page.spent else None,
        "note": page.note,
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
