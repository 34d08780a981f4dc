"""What a chat prints: lines with a meaning; how they look is decided where they are drawn."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "answer", "thinking", "tool", "failure", "subagent", "context", "memory", "note", "error"
]


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """Something to print.

    Attributes:
        kind: What it is.
        text: Of an answer a block of Markdown, of any other one sentence or a small table.
        depth: Level of indentation: what a subagent does is below it.
    """

    kind: Kind
    text: str
    depth: int = 0
