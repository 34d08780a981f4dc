"""Output of a chat: the text of an answer as it arrives, everything else on lines of its own."""

import queue
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TextIO

from thalweg.cli.printing import cell_width, count, one_line, terminal_width
from thalweg.engine.transcript import printable
from thalweg.errors import NoSuchRunError, ThalwegError
from thalweg_server.api.events import (
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    Notice,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SubagentEvent,
    ThinkingDelta,
    ToolCompleted,
    ToolStarted,
)
from thalweg_server.client import BlockingStream, ThalwegClient

SILENCE_S = 15.0
"""Without an event before it is reported; then after twice as long each time."""
_POLL_S = 0.1
Kind = Literal["", "answer", "thinking", "note", "question", "error"]
_ARGUMENTS_CHARS = 80
_RESULT_CHARS = 100
_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_FENCE = "```"


class Printer:
    r"""Writes streamed texts and lines; a blank line separates texts of two kinds.

    Example:
        >>> import io
        >>> out = io.StringIO()
        >>> printer = Printer(out)
        >>> printer.write("Hel", "answer")
        >>> printer.write("lo.\n\n", "answer")
        >>> printer.line("0 tokens")
        >>> printer.end_line()
        >>> out.getvalue()
        'Hello.\n\n0 tokens\n'
    """

    def __init__(self, out: TextIO, *, dims: bool = False) -> None:
        """Prepare it.

        Args:
            out: The terminal, or any file.
            dims: Whether notes and thinking are written dim.
        """
        self._out = out
        self._dims = dims
        self.begin()

    def begin(self) -> None:
        """Note that a person's input was written since, which ended its line."""
        self._kind: Kind = ""
        self._is_open = False
        self._held = ""
        """Line feeds that are written only before more text."""
        self._column, self._is_code, self._head = 0, False, ""

    def _wrapped(self, text: str) -> str:
        """Return a text with line feeds before words that do not fit, but for lines of code."""
        if (width := terminal_width(self._out)) is None:
            return text
        parts = []
        may_break = False
        for part in _TOKEN.findall(text):
            ends_row = not self._is_code and self._column + cell_width(part) > width
            if part == "\n" or (part.isspace() and ends_row):  # it would begin the next row
                part = "\n"  # noqa: PLW2901
                self._column, self._head = 0, ""
            else:
                head = (self._head + part).lstrip()[: len(_FENCE)]
                if head == _FENCE != self._head:
                    self._is_code = not self._is_code
                elif may_break and ends_row:
                    parts.append("\n")
                    self._column = 0
                self._column += cell_width(part)
                self._head = head
            may_break = part.isspace() and self._column > 0
            parts.append(part)
        return "".join(parts)

    def write(self, text: str, kind: Kind) -> None:
        """Write a part of a text; characters that control a terminal are escaped."""
        if kind != self._kind:
            self.end_line()
            text = text.lstrip("\n")
            self._kind, self._held = kind, "\n" if self._kind else ""
        if body := text.rstrip("\n"):
            shown = self._wrapped(printable(self._held + body))
            is_dim = self._dims and kind in {"thinking", "note"}
            self._out.write(f"\x1b[2m{shown}\x1b[0m" if is_dim else shown)
            self._out.flush()
            self._is_open, self._held = True, ""
        self._held += text[len(body) :]

    def line(self, text: str) -> None:
        """Write a line, or several."""
        if text:
            self.write(f"{text}\n", "note")

    def error(self, text: str) -> None:
        """Write why something failed."""
        self.write(f"error: {text}\n", "error")

    def end_line(self) -> None:
        """End the line; whatever is written next begins another one."""
        if self._is_open:
            self._out.write("\n")
            self._out.flush()
        self._is_open, self._held, self._column, self._is_code = False, "", 0, False
        self._head = ""


class RunPrinter:
    """Writes the events of one run.

    Attributes:
        model: The model that answers.
        end: The last event, once the run has ended.
        tools: The names of the tools that run, by call.
        has_output: Whether the agent answered or acted.
    """

    def __init__(self, printer: Printer, model: str = "") -> None:
        self.model = model
        self.end: RunCompleted | RunInterrupted | RunFailed | RunCancelled | None = None
        self.tools: dict[str, str] = {}
        self.has_output = False
        self._printer = printer
        self._message = ""
        self._is_shown = False

    def handle(self, event: Event) -> None:
        """Write an event."""
        printer = self._printer
        match event:
            case RunStarted():
                self.model = event.model or self.model
            case RunResumed():
                printer.line(f"· the process crashed; another continues (attempt {event.attempt})")
            case SubagentEvent() if event.kind != "task_running":
                status = event.kind.removeprefix("task_").replace("_", " ")
                error = one_line(str(event.detail.get("error") or ""), _RESULT_CHARS)
                printer.line(f"· subagent {event.subagent} {status} {error}".rstrip())
            case ContextChanged():
                printer.line(f"· {compaction(event)}")
            case Notice():
                printer.line(notice(event))
            case RunCompleted() | RunInterrupted() | RunFailed() | RunCancelled():
                self.end = event
            case ToolStarted() | ToolCompleted():
                self._handle_tool(event)
            case _:
                self._handle_message(event)

    def _handle_message(self, event: Event) -> None:
        """Write a part of an answer of the agent itself."""
        match event:
            case MessageStarted(caller=""):
                self._message, self._is_shown = event.message, False
            case ThinkingDelta() if event.message == self._message:
                self._printer.write(event.text, "thinking")
            case MessageDelta(text=text) | MessageCompleted(text=text) if (
                text and event.message == self._message
            ):
                if not (self._is_shown and isinstance(event, MessageCompleted)):
                    self._is_shown = self.has_output = True
                    self._printer.write(text, "answer")
            case MessageWithdrawn() if event.message == self._message and self._is_shown:
                self._printer.line("· this answer was broken off")

    def _handle_tool(self, event: ToolStarted | ToolCompleted) -> None:
        """Write a call or its result; a subagent's own calls are not shown."""
        self.has_output = True
        name = one_line(event.name, _ARGUMENTS_CHARS)
        if isinstance(event, ToolStarted):
            self.tools[event.call] = name
            text = f"· {name} {one_line(event.arguments, _ARGUMENTS_CHARS)}"
        else:
            self.tools.pop(event.call, None)
            mark = "✗" if event.is_error else "→"
            text = f"  {mark} {name}: {one_line(event.text, _RESULT_CHARS)}"
        if not event.caller:
            self._printer.line(text)


