"""Answers of a gateway as lines of a chat: threads, messages, turns, memory, money."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial

from thalweg.cli.printing import columns, count, one_line
from thalweg_server.api.catalogue import Models
from thalweg_server.api.files import Artifacts, Uploads
from thalweg_server.api.memory import Forgotten, Recall
from thalweg_server.api.threads import (
    Context,
    Done,
    History,
    HistoryItem,
    Message,
    Threads,
    Turn,
    Turns,
)
from thalweg_server.api.usage import ThreadUsage, Usage
from thalweg_server.cli.chat.approvals import Action
from thalweg_server.cli.chat.lines import Kind, PrintedLine
from thalweg_server.cli.chat.status import NO_PRICE, money

_TEXT_CHARS = 2_000
_BAR = 24
_USUAL_WORDS = "Tool execution requires approval"
_short = partial(one_line, max_chars=60)


def printed(*rows: str, kind: Kind = "note") -> list[PrintedLine]:
    """Make one line of some rows."""
    return [PrintedLine(kind, "\n".join(rows))] if rows else []


def models(listed: Models, current: str) -> list[PrintedLine]:
    """List models; the one that answers is marked."""
    rows = [
        (
            "*" if model.name == current or (not current and model.is_default) else " ",
            model.name,
            f"{model.window:,} tokens" if model.window else "",
            model.display_name or model.description,
        )
        for model in listed.items
    ]
    return printed(*columns(rows)) or printed("no model is configured")


def threads(listed: Threads, current: str) -> list[PrintedLine]:
    """List threads, the newest first; the one that is open is marked."""
    rows = [
        (
            "*" if thread.id == current else " ",
            thread.id,
            _when(thread.updated),
            count(thread.model_calls, "model call"),
            _short(thread.title) + (" (running)" if thread.run else ""),
        )
        for thread in listed.items
    ]
    return printed(*columns(rows)) or printed("no thread yet")


def history(stretch: History) -> list[PrintedLine]:
    """List the messages, oldest first."""
    before = printed("… there is more before it") if stretch.before else []
    return [*before, *(line for item in stretch.items for line in _item(item))]


def last_exchange(stretch: History) -> list[PrintedLine]:
    """Show the newest question and its answer, when a chat is resumed."""
    user_indices = [k for k, item in enumerate(stretch.items) if item.message.role == "user"]
    exchange = stretch.items[user_indices[-1] :] if user_indices else ()
    spoken = [item for item in exchange if item.message.role == "user" or item.message.text.strip()]
    ends = [*spoken[:1], *(item for item in spoken[-1:] if item.message.role == "assistant")]
    return [line for item in ends for line in _item(item)]


def _item(item: HistoryItem) -> Iterator[PrintedLine]:
    message = item.message
    gone = "(left behind) " if item.is_abandoned else ""
    text = _whole(message.text.strip())
    if message.role == "assistant":
        if text:
            yield PrintedLine("answer", gone + text)
        for call in message.tool_calls:
            yield PrintedLine("tool", f"  {gone}{call.name}({_short(call.arguments)})")
    elif message.role == "tool":
        mark = "✗" if message.is_error else "✓"
        yield PrintedLine("failure" if message.is_error else "tool", f"  {mark} {_short(text)}")
    elif text:
        mark = "> " if message.role == "user" else "system: "
        yield PrintedLine("note", f"#{item.position} {gone}{mark}{text}")


def context(request: Context) -> list[PrintedLine]:
    """Show the sections of a request."""
    name = "the next request" if request.turn is None else f"turn {request.turn}"
    head = (
        f"{name}, {request.model}: {request.tokens:,} of {request.limit:,} tokens "
        f"(the window has {request.window:,})"
    )
    most = max(request.sections.values(), default=0)
    rows = columns(
        (name, f"{tokens:,}".rjust(9), "█" * round(_BAR * tokens / most) if most else "")
        for name, tokens in sorted(request.sections.items(), key=lambda pair: -pair[1])
        if tokens
    )
    additions = columns(
        (
            one.part,
            f"{one.tokens:,}".rjust(9),
            "system prompt" if one.position is None else f"before #{one.position}",
            one.about,
        )
        for one in request.additions
    )
    listed = ["besides messages and tools:", *additions] if additions else []
    more = "/context NAME shows one of them, /context TURN an earlier request"
    return printed(
        head,
        *rows,
        *listed,
        f"{count(len(request.messages), 'message')}, {count(len(request.tools), 'tool')}; {more}",
    )


def section(request: Context, name: str) -> list[PrintedLine]:
    """Show one section of a request in full."""
    if name == "system":
        return printed(request.system or "there is no system prompt")
    if name == "tools":
        rows = [
            (str(tool.get("name", "")), _short(str(tool.get("description", ""))))
            for tool in map(_described, request.tools)
        ]
        return printed(*columns(rows)) or printed("there are no tools")
    lines = [line for message in request.messages for line in _message(message)]
    return lines or printed("there are no messages")


def _message(message: Message) -> Iterator[PrintedLine]:
    calls = "; ".join(f"{call.name}({_short(call.arguments)})" for call in message.tool_calls)
    text = " ".join(part for part in (_whole(message.text.strip()), calls) if part)
    yield PrintedLine("note", f"{message.role}: {text}")


def _described(tool: Mapping[str, object]) -> Mapping[str, object]:
    """Return the part of a tool's schema that has its name, in either form."""
    inner = tool.get("function")
    return inner if isinstance(inner, dict) else tool


