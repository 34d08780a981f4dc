"""`thalweg thread`: what a thread was sent, what was done to it, and doing it by hand."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from thalweg.archive import Archive, ThreadKey, open_existing, render_passages
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.finding import find_thread, known_threads, own_threads
from thalweg.archive.threads.operations import pin, rewind, undo, unpin
from thalweg.archive.threads.savings import saved_so_far
from thalweg.archive.threads.thread_export import FORMATS, check_format, export, write_to
from thalweg.archive.threads.thread_history import history, line_at, turns
from thalweg.cli.asking import Yes, confirm
from thalweg.cli.printing import AsJson
from thalweg.cli.shared_options import GroupOptions, SharedOptions, command_group, respond
from thalweg.cli.thread.plain import (
    plain_context,
    plain_done,
    plain_said,
    plain_saved,
    plain_thread,
    plain_turn,
)
from thalweg.cli.thread.text import (
    tell_context,
    tell_done,
    tell_history,
    tell_threads,
    tell_turn,
    tell_turns,
)
from thalweg.cli.values import as_range, bounded
from thalweg.engine.transcript import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadOptions(GroupOptions):
    """The threads that a command is about."""

    archive: str | None = None
    """A file or a database; the usual place by default."""
    owner: str = "local"


class ThreadGroup(SharedOptions):
    """The commands on threads."""

    unused: ClassVar = {"export": ("as_json",)}


def _options(
    ctx: typer.Context,
    *,
    archive: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The archive: a file or a database. Default: thalweg.db in the folder "
            "THALWEG_HOME, or in .thalweg here.",
            show_default=False,
        ),
    ] = None,
    owner: Annotated[str, typer.Option(metavar="NAME", help="Whose threads.")] = "local",
    as_json: AsJson = False,
) -> None:
    """Store the options of the group, which may be before or after the name of a command."""
    ctx.obj = ThreadOptions(archive=archive, owner=owner, as_json=as_json)


@contextmanager
def _opened(ctx: typer.Context, name: str) -> Iterator[tuple[Archive, ThreadKey]]:
    """Open the archive of a command, and find a thread in it."""
    options = ctx.ensure_object(ThreadOptions)
    with open_existing(options.archive) as archive:
        yield archive, find_thread(archive, options.owner, name)


thread = command_group(
    name="thread",
    cls=ThreadGroup,
    callback=_options,
    help="Show the requests of a thread, search and export it, undo a compaction, rewind. A turn "
    "is named by its number in `thalweg thread show ID`, a message by its position (#12).",
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Name of the thread (`thread_id`).")]
Turn = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of a turn. Default: the newest.",
        show_default=False,
        callback=bounded,
    ),
]
Words = Annotated[str, typer.Argument(metavar="WORDS", help="The user's words, exactly; quoted.")]
Position = Annotated[
    int,
    typer.Argument(metavar="POSITION", help="Of the user's message: 12.", callback=bounded),
]


@thread.command("list", short_help="List the threads.")
def list_threads(ctx: typer.Context) -> None:
    """List the threads of an owner, oldest first: messages, turns, tokens of the last request."""
    options = ctx.ensure_object(ThreadOptions)
    with open_existing(options.archive) as archive:
        known = known_threads(archive, options.owner)
    plain = {"threads": [plain_thread(one) for one in known]}
    nothing = f"Owner {printable(options.owner)} has no threads here."
    respond(ctx, tell_threads(known) if known else (), plain, nothing=nothing)


@thread.command(short_help="Show the turns of a thread, or the request of one turn.")
def show(
    ctx: typer.Context,
    name: Id,
    *,
    turn: Turn = None,
    context: Annotated[
        bool, typer.Option("--context", help="Print the whole request of the turn, verbatim.")
    ] = False,
) -> None:
    """Show the turns of a thread: size, limit, what the provider reported, what was edited.

    Below a compaction are its predicted savings, and its savings so far.
    With --turn, one of them by section; with --context, the very messages that were sent, made
    again from the archive.
    """
    with _opened(ctx, name) as (archive, key):
        taken = turns(archive, key)
        saved = saved_so_far(archive, key, taken)
        if turn is None and not context:
            told = [plain_turn(one, saved.lines.get(one.number)) for one in taken]
            plain = {"thread": name, "turns": told, **plain_saved(saved)}
            respond(ctx, tell_turns(taken, saved), plain)
            return
        made = context_at(archive, key, turn)
    shown, saving = taken[made.turn], saved.lines.get(made.turn)
    sent = plain_context(made) if context else {}
    lines = [*tell_turn(made, shown.usage, saving), *(tell_context(made) if context else ())]
    respond(ctx, lines, {"thread": name, **plain_turn(shown, saving), **sent})


@thread.command("history", short_help="Print the messages of a thread, verbatim.")
def print_history(
    ctx: typer.Context,
    name: Id,
    *,
    turn: Turn = None,
    abandoned: Annotated[
        bool,
        typer.Option("--abandoned", help="Include messages that a rewind abandoned, marked x."),
    ] = False,
) -> None:
    """Print the messages of a thread with their positions, compacted ones included."""
    with _opened(ctx, name) as (archive, key):
        said = history(archive, key, turn, abandoned=abandoned)
    plain = {"thread": name, "messages": [plain_said(one) for one in said]}
    respond(ctx, tell_history(said), plain)


@thread.command(short_help="Find messages by words.")
def search(
    ctx: typer.Context,
    name: Id,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="A question or some words, any language.")
    ],
    *,
    abandoned: Annotated[
        bool, typer.Option("--abandoned", help="Search messages that a rewind abandoned, too.")
    ] = False,
) -> None:
    """Find passages of a thread by words, best first: what `recall` finds for the agent.

    With --abandoned, also what no longer belongs to the thread, which `recall` never returns.
    """
    with _opened(ctx, name) as (archive, key):
        within = None if abandoned else line_at(archive, key).spans
        found = archive.search(key, " ".join(words), within=within)
    fields = ("position", "speaker", "about", "start", "text")
    passages = [{field: getattr(one, field) for field in fields} for one in found]
    lines = [printable(render_passages(found))] if found else []
    plain = {"thread": name, "passages": passages}
    respond(ctx, lines, plain, nothing="No message of this thread has these words.")


@thread.command(short_help="Read the content of a reference.")
def read(
    ctx: typer.Context,
    name: Id,
    handle: Annotated[
        str,
        typer.Argument(
            metavar="HANDLE", help="A reference as shown in a context: HANDLE or HANDLE#12."
        ),
    ],
    *,
    lines: Annotated[str, typer.Option(metavar="A-B", help="Lines, from 1, both included.")] = "",
    chars: Annotated[
        str, typer.Option(metavar="A-B", help="Characters, from 0, the end excluded.")
    ] = "",
    path: Annotated[str, typer.Option(metavar="P", help="A JSONPath into a JSON text.")] = "",
) -> None:
    """Read what a handle names: a message, or a stretch of the thread."""
    with _opened(ctx, name) as (archive, key):
        reading = archive.read(
            key,
            handle,
            lines=as_range("--lines", lines),
            chars=as_range("--chars", chars),
            path=path,
            max_chars=sys.maxsize,
        )
    fields = ("text", "start", "total_chars", "total_lines")
    plain = {field: getattr(reading, field) for field in fields}
    respond(ctx, [printable(reading.text)], plain)


@thread.command("export", short_help="Write a whole thread to a file.")
def export_thread(
    ctx: typer.Context,
    name: Id,
    *,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"One of {', '.join(FORMATS)}. jsonl keeps everything, and `thalweg replay` "
            "reads it; openai and anthropic are the body of a request.",
        ),
    ] = "jsonl",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to. Default: print it.", show_default=False),
    ] = None,
    turn: Turn = None,
) -> None:
    """Write a whole thread as it is now, system prompt and media included, nothing compacted."""
    with _opened(ctx, name) as (archive, key):
        pieces = export(archive, key, check_format(form), turn)
    if output is None:
        sys.stdout.writelines(pieces)
    else:
        write_to(output, pieces, archive=ctx.ensure_object(ThreadOptions).archive)


@thread.command("undo", short_help="Undo a compaction.")
def undo_compaction(
    ctx: typer.Context,
    name: Id,
    *,
    turn: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The turn that compacted. Default: the newest.",
            show_default=False,
            callback=bounded,
        ),
    ] = None,
) -> None:
    """Undo a compaction: the next request shows again what it folded, as far as it fits.

    What does not fit is compacted again at once. Do it while the agent rests.
    """
    with _opened(ctx, name) as (archive, key):
        done = undo(archive, key, turn)
    respond(ctx, [tell_done("undo", done)], plain_done(done))


@thread.command("rewind", short_help="Go back to a turn.")
def rewind_thread(
    ctx: typer.Context,
    name: Id,
    *,
    turn: Annotated[
        int, typer.Option(metavar="N", help="The turn to go back to.", callback=bounded)
    ],
) -> None:
    """Go back: the thread is again as it was when a turn was asked, before its answer.

    Later messages are kept in the archive (`thread history ID --abandoned`), and out of every
    request. Do it while the agent rests.
    """
    with _opened(ctx, name) as (archive, key):
        done = rewind(archive, key, turn)
    respond(ctx, [tell_done("rewind", done)], plain_done(done))


@thread.command("pin", short_help="Pin words of the user: keep them in every request.")
def pin_words(
    ctx: typer.Context,
    name: Id,
    position: Position,
    words: Words,
) -> None:
    """Keep words of the user verbatim in every request, however often it is compacted."""
    with _opened(ctx, name) as (archive, key):
        done = pin(archive, key, position, words)
    respond(ctx, [tell_done("pin", done)], plain_done(done))


@thread.command("unpin", short_help="Unpin words.")
def unpin_words(
    ctx: typer.Context,
    name: Id,
    position: Position,
    words: Words,
) -> None:
    """Let go of words that were pinned."""
    with _opened(ctx, name) as (archive, key):
        done = unpin(archive, key, position, words)
    respond(ctx, [tell_done("unpin", done)], plain_done(done))


@thread.command(short_help="Delete a thread, with its checkpoints.")
def delete(
    ctx: typer.Context,
    name: Id,
    *,
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Delete the thread there, too: the file of a SqliteSaver, or postgresql://… of a "
            "PostgresSaver.",
        ),
    ] = "",
    yes: Yes = False,
) -> None:
    """Delete a thread with its subagents' threads, and erase their bytes; nothing brings it back.

    With --checkpoints, a thread that only one of both still has is deleted, too: after an
    interruption, run the command again.
    """
    from thalweg.cli.thread.checkpoints import (  # noqa: PLC0415 (LangGraph)
        holds_thread,
        opened_checkpoints,
    )
    from thalweg.middleware.turn.thread_deletion import delete_thread  # noqa: PLC0415 (LangGraph)

    options = ctx.ensure_object(ThreadOptions)
    with opened_checkpoints(checkpoints) as saver, open_existing(options.archive) as archive:
        own = own_threads(archive, options.owner, name)
        if not own and (saver is None or not holds_thread(saver, name)):
            find_thread(archive, options.owner, name)  # raises what there is
        messages = sum(archive.length(ThreadKey(options.owner, one)) for one in own)
        question = f"Delete thread {printable(name)} with {messages:,} messages?"
        confirm(question, "to delete the thread", yes=yes, refused="Nothing was deleted.")
        done = delete_thread(name, checkpointer=saver, archive=archive, owner=options.owner)
    lines = [f"Deleted; {done.freed_bytes:,} bytes freed.", *(f"Left: {one}" for one in done.left)]
    plain = {"thread": name, "freed_bytes": done.freed_bytes, "left": [*done.left]}
    respond(ctx, lines, plain)
