"""`thalweg thread`: what a thread was sent, what was done to it, and doing it by hand."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg.archive import Archive, ThreadKey, open_existing, render_passages
from thalweg.cli.asking import Yes, agrees
from thalweg.cli.numbers import as_range, bounded
from thalweg.cli.printing import AsJson, print_json, print_lines, tell
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
from thalweg.threads.contexts import context_at
from thalweg.threads.finding import find_thread, known_threads
from thalweg.threads.hand import Done, pin, rewind, undo, unpin
from thalweg.threads.savings import saved_so_far
from thalweg.threads.thread_export import FORMATS, check_format, export, write_to
from thalweg.threads.thread_history import history, line_at, turns
from thalweg.transcript import printable

thread = typer.Typer(
    name="thread",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="See what a thread was sent, search and export it, undo a compaction, rewind. A turn is "
    "named by its number in `thalweg thread show ID`, a message by its position (#12).",
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Name of the thread (`thread_id`).")]
Place = Annotated[
    str | None,
    typer.Option(
        "--archive",
        metavar="ADDRESS",
        help="The archive: a file or a database. Default: thalweg.db in the folder THALWEG_HOME, "
        "or in .thalweg here.",
        show_default=False,
    ),
]
Owner = Annotated[str, typer.Option(metavar="NAME", help="Whose threads.")]
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
def list_threads(*, archive: Place = None, owner: Owner = "local", as_json: AsJson = False) -> None:
    """List the threads of an owner, oldest first: messages, turns, tokens of the last request."""
    with open_existing(archive) as opened:
        known = known_threads(opened, owner)
    if as_json:
        print_json({"threads": [plain_thread(one) for one in known]})
    elif known:
        print_lines(tell_threads(known, None))
    else:
        sys.stderr.write(f"Owner {printable(owner)} has no threads here.\n")


@thread.command(short_help="Show the turns of a thread, or what one of them sent.")
def show(
    name: Id,
    *,
    turn: Turn = None,
    context: Annotated[
        bool, typer.Option("--context", help="Print all that the turn sent, word for word.")
    ] = False,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Show the turns of a thread: size, limit, what the provider reported, what was edited.

    Under what was folded stands what that was predicted to save, and what it has saved so far.
    With --turn, one of them by section; with --context, the very messages that were sent, made
    again from the archive.
    """
    with open_existing(archive) as opened:
        key = find_thread(opened, owner, name)
        taken = turns(opened, key)
        saved = saved_so_far(opened, key, taken)
        if turn is None and not context:
            if as_json:
                told = [plain_turn(one, saved.lines.get(one.number)) for one in taken]
                print_json({"thread": name, "turns": told, **plain_saved(saved)})
            else:
                print_lines(tell_turns(taken, None, saved))
            return
        made = context_at(opened, key, turn)
    shown, saving = taken[made.turn], saved.lines.get(made.turn)
    if as_json:
        sent = plain_context(made) if context else {}
        print_json({"thread": name, **plain_turn(shown, saving), **sent})
        return
    print_lines(tell_turn(made, shown.usage, None, saving))
    if context:
        print_lines(tell_context(made))


