"""`thalweg thread`: commands that show, search, export, change and delete threads."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thalweg.archive import Archive, ThreadKey, open_existing, render_passages
from thalweg.archive.base import SUBAGENT_SEPARATOR, caller_id
from thalweg.archive.threads.contexts import context_at, next_context
from thalweg.archive.threads.finding import (
    find_thread,
    known_threads,
    own_threads,
    subagent_threads,
)
from thalweg.archive.threads.operations import pin, rewind, undo, unpin
from thalweg.archive.threads.savings import compute_savings
from thalweg.archive.threads.thread_export import FORMATS, check_format, export, write_to
from thalweg.archive.threads.thread_history import branch_at, history, turns
from thalweg.cli.confirmation import confirm
from thalweg.cli.parsing import AS_JSON, CommandGroup, argument
from thalweg.cli.printing import fold, print_result
from thalweg.cli.thread.text import (
    plain_context,
    plain_logged_message,
    plain_operation,
    plain_savings,
    plain_thread,
    plain_turn,
    render_context,
    render_history,
    render_next,
    render_operation,
    render_threads,
    render_turn,
    render_turns,
)
from thalweg.cli.values import as_range, whole_number
from thalweg.database.erasure import COPIES_ELSEWHERE
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError

thread = CommandGroup(
    "Show the requests of a thread, search and export it, undo a compaction, rewind. A turn "
    "is one model call, numbered from 1 in `thalweg thread show ID`; a message is named by its "
    "position (#12).",
    argument(
        "--archive",
        metavar="ADDRESS",
        help="The archive: a file or a database. Default: thalweg.db in the folder "
        "THALWEG_HOME, or in .thalweg here.",
    ),
    argument("--owner", metavar="NAME", default="local", help="Whose threads. Default: local."),
    AS_JSON,
)
_ID = argument("name", metavar="ID", help="Name of the thread (`thread_id`).")
_TURN = argument(
    "--turn",
    metavar="N",
    type=whole_number("--turn"),
    help="Number of a turn. Default: the thread as it is now.",
)
_OFF = argument("--off", action="store_true", help="Unpin them.")
_SHOWN = {
    "HANDLE": ("--lines", "--chars", "--path"),
    "--messages": ("--messages", "--turn", "--abandoned"),
    "--next": ("--next", "--context"),
    "": ("--turn", "--context"),
}
"""Options of `thread show` by the thing that they show."""
_WORDS = argument("words", metavar="WORDS", help="The user's words, exactly; quoted.")
_POSITION = argument(
    "position",
    metavar="POSITION",
    type=whole_number("POSITION"),
    help="Of the user's message: 12.",
)


@contextmanager
def _open_thread(options: Namespace) -> Iterator[tuple[Archive, ThreadKey]]:
    """Open the archive of a command, and find its thread in it."""
    with open_existing(options.archive) as archive:
        yield archive, find_thread(archive, options.owner, options.name)


def _respond(
    options: Namespace, lines: Iterable[str], json_value: dict[str, Any], *, empty_message: str = ""
) -> None:
    """Print the result of a command; see `print_result`."""
    print_result(lines, json_value, as_json=options.as_json, empty_message=empty_message)


@thread.command("list", "List the threads.")
def list_threads(options: Namespace) -> None:
    """List the threads of an owner, oldest first: messages, turns, tokens of the last request."""
    with open_existing(options.archive) as archive:
        threads = known_threads(archive, options.owner)
    json_value = {"threads": [plain_thread(overview) for overview in threads]}
    empty_message = f"Owner {printable(options.owner)} has no threads here."
    _respond(
        options, render_threads(threads) if threads else (), json_value, empty_message=empty_message
    )


@thread.command(
    "show",
    "Show the turns of a thread, one turn, its messages, or a reference.",
    _ID,
    argument(
        "handle",
        metavar="HANDLE",
        nargs="?",
        help="Print what this reference names, as a context shows it: HANDLE or HANDLE#12.",
    ),
    argument(
        "--turn",
        metavar="N",
        type=whole_number("--turn"),
        help="Number of a turn. Default: all; with --context, the newest request.",
    ),
    argument(
        "--next", action="store_true", help="What the next request begins with, before its message."
    ),
    argument(
        "--context", action="store_true", help="Print the whole request of the turn, verbatim."
    ),
    argument(
        "--messages",
        action="store_true",
        help="Print the messages, verbatim, with their positions, compacted ones included.",
    ),
    argument(
        "--abandoned",
        action="store_true",
        help="With --messages: those that a rewind abandoned, too, marked x.",
    ),
    argument("--lines", metavar="A-B", default="", help="Of HANDLE: lines, from 1, both included."),
    argument(
        "--chars", metavar="A-B", default="", help="Of HANDLE: characters, from 0, end excluded."
    ),
    argument("--path", metavar="P", default="", help="Of HANDLE: a JSONPath into a JSON text."),
)
def show(options: Namespace) -> None:
    """Show the turns of a thread: size, limit, the usage reported by the provider, edits.

    Below a compaction are its predicted savings, and its savings so far. Other records of the
    journal have no number. With --turn, one turn by section; with --context, the exact messages
    that were sent, rebuilt from the archive; with --next, the thread as it would be sent now;
    with --messages, the messages of the thread; with HANDLE, the content of a reference.

    Raises:
        ConfigError: Two options name different things to show, or one has no effect.
    """
    _validate_shown(options)
    with _open_thread(options) as (archive, key):
        if options.handle:
            _print_reference(options, archive, key)
        elif options.messages:
            _print_messages(options, archive, key)
        else:
            _print_turns(options, archive, key)


def _validate_shown(options: Namespace) -> None:
    """Validate that each option of `thread show` belongs to the one thing to show."""
    subjects = {"HANDLE": options.handle, "--messages": options.messages, "--next": options.next}
    subject = next((name for name, value in subjects.items() if value), "")
    for allowed_with, names in _SHOWN.items():
        for name in names if allowed_with != subject else ():
            value = getattr(options, name.removeprefix("--"))
            is_given = value not in {None, ""} and value is not False
            if is_given and name not in _SHOWN[subject]:
                if subject:
                    raise ConfigError(name, f"it has no effect with {subject}", "leave it out")
                fix = f"pass {allowed_with}, too, or leave it out"
                raise ConfigError(name, f"it needs {allowed_with}", fix)


def _print_messages(options: Namespace, archive: Archive, key: ThreadKey) -> None:
    messages = history(archive, key, options.turn, abandoned=options.abandoned)
    plain = [plain_logged_message(logged) for logged in messages]
    _respond(options, render_history(messages), {"thread": options.name, "messages": plain})


def _print_reference(options: Namespace, archive: Archive, key: ThreadKey) -> None:
    reading = archive.read(
        key,
        options.handle,
        lines=as_range("--lines", options.lines),
        chars=as_range("--chars", options.chars),
        path=options.path,
        max_chars=sys.maxsize,
    )
    fields = ("text", "start", "total_chars", "total_lines")
    json_value = {field: getattr(reading, field) for field in fields}
    _respond(options, [printable(reading.text)], json_value)


def _print_turns(options: Namespace, archive: Archive, key: ThreadKey) -> None:
    all_turns = turns(archive, key)
    saved = compute_savings(archive, key, all_turns)
    if options.next:
        turn_context = next_context(archive, key)
        lines = [
            *render_next(turn_context),
            *(render_context(turn_context) if options.context else ()),
        ]
        _respond(options, lines, {"thread": options.name, **plain_context(turn_context)})
        return
    if options.turn is None and not options.context:
        turn_objects = [
            plain_turn(listed_turn, saved.lines.get(listed_turn.record))
            for listed_turn in all_turns
        ]
        json_value = {"thread": options.name, "turns": turn_objects, **plain_savings(saved)}
        _respond(options, render_turns(all_turns, saved), json_value)
        return
    turn_context = context_at(archive, key, options.turn)
    shown_turn = next(
        listed_turn for listed_turn in all_turns if listed_turn.turn == turn_context.turn
    )
    saving = saved.lines.get(shown_turn.record)
    json_context = plain_context(turn_context) if options.context else {}
    lines = [
        *render_turn(turn_context, shown_turn.usage, saving, before=shown_turn.before),
        *(render_context(turn_context) if options.context else ()),
    ]
    _respond(
        options, lines, {"thread": options.name, **plain_turn(shown_turn, saving), **json_context}
    )


@thread.command(
    "search",
    "Find messages by words.",
    _ID,
    argument("words", metavar="WORDS", nargs="+", help="A question or some words, any language."),
    argument(
        "--abandoned",
        action="store_true",
        help="Search messages that a rewind abandoned, too.",
    ),
)
def search(options: Namespace) -> None:
    """Find passages of a thread by words, best first: what `recall` finds for the agent.

    With --abandoned, also what no longer belongs to the thread, which `recall` never returns.
    """
    with _open_thread(options) as (archive, key):
        within = None if options.abandoned else branch_at(archive, key).spans
        hits = archive.search(key, " ".join(options.words), within=within)
    fields = ("position", "speaker", "about", "start", "text")
    passages = [{field: getattr(hit, field) for field in fields} for hit in hits]
    lines = [printable(render_passages(hits))] if hits else []
    json_value = {"thread": options.name, "passages": passages}
    _respond(options, lines, json_value, empty_message="No message of this thread has these words.")


@thread.command(
    "export",
    "Write a whole thread to a file.",
    _ID,
    argument(
        "--format",
        dest="form",
        metavar="NAME",
        default="jsonl",
        help=f"One of {', '.join(FORMATS)}. Default: jsonl, which keeps everything, and "
        "`thalweg replay` reads it; openai is the body of a request.",
    ),
    argument("--output", metavar="FILE", type=Path, help="Where to. Default: print it."),
    _TURN,
    unused=("--json",),
)
def export_thread(options: Namespace) -> None:
    """Write a whole thread as it is now, system prompt and media included, nothing compacted."""
    with _open_thread(options) as (archive, key):
        pieces = export(archive, key, check_format(options.form), options.turn)
    if options.output is None:
        sys.stdout.writelines(pieces)
    else:
        write_to(options.output, pieces, archive=options.archive)


@thread.command(
    "undo",
    "Undo a compaction.",
    _ID,
    argument(
        "--turn",
        metavar="N",
        type=whole_number("--turn"),
        help="The turn that compacted; of a manual compaction, the first after it. Default: the "
        "newest compaction.",
    ),
)
def undo_compaction(options: Namespace) -> None:
    """Undo a compaction: the next request shows the folded messages again, as far as they fit.

    Messages that do not fit are compacted again at once. Run it while the agent is idle.
    """
    with _open_thread(options) as (archive, key):
        result = undo(archive, key, options.turn)
    _respond(options, fold(render_operation("undo", result)), plain_operation(result))


@thread.command(
    "rewind",
    "Go back to a turn.",
    _ID,
    argument(
        "--turn",
        metavar="N",
        type=whole_number("--turn"),
        required=True,
        help="The turn to go back to.",
    ),
)
def rewind_thread(options: Namespace) -> None:
    """Go back: the thread is again as it was when a turn was asked, before its answer.

    Later messages are kept in the archive (`thread show ID --messages --abandoned`), and out of
    every request. Run it while the agent is idle.
    """
    with _open_thread(options) as (archive, key):
        result = rewind(archive, key, options.turn)
    _respond(options, fold(render_operation("rewind", result)), plain_operation(result))


@thread.command("pin", "Keep words of the user in every request.", _ID, _POSITION, _WORDS, _OFF)
def pin_words(options: Namespace) -> None:
    """Keep words of the user verbatim in every request, however often it is compacted."""
    change = unpin if options.off else pin
    with _open_thread(options) as (archive, key):
        result = change(archive, key, options.position, options.words)
    _respond(options, fold(render_operation(change.__name__, result)), plain_operation(result))


@thread.command(
    "delete",
    "Delete a thread, with its checkpoints.",
    _ID,
    argument(
        "--checkpoints",
        metavar="ADDRESS",
        default="",
        help="Delete the thread there, too: the file of a SqliteSaver, or postgresql://… of a "
        "PostgresSaver.",
    ),
    argument("--yes", action="store_true", help="Do not ask."),
)
def delete(options: Namespace) -> None:
    """Delete a thread with its subagents' threads, and erase their bytes; nothing brings it back.

    With --checkpoints, a thread that only one of both still has is deleted, too: after an
    interruption, run the command again.
    """
    from thalweg.cli.thread.checkpoints import (  # noqa: PLC0415 (LangGraph)
        holds_thread,
        opened_checkpoints,
    )
    from thalweg.context.turn.effects import run  # noqa: PLC0415 (LangGraph)
    from thalweg.context.turn.thread_deletion import (  # noqa: PLC0415 (LangGraph)
        delete_checkpoints,
        thread_deletion,
    )

    name, owner = options.name, options.owner
    with (
        opened_checkpoints(options.checkpoints) as saver,
        open_existing(options.archive) as archive,
    ):
        is_listed = name in archive.threads(owner)
        thread_id = caller_id(name) if is_listed else name
        # Of a subagent, or of a thread without an id, only the listed name is there.
        subagents = [name] if is_listed and SUBAGENT_SEPARATOR in name else None
        thread_names = (
            own_threads(archive, owner, thread_id)
            if subagents is None
            else subagent_threads(archive, owner, subagents)
        )
        if not thread_names and (saver is None or not holds_thread(saver, name)):
            find_thread(archive, owner, name)  # raises what there is
        messages = sum(archive.length(ThreadKey(owner, one)) for one in thread_names)
        question = f"Delete thread {printable(name)} with {messages:,} messages?"
        confirm(
            question, "to delete the thread", yes=options.yes, refusal_text="Nothing was deleted."
        )
        deletion = run(thread_deletion(thread_id, saver, archive, owner, subagents))
        left = [*deletion.left]
        if subagents:
            left += [*(delete_checkpoints(saver, ()) if saver else ())]  # rewrites its file
            left += [*filter(None, [archive.erase()]), COPIES_ELSEWHERE]
    lines = [
        f"Deleted; {deletion.freed_bytes:,} bytes freed.",
        *(f"Left: {one}" for one in left),
    ]
    json_value = {"thread": name, "freed_bytes": deletion.freed_bytes, "left": left}
    _respond(options, lines, json_value)
