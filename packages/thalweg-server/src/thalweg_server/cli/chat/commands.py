"""Commands of a chat: their names, their arguments and their calls of the client."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, get_args

from thalweg.cli.printing import columns
from thalweg.database.private_files import open_private
from thalweg.errors import ConfigError
from thalweg_server.api.threads import Done
from thalweg_server.cli.chat import text
from thalweg_server.cli.chat.lines import PrintedLine
from thalweg_server.cli.chat.status import Status
from thalweg_server.client import ThalwegClient
from thalweg_server.client.runs import MemoryMode

MODES: tuple[MemoryMode, ...] = get_args(MemoryMode)
_PAGE = 20


class CommandContext(Protocol):
    """Context of a command: the client and the state of the chat."""

    client: ThalwegClient
    status: Status
    is_over: bool

    def confirm(self, question: str) -> bool:
        """Ask whether something that cannot be undone is to be done."""
        ...

    def turn_to(self, thread: str) -> list[PrintedLine]:
        """Go to another thread; an empty name begins a new one."""
        ...


Work = Callable[[CommandContext, str], list[PrintedLine]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a person can type.

    Attributes:
        takes: Its arguments, as `/help` shows them.
        about: Its effect, in one sentence.
    """

    name: str
    takes: str
    about: str
    work: Work


def perform(line: str, context: CommandContext) -> list[PrintedLine]:
    """Perform a command.

    Raises:
        ThalwegError: The gateway refused it.
    """
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    if (command := COMMANDS.get(name.lower())) is None:
        near = difflib.get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.5)
        meant = f"did you mean /{near[0]}?" if near else "/help lists the commands"
        return text.printed(f"there is no /{name}; {meant}", kind="failure")
    return command.work(context, rest.strip())


def _help(context: CommandContext, rest: str) -> list[PrintedLine]:
    del context, rest
    rows = [(f"/{each.name} {each.takes}", each.about) for each in COMMANDS.values()]
    keys = "Enter sends, Alt-Enter begins a new line, Ctrl-C stops an answer, Ctrl-D quits."
    return text.printed(*columns(rows), keys)


def _compact(context: CommandContext, rest: str) -> list[PrintedLine]:
    del rest
    done = context.client.compact_thread(context.status.thread)
    lines = _changed(context, "compacted", done)
    used = f"{done.tokens:,} of {done.limit:,} tokens are used"
    return lines if done.changed else text.printed(f"nothing to compact: {used}")


def _changed(context: CommandContext, what: str, done: Done) -> list[PrintedLine]:
    context.status = replace(context.status, tokens=done.tokens, limit=done.limit)
    return text.done(what, done)


def _context(context: CommandContext, rest: str) -> list[PrintedLine]:
    thread = context.status.thread
    if rest == "edits":
        return text.decisions(context.client.list_turns(thread, edits_only=True)) or text.printed(
            "there was no compaction yet"
        )
    if rest == "next":
        return text.context(context.client.get_context(thread, next=True))
    turn = int(rest) if rest.isdecimal() else None
    request = context.client.get_context(thread, turn=turn)
    if turn is not None or not rest:
        return text.context(request)
    known = ("next", "system", "tools", "messages", *request.sections)
    if rest not in known:
        near = difflib.get_close_matches(rest, known, n=1, cutoff=0.4)
        meant = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        return text.printed(f"the context has no section {rest!r}; {meant}", kind="failure")
    return text.section(request, rest)


def _memory(context: CommandContext, rest: str) -> list[PrintedLine]:
    first, _, words = rest.partition(" ")
    if first == "forget" and words.strip():
        return _forget(context, words.strip())
    for mode in MODES:
        if rest == mode:
            context.status = replace(context.status, memory=mode)
            return text.printed(f"memory is {mode} for what you ask from now on", kind="memory")
    if rest:
        return text.recall(
            context.client.search_memory(words.strip() if first == "search" else rest)
        )
    return text.memory(context.client.get_memory())


def _forget(context: CommandContext, words: str) -> list[PrintedLine]:
    if not context.confirm(f"Permanently delete everything in memory that contains {words!r}?"):
        return text.printed("nothing was deleted")
    return text.forgotten(context.client.forget_memory(words=words))


def _undo(context: CommandContext, rest: str) -> list[PrintedLine]:
    del rest
    done = context.client.undo_compaction(context.status.thread)
    return _changed(context, f"the compaction of turn {done.about} is undone", done)


