"""Progress of one subagent's run, read from its stream, and when the run must end."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from thalweg.context.notes import end_reason
from thalweg_agent.backends.results import DENIED
from thalweg_agent.subagents.limits import SubagentLimits

ACTIVE: ContextVar["Progress | None"] = ContextVar("thalweg_subagent", default=None)
"""The subagent whose run the code is in; `None` in a main agent."""
WRITES = frozenset({"write_file", "edit_file", "delete"})
"""Tools that change a file, named in `file_path` or `path`."""
_SPENDING = Lock()
MOST_TEXTS = 3
"""Newest texts of the model that are kept for a partial report."""
DONE = 40
"""Newest calls that are kept for a partial report."""
CALL_CHARS = 140
"""Most characters of a call's arguments, and of the first line of its result."""
RESULT_CHARS = 2_000
"""Most characters of the newest result that is no error."""


@dataclass(frozen=True, slots=True)
class SubagentCall:
    """One tool call of a subagent, and its result."""

    tool: str
    arguments: str
    """Its arguments, abbreviated."""
    ended: bool | None = None
    """Whether it succeeded; `None` until it ends."""
    answer: str = ""
    """The first line of its result."""


@dataclass(slots=True)
class Progress:
    """Progress of a subagent's run, updated by the reader of its stream."""

    limits: SubagentLimits = field(default_factory=SubagentLimits)
    parent: "Progress | None" = None
    is_fork: bool = False
    turns: int = 0
    tokens: int = 0
    texts: list[str] = field(default_factory=list)
    calls: dict[str, SubagentCall] = field(default_factory=dict)
    result: str = ""
    """Text of the newest result that is no error, abbreviated."""
    files: dict[str, None] = field(default_factory=dict)
    """Paths that its tools changed, in order."""
    unwritten: dict[str, str] = field(default_factory=dict)
    """Error of the last failed change, by path."""
    denied: dict[str, str] = field(default_factory=dict)
    """Error of the last change that a rule denied, by path."""
    values: dict[str, Any] | None = None
    """The subagent's state as last streamed."""
    stopped: str | None = None
    """The limit that stopped it."""
    _seen: set[str] = field(default_factory=set)
    _paths: dict[str, str] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """Levels of nested subagents, this one included."""
        return sum(1 for _ in self.chain())

    @property
    def last_tool(self) -> str | None:
        """The tool that was called last."""
        return next(reversed(self.calls.values())).tool if self.calls else None

    def knows(self, messages: Iterable[BaseMessage]) -> None:
        """Mark messages as seen, so that they do not count as the subagent's."""
        self._seen |= {message.id for message in messages if message.id}

    def see(self, kind: str, item: Any) -> bool:  # noqa: ANN401 (any graph's)
        """Process one item of a graph's stream.

        Returns:
            Whether a turn began.
        """
        before = self.turns
        if kind == "values" and isinstance(item, Mapping):
            if self.values is None:  # in a resumed run: the earlier messages
                self._take(item.get("messages"))
            self.values = dict(item)
        elif kind == "updates" and isinstance(item, Mapping):
            for update in item.values():
                for one in update if isinstance(update, (list, tuple)) else (update,):
                    if isinstance(one, Mapping):
                        self._take(one.get("messages"))
        return self.turns > before

    def _take(self, messages: object) -> None:
        for message in messages if isinstance(messages, list) else [messages]:
            if not isinstance(message, (AIMessage, ToolMessage)):
                continue
            if message.id:
                if message.id in self._seen:
                    continue
                self._seen.add(message.id)
            if isinstance(message, AIMessage):
                self._turn(message)
            else:
                self._result(message)

    def _turn(self, message: AIMessage) -> None:
        self.turns += 1
        if message.usage_metadata:
            self.spend(message.usage_metadata["total_tokens"])
        if (text := message.text.strip()) and not end_reason(message):
            self.texts = [*self.texts, text][-MOST_TEXTS:]
        for call in message.tool_calls:
            name, args = str(call["id"]), call["args"]
            self.calls.pop(name, None)
            self.calls[name] = SubagentCall(call["name"], _in_brief(args))
            if call["name"] in WRITES:
                self._paths[name] = str(args.get("file_path") or args.get("path") or "")
        while len(self.calls) > DONE and (first := next(iter(self.calls))):
            del self.calls[first]

    def _result(self, message: ToolMessage) -> None:
        call = self.calls.get(message.tool_call_id)
        went_well = message.status != "error"
        path, answer = self._paths.pop(message.tool_call_id, ""), _first_line(message.text)
        if path and went_well:
            self.files[path] = None
            self.unwritten.pop(path, None)
            self.denied.pop(path, None)
        elif path:
            by_rule = message.artifact == DENIED
            (self.denied if by_rule else self.unwritten)[path] = answer
        if went_well:
            self.result = _clip(message.text.strip(), RESULT_CHARS) or self.result
        if call is not None:
            self.calls[message.tool_call_id] = SubagentCall(
                call.tool, call.arguments, went_well, answer
            )

    def spend(self, tokens: int) -> None:
        """Add tokens to this run and to all runs that contain it."""
        with _SPENDING:  # siblings in threads of their own spend for one parent
            for run in self.chain():
                run.tokens += tokens

    def must_end(self) -> bool:
        """Return whether the run must end here, between two turns, and record the limit.

        A run whose model has just answered for the last time is allowed to end by itself.
        """
        if self.stopped is None and self.values is not None:
            most = self.limits.turns
            if most is not None and self.turns > most:
                self.stopped = "turns"
            elif not self.at_rest():
                if most is not None and self.turns == most:
                    self.stopped = "turns"
                elif any(run.spent_all for run in self.chain()):
                    self.stopped = "tokens"
        return self.stopped is not None

    @property
    def spent_all(self) -> bool:
        """Whether its token limit is used up."""
        return self.limits.tokens is not None and self.tokens >= self.limits.tokens

    @property
    def is_over(self) -> bool:
        """Whether this run, or one that contains it, was stopped."""
        return any(run.stopped for run in self.chain())

    def chain(self) -> Iterator["Progress"]:
        """Yield this run and those that contain it, innermost first."""
        run: Progress | None = self
        while run is not None:
            yield run
            run = run.parent

    def at_rest(self) -> bool:
        """Return whether the newest message is the model's: its tool calls or the end follow."""
        messages = (self.values or {}).get("messages") or []
        return bool(messages) and isinstance(messages[-1], AIMessage)


def _in_brief(args: Mapping[str, Any]) -> str:
    pairs = (f"{k}={json.dumps(v, ensure_ascii=False, default=str)}" for k, v in args.items())
    return _clip(", ".join(pairs))


def _first_line(text: str) -> str:
    return _clip(next((line.strip() for line in text[:2_000].splitlines() if line.strip()), ""))


def _clip(text: str, most: int = CALL_CHARS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def newest(messages: Sequence[AnyMessage], task: str) -> Sequence[AnyMessage]:
    """Return the messages after a task; all of them if the task is not among them."""
    for k in range(len(messages) - 1, -1, -1):
        if messages[k].type == "human" and messages[k].content == task:
            return messages[k + 1 :]
    return messages