def follow(
    client: ThalwegClient, stream: BlockingStream, run: RunPrinter, notes: Printer
) -> RunPrinter:
    """Write a run up to its end. The first Ctrl-C cancels it, a second one leaves it running.

    Args:
        client: The client of the gateway.
        stream: The run's events.
        run: Writes them.
        notes: Writes that nothing was received for a long time.

    Raises:
        ThalwegError: The events do not arrive any more.
    """
    events = _received(stream)
    last, patience_s, is_cancelled = time.monotonic(), SILENCE_S, False
    with _counted_interrupts() as interrupts:
        while True:
            if interrupts and is_cancelled:
                stream.close()
                notes.line("it continues in the background; --continue returns to it")
                return run
            if interrupts:
                interrupts.clear()
                is_cancelled = True
                try:
                    client.cancel_run(stream.thread, stream.run)
                except NoSuchRunError:
                    stream.close()  # it did not start
            try:
                event = events.get(timeout=_POLL_S)
                if event is None:
                    return run
                if isinstance(event, ThalwegError):
                    raise event
                last, patience_s = time.monotonic(), SILENCE_S
                run.handle(event)
            except queue.Empty:
                if (silent_s := time.monotonic() - last) >= patience_s:
                    patience_s *= 2
                    tools = ", ".join(run.tools.values())
                    cause = (
                        f"{tools} not finished" if tools else f"nothing received from {run.model}"
                    )
                    notes.line(f"{cause} for {silent_s:.0f} s; Ctrl-C stops")
                    notes.end_line()


@contextmanager
def _counted_interrupts() -> Iterator[list[int]]:
    """Collect each Ctrl-C: an exception wherever the program happens to be may be lost there."""
    interrupts: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, former)


def _received(stream: BlockingStream) -> "queue.SimpleQueue[Event | ThalwegError | None]":
    """Read a stream in a thread of its own, so that Ctrl-C and silence interrupt no reading.

    Returns:
        Its events, then the error that ended it, or `None`.
    """
    events: queue.SimpleQueue[Event | ThalwegError | None] = queue.SimpleQueue()

    def read() -> None:
        end: ThalwegError | None = None
        try:
            for numbered in stream:
                events.put(numbered.event)
        except ThalwegError as error:
            end = error
        finally:
            events.put(end)

    threading.Thread(target=read, daemon=True).start()
    return events


def compaction(event: ContextChanged) -> str:
    """Describe a compaction, with its reasons.

    Example:
        >>> compaction(
        ...     ContextChanged(
        ...         turn=9,
        ...         tokens_before=12_000,
        ...         tokens_after=4_500,
        ...         limit=16_000,
        ...         reasons=("75% of the window",),
        ...         detail={"edits": [{"kind": "fold"}, {"kind": "evict"}, {"kind": "evict"}]},
        ...     )
        ... )
        'context 12,000 → 4,500 of 16,000 tokens (1 fold, 2 evict): 75% of the window'
    """
    kinds = [str(edit.get("kind")) for edit in event.detail.get("edits") or ()]
    made = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    whose = "a subagent's context" if event.detail.get("caller") else "context"
    sizes = f"{event.tokens_before:,} → {event.tokens_after:,} of {event.limit:,} tokens"
    reasons = ": " + "; ".join(event.reasons) if event.reasons else ""
    return f"{whose} {sizes}{f' ({made})' if made else ''}{reasons}"


def notice(event: Notice) -> str:
    """Return the line of an event of memory or of a tool; empty if it has none."""
    detail = event.detail
    match event.kind:
        case "thalweg.memory.told":
            facts, turns = len(detail.get("facts") or ()), detail.get("turns") or 0
            recalled = f"{count(facts, 'fact')} and {count(turns, 'earlier turn')}"
            tokens = f"{detail.get('tokens', 0):,} tokens"
            return f"· memory recalled {recalled} ({tokens})" if facts or turns else ""
        case "thalweg.memory.review":
            waiting = detail.get("waiting") or len(detail.get("facts") or ())
            return f"· memory has {count(waiting, 'fact')} to review: thalweg memory review"
        case "thalweg.memory.failed":
            return f"· memory is unavailable in this run: {detail.get('problem', 'it failed')}"
    words = detail.get("note") or detail.get("message") or detail.get("text")
    return f"· {one_line(words, 2 * _RESULT_CHARS)}" if isinstance(words, str) and words else ""


def money(amount: float | None, currency: str) -> str:
    """Format an amount; `None` is that of calls without a published price.

    Example:
        >>> money(0.00042, "USD"), money(None, "USD")
        ('0.0004 USD', 'price unknown')
    """
    return "price unknown" if amount is None else f"{amount:,.4f} {currency}"
