"""A run's events as lines of a chat: permanent lines, and lines that change meanwhile.

Nothing here writes output: events go in, lines come out. A Markdown text that is still being
written is cut into blocks; a finished block becomes permanent lines.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from thalweg.cli.printing import count, one_line
from thalweg.engine.transcript import printable
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
    UsageReported,
)
from thalweg_server.api.threads import Question
from thalweg_server.cli.chat.lines import PrintedLine
from thalweg_server.cli.chat.status import Status

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])\s")
_INDENTED = re.compile(r"(\t| {2,})")
_ARGUMENTS_CHARS = 80
_RESULT_CHARS = 100


class BlockSplitter:
    r"""Splits a text that arrives in pieces into blocks; returns each when it is complete.

    A paragraph, a list, a table or a code block is one block. The blocks do not depend
    on how the text was cut into pieces: it is parsed line by line.

    Example:
        >>> blocks = BlockSplitter()
        >>> blocks.feed("One.\n\nTw"), blocks.rest
        (['One.'], 'Tw')
        >>> blocks.feed("o.\n"), blocks.end()
        ([], ['Two.'])
    """

    def __init__(self) -> None:
        self._begun = ""
        self._lines: list[str] = []
        self._fence = ""

    @property
    def rest(self) -> str:
        """The unfinished text."""
        return "\n".join([*self._lines, self._begun])

    def feed(self, text: str) -> list[str]:
        """Add a piece of the text; return the blocks that it completes."""
        *whole, self._begun = (self._begun + text).split("\n")
        return [block for line in whole for block in self._line(line.removesuffix("\r"))]

    def end(self) -> list[str]:
        """Return the remaining block at the end of the text."""
        blocks = self._line(self._begun)
        self._begun, self._fence = "", ""
        return [*blocks, *self._cut()]

    def _line(self, line: str) -> list[str]:
        if self._fence:
            self._lines.append(line)
            if line.strip().startswith(self._fence) and not line.strip(" \t`~"):
                self._fence = ""
                return [] if self._is_list else self._cut()
            return []
        if not line.strip():
            # A list may go on behind an empty line; nothing else does.
            if self._is_list:
                self._lines.append("")
                return []
            return self._cut()
        finished = self._cut() if self._begins_a_block(line) else []
        if found := _FENCE.match(line):
            self._fence = found[1]
        self._lines.append(line)
        return finished

    @property
    def _is_list(self) -> bool:
        return bool(self._lines) and _ITEM.match(self._lines[0]) is not None

    def _begins_a_block(self, line: str) -> bool:
        if not self._lines:
            return False
        if _HEADING.match(line) or _HEADING.match(self._lines[0]):
            return True
        if self._is_list:
            goes_on = _ITEM.match(line) or _INDENTED.match(line)
            return self._lines[-1] == "" and not goes_on
        return _FENCE.match(line) is not None

    def _cut(self) -> list[str]:
        block = "\n".join(self._lines).rstrip("\n")
        self._lines = []
        return [block] if block.strip() else []


@dataclass(slots=True)
class _RunningTool:
    """A tool that has not answered, or a subagent that is at work."""

    name: str
    arguments: str
    caller: str
    subagent: str = ""
    news: str = ""


class EventRenderer:
    """Converts the events of one run.

    Attributes:
        status: The current values of the status line.
        questions: Questions of the agent, once the run is interrupted.
    """

    def __init__(self, status: Status) -> None:
        self.status = status
        self.questions: tuple[Question, ...] = ()
        self._message = ""
        self._text = ""
        self._is_broken_off = False
        self._thinking = ""
        self._blocks = BlockSplitter()
        self._tools: dict[str, _RunningTool] = {}

    def handle(self, event: Event) -> list[PrintedLine]:
        """Apply an event; return the permanent lines that it adds."""
        match event:
            case MessageStarted() | MessageDelta() | MessageCompleted() | MessageWithdrawn():
                return self._handle_message(event)
            case ThinkingDelta():
                self._thinking += event.text
            case ToolStarted() | ToolCompleted() | SubagentEvent():
                return self._handle_tool(event)
            case UsageReported():
                self.status = replace(
                    self.status, now=event.total, tokens=event.tokens, limit=event.limit
                )
            case ContextChanged():
                return self._flushed([PrintedLine("context", compaction(event))])
            case Notice():
                return self._flushed(notice(event))
            case _:
                return self._handle_run(event)
        return []

    def now(self) -> list[PrintedLine]:
        """Return the lines that are replaced after the next event."""
        lines = [PrintedLine("answer", self._blocks.rest)] if self._blocks.rest.strip() else []
        if self._thinking and not lines and not self._tools:
            words = printable(" ".join(self._thinking.split()))
            lines = [PrintedLine("thinking", f"thinking: …{words[-_RESULT_CHARS:]}")]
        for tool in self._tools.values():
            lines.append(_at_work(tool))
        return lines

    # -- messages --------------------------------------------------------------------------

    def _handle_message(
        self, event: MessageStarted | MessageDelta | MessageCompleted | MessageWithdrawn
    ) -> list[PrintedLine]:
        match event:
            case MessageStarted():
                if event.caller:
                    return []
                again = [PrintedLine("note", "that answer was interrupted; it starts again")]
                lines = self._flushed(again if self._is_broken_off else [])
                self._message, self._text, self._is_broken_off = event.message, "", False
                return lines
            case _ if event.message != self._message:
                return []
            case MessageDelta():
                self._thinking = ""
                self._text += event.text
                return _answers(self._blocks.feed(event.text))
            case MessageCompleted():
                missing = event.text[len(self._text) :] if not self._text else ""
                lines = _answers(self._blocks.feed(missing))
                self._message, self._thinking = "", ""
                return [*lines, *self._flushed([])]
            case MessageWithdrawn():
                # Said when another begins: none does where the run ends here.
                self._is_broken_off = bool(self._text.strip())
                self._message, self._thinking = "", ""
                return self._flushed([])

    def _flushed(self, lines: list[PrintedLine]) -> list[PrintedLine]:
        """End the block that is being written, so that the next line follows it."""
        return [*_answers(self._blocks.end()), *lines]

    # -- tools and subagents ---------------------------------------------------------------

    def _handle_tool(self, event: ToolStarted | ToolCompleted | SubagentEvent) -> list[PrintedLine]:
        match event:
            case ToolStarted():
                arguments = _arguments(event.arguments)
                self._tools[event.call] = _RunningTool(_name(event.name), arguments, event.caller)
                return self._flushed([])
            case SubagentEvent():
                return self._handle_subagent(event)
            case ToolCompleted():
                tool = self._tools.pop(
                    event.call, _RunningTool(_name(event.name), "", event.caller)
                )
                if tool.subagent or event.caller:
                    return []  # the subagent's own line tells it
                return self._flushed([_done(tool, event)])

    def _handle_subagent(self, event: SubagentEvent) -> list[PrintedLine]:
        tool = self._tools.setdefault(event.task, _RunningTool("task", "", ""))
        tool.subagent = _name(event.subagent) or "subagent"
        tool.news = _figures(event.detail)
        if event.kind in {"task_started", "task_running"}:
            return []
        ended = event.kind.removeprefix("task_").replace("_", " ")
        kind, mark = ("subagent", "✓") if ended == "completed" else ("failure", "✗")
        text = f"{mark} {tool.subagent} {ended}"
        return self._flushed(
            [PrintedLine(kind, f"{text}: {tool.news}" if tool.news else text)]  # type: ignore[arg-type]  # one of two kinds
        )

    # -- the run ---------------------------------------------------------------------------

    def _handle_run(self, event: Event) -> list[PrintedLine]:
        lines: list[PrintedLine] = []
        match event:
            case RunStarted():
                self.status = replace(self.status, model=event.model or self.status.model)
                return []
            case RunResumed():
                note = f"the process crashed; another one continues (attempt {event.attempt})"
                return self._flushed([PrintedLine("note", note)])
            case RunCompleted():
                self.status = replace(self.status, now=event.usage)
            case RunInterrupted():
                self.questions = event.questions
            case RunCancelled():
                lines = [PrintedLine("note", "stopped; the thread is as after its last step")]
            case RunFailed():
                detail = event.problem.detail or event.problem.title
                lines = [PrintedLine("error", printable(detail))]
        return self._ended(lines)

    def _ended(self, lines: list[PrintedLine]) -> list[PrintedLine]:
        flushed = self._flushed(lines)
        self._message, self._thinking = "", ""
        self._tools.clear()
        return flushed


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
    edits = event.detail.get("edits")
    kinds = [str(edit.get("kind")) for edit in edits] if isinstance(edits, list) else []
    made = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    what = f" ({made})" if made else ""
    why = "; ".join(event.reasons)
    sizes = f"{event.tokens_before:,} → {event.tokens_after:,} of {event.limit:,} tokens"
    whose = "a subagent's context" if event.detail.get("caller") else "context"
    note = str(event.detail.get("note") or "")
    summary = f"{whose} {sizes}{what}" + (f": {why}" if why else "")
    return printable(f"{summary}; {note}" if note else summary)


def notice(event: Notice) -> list[PrintedLine]:
    """Return the line for another event, if it has one."""
    detail = event.detail
    match event.kind:
        case "thalweg.memory.told":
            facts, turns = len(detail.get("facts") or ()), detail.get("turns") or 0
            if not (facts or turns):
                return []
            what = " and ".join(
                part for part in (_many(facts, "fact"), _many(turns, "earlier turn")) if part
            )
            text = f"memory told {what} in {detail.get('tokens', 0):,} tokens"
            return [PrintedLine("memory", text)]
        case "thalweg.memory.review":
            new, waiting = len(detail.get("facts") or ()), detail.get("waiting") or 0
            what = (
                f"{_many(new, 'new fact')} of {waiting:,}" if new < waiting else _many(new, "fact")
            )
            return [PrintedLine("memory", f"{what} to review: thalweg memory review")]
        case "thalweg.memory.failed":
            problem = detail.get("problem", "it failed")
            text = printable(f"memory is unavailable in this run: {problem}")
            return [PrintedLine("failure", text)]
    words = detail.get("note") or detail.get("message") or detail.get("text")
    if isinstance(words, str) and words:
        return [PrintedLine("note", one_line(words, 2 * _RESULT_CHARS))]
    return []


def _answers(blocks: list[str]) -> list[PrintedLine]:
    return [PrintedLine("answer", block) for block in blocks]


def _at_work(tool: _RunningTool) -> PrintedLine:
    depth = 1 if tool.caller else 0
    if tool.subagent:
        text = f"{tool.subagent}: {tool.news}" if tool.news else f"{tool.subagent} begins"
        return PrintedLine("subagent", f"… {text}", depth)
    return PrintedLine("tool", f"… {_named(tool)}", depth)


def _done(tool: _RunningTool, event: ToolCompleted) -> PrintedLine:
    result = one_line(event.text, _RESULT_CHARS)
    text = f"{_named(tool)}: {result}" if result else _named(tool)
    mark, kind = ("✗", "failure") if event.is_error else ("✓", "tool")
    return PrintedLine(kind, printable(f"{mark} {text}"))  # type: ignore[arg-type]  # one of two kinds


def _named(tool: _RunningTool) -> str:
    return printable(f"{tool.name}({tool.arguments})")


def _name(name: str) -> str:
    return one_line(name, _ARGUMENTS_CHARS)


def _arguments(written: str) -> str:
    """Format the arguments of a tool on one line: `path=/a.txt, lines=3`."""
    try:
        given = json.loads(written)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return one_line(written, _ARGUMENTS_CHARS)
    parts = (
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in given.items()
    )
    return one_line(", ".join(parts), _ARGUMENTS_CHARS)


def _figures(detail: dict[str, Any]) -> str:
    parts = [
        _many(detail.get("turn"), "model call"),
        _many(detail.get("tokens"), "token"),
        f"{detail['seconds']:.0f} s" if isinstance(detail.get("seconds"), int | float) else "",
        str(detail.get("tool") or ""),
        str(detail.get("error") or ""),
    ]
    return printable(", ".join(part for part in parts if part))


def _many(number: object, what: str) -> str:
    return count(number, what) if isinstance(number, int) and number else ""
