"""Short ways to write a thread."""

from collections.abc import Sequence
from typing import Any

from core_tests.property.driving import Drive, quick_count
from core_tests.property.strategies import Scenario
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.entries import Entry, Message, Text, ToolCall
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.reading import Reader
from thalweg.engine.window.window import Window


def user(text: str) -> Message:
    """Make a person's message."""
    return Message("user", (Text(text),))


def says(text: str) -> Message:
    """Make a model's message."""
    return Message("assistant", (Text(text),))


def system(text: str) -> Message:
    """Make a system prompt."""
    return Message("system", (Text(text),))


def call(call_id: str, name: str = "Read", arguments: str = '{"file_path": "a.py"}') -> Message:
    """Call a tool."""
    return Message("assistant", (ToolCall(call_id, name, arguments),))


def result(call_id: str, text: str = "fine") -> Message:
    """Answer a call."""
    return Message("tool", (Text(text),), answers=call_id)


def steps(number: int, words: int = 100) -> list[Message]:
    """Make a stretch of work: one call and its result each."""
    return [
        m
        for n in range(number)
        for m in (
            call(f"s{n}", "Bash", f'{{"command": "make step{n}"}}'),
            result(f"s{n}", f"step {n} of the build. " * words),
        )
    ]


def run(messages: Sequence[Message], window: int = 4_000, **budget: Any) -> Drive:  # noqa: ANN401
    """Drive a thread through the engine and the archive."""
    return Drive(Scenario(tuple(messages), Budget(window=window, **budget), "anthropic")).run()


def entries(*messages: Message) -> list[Entry]:
    """Read messages into entries."""
    reader = Reader(quick_count)
    return [reader.read(message) for message in messages]


def scene(*messages: Message, window: int = 4_000, **budget: Any) -> PlanningContext:  # noqa: ANN401
    """Show a thread to a decision, with handles that name their span."""
    laid = Window(quick_count)
    for entry in entries(*messages):
        laid.add(entry)
    laid.settle()
    return PlanningContext(
        laid, Budget(window=window, **budget), lambda first, last: f"{first}-{last}", 1
    )


def shown(driven: Drive) -> str:
    """Return all plain text of the last request."""
    return "\n".join(m.text for m in driven.requests[-1].messages)