def _rewind(context: CommandContext, rest: str) -> list[PrintedLine]:
    if not rest.isdecimal():
        raise ConfigError("/rewind", f"{rest!r} is no number", "/context names the turn")
    done = context.client.rewind_thread(context.status.thread, int(rest))
    return _changed(context, f"back at turn {done.about}", done)


def _model(context: CommandContext, rest: str) -> list[PrintedLine]:
    if not rest:
        return text.models(context.client.list_models(), context.status.model)
    if ":" not in rest:  # else it may be one that no settings name
        context.client.get_model(rest)
    context.status = replace(context.status, model=rest, chosen_model=rest)
    return text.printed(f"{rest} answers from now on")


def _threads(context: CommandContext, rest: str) -> list[PrintedLine]:
    listed = context.client.list_threads(limit=_PAGE, words=rest or None)
    return text.threads(listed, context.status.thread)


def _thread(context: CommandContext, rest: str) -> list[PrintedLine]:
    if not rest:
        return text.printed(
            f"this is thread {context.status.thread}; /thread ID switches to another"
        )
    context.client.get_thread(rest)
    return context.turn_to(rest)


def _branch(context: CommandContext, rest: str) -> list[PrintedLine]:
    turn = int(rest) if rest.isdecimal() else None
    branch = context.client.branch_thread(context.status.thread, turn=turn)
    return [*text.printed(f"this is thread {branch.id} now"), *context.turn_to(branch.id)]


def _new(context: CommandContext, rest: str) -> list[PrintedLine]:
    del rest
    return context.turn_to("")


def _history(context: CommandContext, rest: str) -> list[PrintedLine]:
    most = int(rest) if rest.isdecimal() else _PAGE
    return text.history(context.client.get_history(context.status.thread, limit=most))


def _usage(context: CommandContext, rest: str) -> list[PrintedLine]:
    del rest
    return text.usage(context.client.get_thread_usage(context.status.thread))


def _upload(context: CommandContext, rest: str) -> list[PrintedLine]:
    path = Path(rest.strip("'\"")).expanduser()
    if not rest or not path.is_file():
        raise ConfigError("/upload", f"there is no file {rest!r}", "name one: /upload report.pdf")
    return text.uploads(context.client.upload_file(context.status.thread, path))


def _files(context: CommandContext, rest: str) -> list[PrintedLine]:
    del rest
    thread = context.status.thread
    sent = text.uploads(context.client.list_uploads(thread))
    return [*sent, *text.artifacts(context.client.list_artifacts(thread))]


def _export(context: CommandContext, rest: str) -> list[PrintedLine]:
    name = re.sub(r"[^\w.-]", "_", context.status.thread)
    path = Path(rest.strip("'\"") or f"{name}.jsonl").expanduser()
    if path.exists() and not context.confirm(f"{path} exists. Overwrite it?"):
        return text.printed("nothing was written")
    with open(path, "w", encoding="utf-8", opener=open_private) as file:
        file.write(context.client.export_thread(context.status.thread))
    return text.printed(f"written to {path}")


def _quit(context: CommandContext, rest: str) -> list[PrintedLine]:
    del rest
    context.is_over = True
    return []


COMMANDS: Mapping[str, Command] = {
    each.name: each
    for each in (
        Command("help", "", "show this", _help),
        Command("compact", "", "compact the context now; nothing is lost", _compact),
        Command(
            "context", "[SECTION|TURN|next|edits]", "show the newest request, or another", _context
        ),
        Command("memory", "[WORDS|forget WORDS|MODE]", "show, search or forget", _memory),
        Command("undo", "", "undo the newest compaction", _undo),
        Command("rewind", "TURN", "go back to an earlier state of the thread", _rewind),
        Command("model", "[NAME]", "show the models, or change the one that answers", _model),
        Command("threads", "[WORDS]", "list threads", _threads),
        Command("thread", "ID", "switch to another thread", _thread),
        Command("new", "", "begin a new thread", _new),
        Command("branch", "[TURN]", "begin a thread with the messages of this one", _branch),
        Command("history", "[COUNT]", "show the messages", _history),
        Command("usage", "", "show tokens and money", _usage),
        Command("cost", "", "the same", _usage),
        Command("upload", "PATH", "send a file to the agent", _upload),
        Command("files", "", "list files sent and made", _files),
        Command("export", "[PATH]", "write the thread to a file", _export),
        Command("quit", "", "quit; the thread is kept", _quit),
    )
}
