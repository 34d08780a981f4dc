"""Output of a chat: lines with a meaning; the screen decides how they look."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "answer", "thinking", "tool", "failure", "subagent", "context", "memory", "note", "error"
]


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line to print.

    Attributes:
        kind: Its meaning.
        text: Of an answer a block of Markdown, of any other one sentence or a small table.
        depth: Level of indentation: lines about a subagent are indented.
    """

    kind: Kind
    text: str
    depth: int = 0