@thread.command("history", short_help="Print the messages of a thread, word for word.")
def print_history(
    name: Id,
    *,
    turn: Turn = None,
    abandoned: Annotated[
        bool, typer.Option("--abandoned", help="Also what a rewind left behind, marked x.")
    ] = False,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Print the messages of a thread with their positions, whatever was compacted since."""
    with open_existing(archive) as opened:
        key = find_thread(opened, owner, name)
        said = history(opened, key, turn, abandoned=abandoned)
    if as_json:
        print_json({"thread": name, "messages": [plain_said(one) for one in said]})
    else:
        print_lines(tell_history(said))


@thread.command(short_help="Find messages by words.")
def search(
    name: Id,
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="A question or some words, any language.")
    ],
    *,
    abandoned: Annotated[
        bool, typer.Option("--abandoned", help="Also in what a rewind left behind.")
    ] = False,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Find passages of a thread by words, best first: what `recall` finds for the agent.

    With --abandoned, also what no longer belongs to the thread, which `recall` never tells.
    """
    with open_existing(archive) as opened:
        key = find_thread(opened, owner, name)
        within = None if abandoned else line_at(opened, key).spans
        found = opened.search(key, " ".join(words), within=within)
    if as_json:
        fields = ("position", "speaker", "about", "start", "text")
        passages = [{field: getattr(one, field) for field in fields} for one in found]
        print_json({"thread": name, "passages": passages})
    elif found:
        print_lines([printable(render_passages(found))])
    else:
        sys.stderr.write("Nothing in this thread has these words.\n")


@thread.command(short_help="Read what a handle names.")
def read(
    name: Id,
    handle: Annotated[
        str, typer.Argument(metavar="HANDLE", help="As a context shows it: HANDLE or HANDLE#12.")
    ],
    *,
    lines: Annotated[str, typer.Option(metavar="A-B", help="Lines, from 1, both included.")] = "",
    chars: Annotated[
        str, typer.Option(metavar="A-B", help="Characters, from 0, the end excluded.")
    ] = "",
    path: Annotated[str, typer.Option(metavar="P", help="A JSONPath into a JSON text.")] = "",
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Read what a handle names: a message, or a stretch of the thread."""
    with open_existing(archive) as opened:
        reading = opened.read(
            find_thread(opened, owner, name),
            handle,
            lines=as_range("--lines", lines),
            chars=as_range("--chars", chars),
            path=path,
            max_chars=sys.maxsize,
        )
    if as_json:
        fields = ("text", "start", "total_chars", "total_lines")
        print_json({field: getattr(reading, field) for field in fields})
    else:
        print_lines([printable(reading.text)])


@thread.command("export", short_help="Write a whole thread to a file.")
def export_thread(
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
    archive: Place = None,
    owner: Owner = "local",
) -> None:
    """Write a whole thread as it stands, system prompt and media included, nothing folded."""
    with open_existing(archive) as opened:
        pieces = export(opened, find_thread(opened, owner, name), check_format(form), turn)
    if output is None:
        sys.stdout.writelines(pieces)
    else:
        write_to(output, pieces, archive=archive)


@thread.command("undo", short_help="Undo a compaction.")
def undo_compaction(
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
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Undo a compaction: the next request shows again what it folded, as far as it fits.

    What does not fit is compacted again at once. Do it while the agent rests.
    """
    with open_existing(archive) as opened:
        done = undo(opened, find_thread(opened, owner, name), turn)
    _print_done("undo", done, as_json=as_json)


@thread.command("rewind", short_help="Go back to a turn.")
def rewind_thread(
    name: Id,
    *,
    turn: Annotated[
        int, typer.Option(metavar="N", help="The turn to go back to.", callback=bounded)
    ],
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Go back: the thread stands as it was when a turn was asked, before its answer.

    What was said later stays in the archive (`thread history ID --abandoned`), and out of every
    request. Do it while the agent rests.
    """
    with open_existing(archive) as opened:
        done = rewind(opened, find_thread(opened, owner, name), turn)
    _print_done("rewind", done, as_json=as_json)


@thread.command("pin", short_help="Keep words of the user in every request.")
def pin_words(
    name: Id,
    position: Position,
    words: Words,
    *,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Keep words of the user verbatim in every request, however often it is compacted."""
    with open_existing(archive) as opened:
        done = pin(opened, find_thread(opened, owner, name), position, words)
    _print_done("pin", done, as_json=as_json)


@thread.command("unpin", short_help="Let go of pinned words.")
def unpin_words(
    name: Id,
    position: Position,
    words: Words,
    *,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Let go of words that were pinned."""
    with open_existing(archive) as opened:
        done = unpin(opened, find_thread(opened, owner, name), position, words)
    _print_done("unpin", done, as_json=as_json)


@thread.command(short_help="Delete a thread.")
def delete(
    name: Id,
    *,
    yes: Yes = False,
    archive: Place = None,
    owner: Owner = "local",
) -> None:
    """Delete a thread with all its messages and turns; nothing brings it back."""
    with open_existing(archive) as opened:
        key = find_thread(opened, owner, name)
        if not yes and not _agrees(opened, key):
            sys.stderr.write("Nothing was deleted.\n")
            raise typer.Exit(2)
        opened.delete(key)
        freed = opened.prune()
    print_lines([f"Deleted; {freed:,} bytes freed."])


def _agrees(opened: Archive, key: ThreadKey) -> bool:
    question = f"Delete thread {printable(key.thread)} with {opened.length(key):,} messages?"
    return agrees(question, "to delete the thread")


def _print_done(kind: str, done: Done, *, as_json: bool) -> None:
    tell([tell_done(kind, done)], plain_done(done), as_json=as_json)
