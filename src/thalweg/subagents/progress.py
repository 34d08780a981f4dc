"""One child's run as it is seen from outside: what it said, did and used, and when it must end."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from thalweg.subagents.limits import Limits

ACTIVE: ContextVar["Progress | None"] = ContextVar("thalweg_subagent", default=None)
"""The child whose run the code is in; `None` in a main agent."""
WRITES = frozenset({"write_file", "edit_file", "delete"})
"""Tools that change a file, named in `file_path` or `path`."""
_SPENDING = Lock()
SAID = 3
"""Texts of the model that are kept for a partial report, the newest."""
DONE = 40
"""Calls that are kept for it, the newest."""
CALL_CHARS = 140
"""Most characters of a call's arguments, and of the first line of its result."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a child, and how it ended."""

    tool: str
    told: str
    """What it was called with, in few words."""
    ended: bool | None = None
    """Whether it went well; `None` while nobody knows."""
    answer: str = ""
    """The first line of its result."""


@dataclass(slots=True)
class Progress:
    """What is known of a child's run, kept up by whoever reads its stream."""

    limits: Limits = field(default_factory=Limits)
    parent: "Progress | None" = None
    is_fork: bool = False
    turns: int = 0
    tokens: int = 0
    texts: list[str] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    """Paths that its tools changed, in the order in which they did."""
    unwritten: dict[str, str] = field(default_factory=dict)
    """Why the last change of a path failed, by path."""
    values: dict[str, Any] | None = None
    """The child's state as it was last told."""
    stopped: str | None = None
    """Which limit it was stopped at."""
    _seen: set[str] = field(default_factory=set)
    _paths: dict[str, str] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How many subagents stand one inside the other, this one counted."""
        return sum(1 for _ in self.chain())

    @property
    def last_tool(self) -> str | None:
        """The tool that was called last."""
        return next(reversed(self.calls.values())).tool if self.calls else None

    def knows(self, messages: Iterable[BaseMessage]) -> None:
        """Pass over messages that the child was given."""
        self._seen |= {message.id for message in messages if message.id}

    def see(self, kind: str, told: Any) -> bool:  # noqa: ANN401 (any graph's)
        """Take in one piece of a graph's stream.

        Returns:
            Whether a turn was begun.
        """
        before = self.turns
        if kind == "values" and isinstance(told, Mapping):
            if self.values is None:  # of a run that is gone on with, what came before
                self._take(told.get("messages"))
            self.values = dict(told)
        elif kind == "updates" and isinstance(told, Mapping):
            for update in told.values():
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
        if text := message.text.strip():
            self.texts = [*self.texts, text][-SAID:]
        for call in message.tool_calls:
            name, args = str(call["id"]), call["args"]
            self.calls.pop(name, None)
            self.calls[name] = Call(call["name"], _in_brief(args))
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
        elif path:
            self.unwritten[path] = answer
        if call is not None:
            self.calls[message.tool_call_id] = Call(call.tool, call.told, went_well, answer)

    def spend(self, tokens: int) -> None:
        """Count tokens, for this run and for all that it is inside of."""
        with _SPENDING:  # siblings in threads of their own spend for one parent
            for run in self.chain():
                run.tokens += tokens

    def must_end(self) -> bool:
        """Tell whether the run must end here, between two turns; which limit did it is noted.

        A run that has just said its last words is left to end by itself.
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
        """Whether it used as many tokens as it may."""
        return self.limits.tokens is not None and self.tokens >= self.limits.tokens

    @property
    def is_over(self) -> bool:
        """Whether it was stopped, or one that it is inside of."""
        return any(run.stopped for run in self.chain())

    def chain(self) -> Iterator["Progress"]:
        """Go through this run and those that it is inside of."""
        run: Progress | None = self
        while run is not None:
            yield run
            run = run.parent

    def at_rest(self) -> bool:
        """Tell whether the newest message is the model's: its tools, or the end, come next."""
        messages = (self.values or {}).get("messages") or []
        return bool(messages) and isinstance(messages[-1], AIMessage)


def _in_brief(args: Mapping[str, Any]) -> str:
    told = (f"{k}={json.dumps(v, ensure_ascii=False, default=str)}" for k, v in args.items())
    return _clip(", ".join(told))


def _first_line(text: str) -> str:
    return _clip(next((line.strip() for line in text[:2_000].splitlines() if line.strip()), ""))


def _clip(text: str) -> str:
    return text if len(text) <= CALL_CHARS else text[: CALL_CHARS - 1] + "…"


def newest(messages: Sequence[AnyMessage], task: str) -> Sequence[AnyMessage]:
    """Take the messages that came after a task; all of them where it is not there."""
    for k in range(len(messages) - 1, -1, -1):
        if messages[k].type == "human" and messages[k].content == task:
            return messages[k + 1 :]
    return messages
