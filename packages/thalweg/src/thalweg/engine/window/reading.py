"""Build entries from messages: count tokens, classify tool calls, pair results with calls."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

from thalweg.engine.data_files import read_table
from thalweg.engine.entries import RECALL, Action, Entry, Message, ToolCall, ToolUse
from thalweg.engine.tokens import Counter, measure
from thalweg.engine.transcript import one_line

BRIEF_CHARS = 120
"""Longest one-line form of a call."""
MAX_OPEN_CALLS = 256
"""Most unanswered calls that are kept; older ones count as never answered."""
PARSED_CHARS = 200_000
"""Longer arguments are not parsed: only their beginning is searched for a target."""

_PORTABLE_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}\Z")
"""Ids that every provider accepts: Anthropic's alphabet, OpenAI's length."""

_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ACTIONS: Mapping[Action, frozenset[str]] = {
    action: frozenset(listed.split())
    for action, listed in cast("dict[Action, str]", read_table(__package__, "actions.toml")).items()
}
"""Words of a tool's name by its action; the first that fits is used."""
_PATH_KEYS: tuple[str, ...] = (
    "file_path", "filePath", "path", "filename", "filepath", "target_file", "notebook_path", "file",
    "absolute_path", "file_name", "url", "uri",
)  # fmt: skip
_TARGET_KEYS = (
    *_PATH_KEYS, "command", "cmd", "script", "code", "pattern",
    "query", "q", "queries", "subagent_type", "prompt", "description",
)  # fmt: skip
_TASK_KEYS = ("description", "subagent_type")
"""Arguments that name a delegated task, as in the ledger of tasks; its prompt may be long."""
_IGNORED_KEYS = frozenset({"description", "explanation", "reason", "thought", "timeout"})
"""Arguments that do not change the content that is read."""


@dataclass(slots=True)
class Reader:
    """Builds the entries of one thread's messages, in order.

    Ids that are missing, reused or not portable are replaced by a unique one from the call's
    position. A result answers an open call of its id; without an id, one of its tool, or any.
    Of several, one of the newest turn first: an unanswered call, or an id that is reused in every
    turn, does not shift later pairs. A result that answers nothing is an orphan, and kept.
    """

    count: Counter
    position: int = 0
    """Position of the next message."""
    model: str = ""
    """The model that decides how images count, see `measure`."""
    recall: str = RECALL
    """The name of the tool that reads removed content."""
    _used_ids: set[str] = field(default_factory=set)
    _open_calls: dict[str, tuple[str, ToolUse]] = field(default_factory=dict)
    """Unanswered calls: unique id to recorded id and call, oldest first."""

    def read(self, message: Message) -> Entry:
        """Return the entry of the thread's next message."""
        position = self.position
        self.position += 1
        size = measure(message, self.count, self.model)
        return Entry(
            position=position,
            message=message,
            tokens=size.tokens,
            thinking=size.thinking,
            size_bytes=size.bytes,
            media=size.media,
            uses=tuple(self._remember(call, position, k) for k, call in enumerate(message.calls)),
            answers=self._pop_answered_call(message) if message.role == "tool" else None,
            media_tokens=size.media_tokens,
            slack=size.slack,
        )

    def forget_dead_ids(self, live: Iterable[Entry]) -> tuple[str, ...]:
        """Drop the ids of calls that are no longer live: no live id can collide with them.

        Returns:
            Recorded ids that live calls could not use, since older ones had them. A new reader
            with them, and with the open calls, continues as this one would.
        """
        pairs = [
            (call.id, use.id)
            for entry in live
            for call, use in zip(entry.message.calls, entry.uses, strict=True)
        ]
        live_ids = {unique for _, unique in pairs}
        reused_ids = {call for call, unique in pairs if call != unique and call not in live_ids}
        self._used_ids = live_ids | reused_ids
        return tuple(sorted(reused_ids))

    def waiting(self, last_position: int, live: Iterable[Entry]) -> tuple[tuple[str, ToolUse], ...]:
        """Return the calls up to a position that have no result before it, oldest first.

        Args:
            last_position: The position.
            live: Entries after it; one of them may answer such a call.
        """
        answered_later = {e.answers.id: (e.message.answers, e.answers) for e in live if e.answers}
        calls = sorted(
            {**answered_later, **self._open_calls}.values(), key=lambda pair: pair[1].position
        )
        return tuple(pair for pair in calls if pair[1].position <= last_position)

    def resume(self, used: Iterable[str], waiting: Iterable[tuple[str, ToolUse]]) -> None:
        """Continue from another reader's state; see `forget_dead_ids` and `waiting`."""
        self._used_ids.update(used)
        self._open_calls.update((use.id, (recorded, use)) for recorded, use in waiting)

    def _remember(self, call: ToolCall, position: int, k: int) -> ToolUse:
        is_portable = _PORTABLE_ID.match(call.id) and call.id not in self._used_ids
        unique = call.id if is_portable else f"call_{position}_{k}"
        while unique in self._used_ids:
            unique += "_"
        self._used_ids.add(unique)
        use = classify_call(call, unique, position)
        if call.name == self.recall != RECALL:
            use = replace(use, is_recall=True)
        self._open_calls.pop(
            unique, None
        )  # a compacted call with this id: the new one is the newest
        self._open_calls[unique] = (call.id, use)
        if len(self._open_calls) > MAX_OPEN_CALLS:
            del self._open_calls[next(iter(self._open_calls))]
        return use

    def _pop_answered_call(self, message: Message) -> ToolUse | None:
        call_id = self._first_open(lambda recorded, _: recorded == message.answers != "")
        if call_id is None and not message.answers:
            call_id = self._first_open(lambda _, use: use.name == message.name)
            call_id = call_id or self._first_open(lambda _, __: not message.name)
        return None if call_id is None else self._open_calls.pop(call_id)[1]

    def _first_open(self, fits: Callable[[str, ToolUse], bool]) -> str | None:
        matches = [
            (use.position, unique_id)
            for unique_id, (recorded, use) in self._open_calls.items()
            if fits(recorded, use)
        ]
        newest = max((position for position, _ in matches), default=-1)
        return next((unique_id for position, unique_id in matches if position == newest), None)


