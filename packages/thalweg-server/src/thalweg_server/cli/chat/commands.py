"""Commands of a chat, and those that print something of its thread or of memory."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from thalweg.cli.printing import count, one_line, table
from thalweg.errors import ConfigError
from thalweg_server.api.threads import Context, Done, HistoryItem
from thalweg_server.client import ThalwegClient

_PAGE = 20


def _context(client: ThalwegClient, thread: str, rest: str) -> Iterator[str]:
    turn = int(rest) if rest.isdecimal() else None
    if rest not in {"", "next"} and turn is None:
        fix = "name a turn, or next; `thalweg thread show` has every message and edit"
        raise ConfigError("/context", f"{rest!r} is no turn", fix)
    request = client.get_context(thread, turn=turn, next=rest == "next")
    name = "the next request" if request.turn is None else f"turn {request.turn}"
    yield f"{name}, {request.model}: {request.tokens:,} of {request.limit:,} tokens"
    yield from table(_sections(request))
    yield f"{count(len(request.messages), 'message')}, {count(len(request.tools), 'tool')}"


def _sections(request: Context) -> Iterator[tuple[str, str, str]]:
    sizes = sorted(request.sections.items(), key=lambda pair: -pair[1])
    most = max(request.sections.values(), default=0) or 1
    for part, tokens in sizes:
        if tokens:
            yield part, f"{tokens:,}".rjust(9), "█" * round(24 * tokens / most)
    yield "free", f"{max(0, request.limit - request.tokens):,}".rjust(9), ""
    for one in request.additions:
        place = "system prompt" if one.position is None else f"before #{one.position}"
        yield f"+ {one.part}", f"{one.tokens:,}".rjust(9), f"{place} {one.about}".rstrip()


def _compact(client: ThalwegClient, thread: str, _: str) -> Iterator[str]:
    done = client.compact_thread(thread)
    yield _done("compacted" if done.changed else "nothing to compact", done)


def _undo(client: ThalwegClient, thread: str, _: str) -> Iterator[str]:
    done = client.undo_compaction(thread)
    yield _done(f"the compaction of turn {done.about} is undone", done)


def _rewind(client: ThalwegClient, thread: str, rest: str) -> Iterator[str]:
    if not rest.isdecimal():
        raise ConfigError("/rewind", f"{rest!r} is no number", "/context names the turn")
    done = client.rewind_thread(thread, int(rest))
    yield _done(f"back at turn {done.about}", done)


def _done(did: str, done: Done) -> str:
    return f"{did}: {done.tokens:,} of {done.limit:,} tokens are used"


def memory_lines(client: ThalwegClient, words: str) -> Iterator[str]:
    """Yield all of memory, or what it recalls for some words."""
    if words:
        found = client.search_memory(words).items
        rows = [(f"{one.score:.2f}", one.kind, " ".join(one.content.split())) for one in found]
        yield from table(rows) or ["memory has nothing on that"]
        return
    document = client.get_memory()
    for part in (document["userContext"], document["history"]):
        for name, value in part.items():
            if text := value.get("summary") if isinstance(value, dict) else value:
                yield f"{name}: {text}"
    facts = [(one["id"], one["category"], one["content"]) for one in document["facts"]]
    yield from table(facts) or ["no fact is remembered yet"]


def _threads(client: ThalwegClient, thread: str, rest: str) -> Iterator[str]:
    yield from table(
        (
            "*" if one.id == thread else " ",
            one.id,
            f"{one.updated.astimezone():%Y-%m-%d %H:%M}",
            one_line(one.title, 60),
        )
        for one in client.list_threads(limit=_PAGE, words=rest or None).items
    )
    yield "/thread ID changes to one of them"


def _upload(client: ThalwegClient, thread: str, rest: str) -> Iterator[str]:
    path = Path(rest.strip("'\"")).expanduser()
    if not rest or not path.is_file():
        raise ConfigError("/upload", f"there is no file {rest!r}", "name one: /upload report.pdf")
    for file in client.upload_file(thread, path).items:
        yield f"{file.path}  {file.size:,} bytes  {file.note}".rstrip()


def new_thread() -> str:
    """Return an id that people can distinguish: the time at which the thread began."""
    return f"chat-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def last_exchange(items: Sequence[HistoryItem]) -> Iterator[str]:
    """Yield the newest question and the newest answer to it."""
    questions = [k for k, item in enumerate(items) if item.message.role == "user"]
    for k in questions[-1:]:
        yield f"> {items[k].message.text}\n"
        answers = [one.message.text for one in items[k:] if one.message.role == "assistant"]
        yield from [text for text in answers if text.strip()][-1:]


Listing = Callable[[ThalwegClient, str, str], Iterable[str]]
"""Yields lines for the client, the thread and the arguments."""
COMMANDS: Mapping[str, tuple[str, str, Listing | None]] = {
    "context": ("[TURN|next]", "show the newest request by parts, or another one", _context),
    "compact": ("", "compact the context now; it can be undone", _compact),
    "undo": ("", "undo the newest compaction", _undo),
    "retry": ("", "repeat a question that failed or was stopped", None),
    "rewind": ("TURN", "go back to an earlier state of the thread", _rewind),
    "memory": ("[WORDS|forget WORDS|MODE]", "show or search memory, forget, or set its mode", None),
    "model": ("[NAME]", "show the models, or change the one that answers", None),
    "threads": ("[WORDS]", "list threads", _threads),
    "thread": ("ID", "change to another thread", None),
    "new": ("", "begin a new thread", None),
    "branch": ("[TURN]", "begin a thread with the messages of this one", None),
    "upload": ("PATH", "send a file to the agent", _upload),
    "help": ("", "show this", None),
    "quit": ("", "quit; the thread is kept", None),
}
"""By name: arguments, effect, and what it prints; `ChatSession` performs the others."""
