"""A recording under way: OpenAI-chat messages, the time of each, and what must not be lost.

Two rules: every call is answered before the next turn; time depends only on the messages so far.
"""

import gzip
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.workbench import Workbench

NAME = "sample"
EARLY = 0.36
"""A needle is within this share of the recording."""

_BEGINS = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_CHARS_PER_S = 220
"""How fast the recorded assistant writes."""

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


@dataclass(slots=True)
class Recorder:
    """The messages of one thread, with the tools that answer."""

    bench: Workbench
    messages: list[dict[str, Any]] = field(default_factory=list)
    goals: list[dict[str, Any]] = field(default_factory=list)
    now: datetime = _BEGINS
    _calls: int = 0

    def system(self, text: str) -> None:
        """Begin with the system prompt."""
        self._add({"role": "system", "content": text}, 0.0)

    def user(self, text: str, *quotes: tuple[str, str], pause_s: float = 45.0) -> None:
        """Add a user's message; each quote is a kind (goal, request, constraint) and its words."""
        self._add({"role": "user", "content": text}, pause_s + len(text) / 9)
        for kind, quote in quotes:
            if quote not in text:
                msg = f"the user does not say {quote!r}"
                raise ValueError(msg)
            row = {"message_index": len(self.messages) - 1, "kind": kind, "quote": quote}
            self.goals.append({"trajectory": NAME, **row})

    def say(self, text: str) -> None:
        """Let the assistant answer and rest."""
        self._add({"role": "assistant", "content": text}, 1.5 + len(text) / _CHARS_PER_S)

    def act(self, text: str, *calls: Call, report: str = "") -> list[str]:
        """Let the assistant call tools, all in one turn.

        Args:
            text: Its text with the calls.
            calls: The calls, in order.
            report: Of a `task`: what the subagent reports.

        Returns:
            What the tools returned, in the order of the calls.
        """
        made = [(f"call_{self._calls + n:04}", *call) for n, call in enumerate(calls, 1)]
        self._calls += len(made)
        asked = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": _json(arguments)}}
            for i, name, arguments in made
        ]
        said: dict[str, Any] = {"role": "assistant", "content": text, "tool_calls": asked}
        self._add(said, 1.5 + len(_json(said)) / _CHARS_PER_S)
        return [self._answer(i, name, arguments, report) for i, name, arguments in made]

    def _answer(self, call: str, name: str, arguments: dict[str, Any], report: str) -> str:
        delegated = name == "task"
        text, failed = (report, False) if delegated else self.bench.call(name, arguments)
        message = {"role": "tool", "tool_call_id": call, "name": name, "content": text}
        needed_s = 95.0 if delegated else 0.2 + len(text) / 20_000
        self._add(message, needed_s, **({"is_error": True} if failed else {}))
        return text

    def _add(self, message: dict[str, Any], later_s: float, **notes: object) -> None:
        self.now += timedelta(milliseconds=round(later_s * 1_000))
        at = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.messages.append({**message, "x": {"timestamp": at, **notes}})

    def needles(self, questions: dict[str, str]) -> list[dict[str, Any]]:
        """Keep the questions whose answer is in this recording once, and early.

        Args:
            questions: By their answer.
        """
        texts = [_said(message) for message in self.messages]
        last = int(len(texts) * EARLY)
        found = []
        for answer, question in questions.items():
            at = [index for index, text in enumerate(texts) if answer in text]
            if len(at) != 1 or at[0] > last or texts[at[0]].count(answer) != 1:
                continue
            line = next(line for line in texts[at[0]].splitlines() if answer in line)
            found.append(
                {
                    "trajectory": NAME,
                    "question": question,
                    "answer": answer,
                    "message_index": at[0],
                    "quote": line.strip(),
                    "role": self.messages[at[0]]["role"],
                    "position": round(at[0] / len(texts), 4),
                    "messages": len(texts),
                }
            )
        return sorted(found, key=lambda row: row["message_index"])

    def write(self, folder: Path, questions: dict[str, str]) -> None:
        """Write the recording with its needles and goals; the same bytes for the same content."""
        folder.mkdir(parents=True, exist_ok=True)
        packed = gzip.compress(_lines(self.messages).encode(), mtime=0)
        (folder / f"{NAME}.jsonl.gz").write_bytes(packed)
        for name, rows in (("needles", self.needles(questions)), ("goals", self.goals)):
            (folder / f"{name}.jsonl").write_text(_lines(rows), encoding="utf-8")


def _said(message: dict[str, Any]) -> str:
    calls = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return "\n".join([message["content"], *calls])


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{_json(row)}\n" for row in rows)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
