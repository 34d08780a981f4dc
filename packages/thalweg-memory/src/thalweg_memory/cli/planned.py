"""Shared parts of the commands that change a memory: planned changes, questions and output."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import typer

from thalweg.cli.shared_options import respond
from thalweg.errors import ConfigError
from thalweg_memory.base import Operation
from thalweg_memory.cli.plain import plain_change
from thalweg_memory.cli.text import render_change, render_operations
from thalweg_memory.deciding import MemorySnapshot
from thalweg_memory.facts.changes import Change
from thalweg_memory.facts.values import Fact
from thalweg_memory.handle import Memory


def planned_changes(
    user_memory: Memory, decide: Callable[[MemorySnapshot], Sequence[Change]]
) -> Sequence[Change]:
    """Return the changes that would be made."""
    facts = user_memory.store.facts(user_memory.scope, statuses=None)
    return decide(MemorySnapshot(facts, user_memory.profile()))


def facts_by_id(user_memory: Memory, names: Sequence[str]) -> dict[str, Fact]:
    """Return the facts with these ids, of any status."""
    ids = set(names)
    facts = user_memory.store.facts(user_memory.scope, statuses=None)
    return {fact.id: fact for fact in facts if fact.id in ids}


def newest_operation(user_memory: Memory) -> int:
    """Return the number of the newest operation."""
    done = user_memory.history(limit=1)
    if not done:
        raise ConfigError("N", "nothing was changed here", "there is nothing to undo")
    return done[0].id


def read_utf8(file: Path) -> str:
    """Return the text of a file in UTF-8."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(str(file), "it is not written in UTF-8", "save it as UTF-8") from None


def print_changes(
    ctx: typer.Context,
    planned: Sequence[Change],
    done: Operation | None,
    known: Mapping[str, Fact],
    *,
    dry_run: bool,
) -> None:
    """Print the changes that were made, or would be made, as text or JSON."""
    changes = planned if dry_run else done.changes if done else ()
    plain = {
        "dry_run": dry_run,
        "operation": done.id if done else None,
        "changes": [plain_change(change) for change in changes],
    }
    if dry_run:
        title = "Would change:" if planned else "Nothing would change."
        respond(ctx, [title, *(render_change(change, known) for change in planned)], plain)
    else:
        respond(ctx, render_operations([done], known) if done else ["Nothing changed."], plain)