def turn(one: Turn) -> list[PrintedLine]:
    """Show the decisions before one request, or of one event."""
    name = one.kind if one.turn is None else f"turn {one.turn}"
    head = f"{name}, {one.tokens:,} of {one.limit:,} tokens"
    rows = columns(
        (
            edit.kind,
            f"#{edit.position}",
            f"{edit.tokens_before:,} → {edit.tokens_after:,}",
            edit.reason,
        )
        for edit in one.edits
    )
    return printed(head, *rows)


def decisions(listed: Turns) -> list[PrintedLine]:
    """List every turn with a decision."""
    return [line for one in listed.items if one.edits for line in turn(one)]


def memory(document: Mapping[str, object]) -> list[PrintedLine]:
    """Render the remembered facts."""
    facts = document.get("facts")
    rows = [
        (str(fact.get("id", "")), str(fact.get("category", "")), str(fact.get("content", "")))
        for fact in (facts if isinstance(facts, list) else [])
        if isinstance(fact, dict)
    ]
    profile = [*_sections(document.get("userContext")), *_sections(document.get("history"))]
    nothing = printed("nothing is remembered yet") if not (rows or profile) else []
    return [*printed(*profile), *printed(*columns(rows), kind="memory"), *nothing]


def _sections(part: object) -> Iterator[str]:
    for name, value in part.items() if isinstance(part, dict) else ():
        text = value.get("summary") if isinstance(value, dict) else value
        if text:
            yield f"{name}: {text}"


def recall(found: Recall) -> list[PrintedLine]:
    """Show what memory recalls for some words."""
    rows = [
        (
            f"{item.score:.2f}",
            item.kind,
            "told" if item.is_told else "not told",
            " ".join(item.content.split()),
        )
        for item in found.items
    ]
    return printed(*columns(rows), kind="memory") or printed("memory has nothing on that")


def forgotten(done: Forgotten) -> list[PrintedLine]:
    """Render the report of a deletion."""
    return printed(
        f"deleted for good: {count(done.facts, 'fact')}, {count(done.turns, 'turn')}", kind="memory"
    )


def usage(spent: ThreadUsage) -> list[PrintedLine]:
    """Render the usage of a thread, by the caller of the model."""
    rows: list[tuple[str, ...]] = [("", "calls", "in", "cached", "out", "cost")]
    rows += [_spent(name, use) for name, use in spent.callers.items()]
    rows.append(_spent("in all", spent.total))
    return printed(*columns(rows), *_saved(spent.saved or 0.0, spent.total.currency))


def _saved(amount: float, currency: str) -> list[str]:
    if not amount:
        return []
    if amount > 0:
        return [f"compaction has saved {money(amount, currency)}"]
    return [f"compaction has cost {money(-amount, currency)} more than it saved so far"]


def _spent(name: str, use: Usage) -> tuple[str, ...]:
    cost = NO_PRICE if use.cost is None else money(use.cost, use.currency)
    numbers = (use.calls, use.input_tokens, use.cached_tokens, use.output_tokens)
    return (name, *(f"{number:,}" for number in numbers), cost)


def done(what: str, result: Done) -> list[PrintedLine]:
    """Report a manual operation on the thread."""
    return printed(f"{what}: {result.tokens:,} of {result.limit:,} tokens now", kind="context")


def uploads(sent: Uploads) -> list[PrintedLine]:
    """List the files that the agent can read."""
    rows = [(file.path, _size(file.size), file.media_type, file.note) for file in sent.items]
    return printed(*columns(rows)) or printed("no file was sent to this thread")


def artifacts(made: Artifacts) -> list[PrintedLine]:
    """List the files that the agent made."""
    rows = [(file.path, _size(file.size), _when(file.modified)) for file in made.files]
    more = ["… and more"] if made.truncated else []
    return printed(*columns(rows), *more) or printed("the agent has made no file")


def question(action: Action) -> list[PrintedLine]:
    """Show an action of the agent in full: a person has to judge it."""
    given = [f"  {name}: {_value(value)}" for name, value in action.arguments.items()]
    description = action.description.strip()
    # LangChain's own words repeat the call; only those of whoever set the tool up tell more.
    about = [f"  {description}"] if description and not description.startswith(_USUAL_WORDS) else []
    return printed(f"The agent asks to call {action.name}", *given, *about, kind="failure")


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("\n", "\n    ")


def _size(count: int) -> str:
    return f"{count:,} bytes"


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _whole(text: str) -> str:
    cut = f"… and {len(text) - _TEXT_CHARS:,} characters more"
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}\n{cut}"