def classify_call(call: ToolCall, unique_id: str, position: int) -> ToolUse:
    """Classify a tool call by its name and arguments.

    Example:
        >>> use = classify_call(ToolCall("c1", "Read", '{"file_path":"a.py","offset":10}'), "c1", 4)
        >>> use.action, use.target, use.scope
        ('read', 'a.py', '{"offset": 10}')
    """
    arguments = _parsed(call.arguments)
    action = _action(call.name, arguments)
    keys = _PATH_KEYS if action == "write" else _TARGET_KEYS
    key = next((k for k in keys if arguments.get(k)), "")
    rest = {k: v for k, v in arguments.items() if k != key and k not in _IGNORED_KEYS}
    first = _TASK_KEYS if action == "delegate" else ()
    return ToolUse(
        id=unique_id,
        name=call.name,
        action=action,
        target=str(arguments.get(key, ""))[:1_000],
        scope=json.dumps(rest, ensure_ascii=False, sort_keys=True)[:1_000] if rest else "",
        brief=_brief_call(call, {k: arguments[k] for k in first if k in arguments} | arguments),
        position=position,
    )


def _parsed(arguments: str) -> dict[str, object]:
    if len(arguments) > PARSED_CHARS:
        head = re.match(r'\s*\{\s*"(\w+)"\s*:\s*"((?:[^"\\]|\\.){0,500})"', arguments)
        return {head[1]: head[2]} if head else {}
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _action(name: str, arguments: dict[str, object]) -> Action:
    verb = arguments.get("command")
    name_with_verb = (
        f"{name}_{verb}" if isinstance(verb, str) and _PORTABLE_ID.match(verb) else name
    )
    words = _words(name_with_verb)
    if "view" in words and verb == "view":
        return "read"
    actions = [action for action, names in _ACTIONS.items() if words & names]
    is_of_task = actions[:1] == ["delegate"] and words & _ACTIONS["delegate"] == {"task"}
    if is_of_task and actions[-1] in {"search", "read"}:
        return actions[-1]  # `read_task` delegates nothing, `ask_search_agent` does
    return actions[0] if actions else "other"


@lru_cache(maxsize=1_024)
def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _NAME_WORD.findall(name))


def _brief_call(call: ToolCall, arguments: dict[str, object]) -> str:
    if not arguments:
        shown = " ".join(call.arguments[: 2 * BRIEF_CHARS].split())
    else:
        keys = sorted(arguments, key=lambda k: k not in _TARGET_KEYS)
        values = [(k, _short_value(arguments[k])) for k in keys]
        shown = ", ".join(v if k == keys[0] else f"{k}={v}" for k, v in values)
    line = " ".join(f"{call.name}({shown})".split())
    return line if len(line) <= BRIEF_CHARS else line[: BRIEF_CHARS - 2] + "…)"


def _short_value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, BRIEF_CHARS)
