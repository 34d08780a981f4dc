"""Generated conversations: what people, models and tools do to an agent, seeded.

Everything in them was seen in the field: names that a model made up, arguments cut off by
`max_tokens`, results without content, half of an emoji, images, batches of calls, long results,
runs that die, messages edited or deleted by their author, threads continued from an earlier
point or with another agent.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ResultKind = Literal["text", "blocks", "empty-list", "empty", "blank", "image", "error", "crash"]
Between = Literal["", "edit", "remove", "rewind", "other-tools", "other-prompt"]

TOOL = "fetch"
NAMES = (
    "functions.fetch", "multi_tool_use.parallel", "", "fetch page", "取得", "f" * 80,
    "no_such_tool", "a/b", "1st", "fetch\n", "$FETCH",
)  # fmt: skip
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
WORDS = (
    "river", "bank", "invoice", "total", "config", "parser", "warning", "retry", "cache", "node",
    "src/main.py", "error", "404", "value", "河流", "編譯", "エラー", "привет", "été", "naïve",
    "\U0001f600", "def", "return", "import", "await", "{}", "[]", "=>", "--", "3.14", "0x1f",
)  # fmt: skip
BROKEN = ('{"page": 1', '{"page": "unfinis', "", '{"page": NaN}', "{'page': 1}", "page=1")
ODD = ('{"page": "one"}', '{"pages": 1}', '{"page": 1, "note": "\\ud83d"}', "{}")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model makes."""

    name: str
    arguments: str
    """As the model wrote them: JSON in the good case."""


@dataclass(frozen=True, slots=True)
class Move:
    """One answer of the model. Without calls it ends the turn."""

    text: str
    calls: tuple[Call, ...] = ()
    thinks: bool = True
    fails: bool = False
    """The provider answers 500 instead, and the run ends."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user and what follows on it."""

    content: str | list[str | dict[Any, Any]]
    moves: tuple[Move, ...]
    before: Between = ""
    """What happened to the thread before the message."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the tool returns for one page."""

    kind: ResultKind
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    """A whole conversation."""

    seed: int
    turns: tuple[Turn, ...]
    results: dict[int, Result]
    foreign: tuple[tuple[str, str], ...] = ()
    """Calls by another provider's model that the thread begins with: id, name."""
    calm: bool = False


@dataclass(slots=True)
class Author:
    """Writes one story from its seed."""

    seed: int
    long: int = 6_000
    """Characters of the longest result."""
    calm: bool = False
    """Without accidents: nothing but length, which reaches the most compactions."""
    dice: random.Random = field(init=False)
    pages: dict[int, Result] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Seed the generator."""
        self.dice = random.Random(self.seed)

    def happens(self, share: float) -> bool:
        """Whether an accident happens here."""
        return self.dice.random() < share and not self.calm

    def story(self) -> Story:
        """Return the story of this seed."""
        foreign: tuple[tuple[str, str], ...] = ()
        if self.happens(0.15):
            ids = ("toolu_01A/b:c", "call|fc_" + "9" * 70, "chatcmpl-tool-" + "a" * 32, "0")
            foreign = tuple(
                (self.dice.choice(ids) + str(n), self.dice.choice((TOOL, "old.tool")))
                for n in range(self.dice.randint(1, 3))
            )
        turns = tuple(self.turn(number) for number in range(self.dice.randint(2, 5)))
        return Story(self.seed, turns, self.pages, foreign, self.calm)

    def turn(self, number: int) -> Turn:
        """Return a turn of a few moves."""
        before: Between = ""
        if number and self.happens(0.35):
            before = self.dice.choice(("edit", "remove", "rewind", "other-tools", "other-prompt"))
        moves = [self.move() for _ in range(self.dice.choice((0, 1, 1, 2, 3, 5)))]
        moves.append(Move(self.ending(), thinks=self.dice.random() < 0.7))
        return Turn(self.said(number), tuple(moves), before)

    def said(self, number: int) -> str | list[str | dict[Any, Any]]:
        """Return a user's message."""
        text = f"Request {self.seed}-{number}: {self.prose(self.dice.choice((5, 20, 200)))}"
        if self.happens(0.08):
            image = {"type": "image", "base64": PNG, "mime_type": "image/png"}
            return [{"type": "text", "text": text}, image]
        if self.happens(0.04):
            return text + " \ud83d"
        return text

    def ending(self) -> str:
        """Return a final answer; a model now and then has none."""
        return "" if self.happens(0.06) else f"Done. {self.prose(12)}"

    def move(self) -> Move:
        """Return a move with calls, or a failure."""
        if self.happens(0.04):
            return Move("", fails=True)
        calls = tuple(self.call() for _ in range(self.dice.choice((1, 1, 1, 2, 3, 6))))
        text = self.prose(8) if self.dice.random() < 0.5 else ""
        return Move(text, calls, thinks=self.dice.random() < 0.8)

    def call(self) -> Call:
        """Return a call, mostly a good one."""
        if self.happens(0.08):
            return Call(self.dice.choice(NAMES), '{"page": 0}')
        if self.happens(0.06):
            return Call(TOOL, self.dice.choice(BROKEN))
        if self.happens(0.04):
            return Call(TOOL, self.dice.choice(ODD))
        page = len(self.pages) + 1
        self.pages[page] = self.result(page)
        return Call(TOOL, f'{{"page": {page}}}')

    def result(self, page: int) -> Result:
        """Return the tool's result for a page."""
        kinds: Sequence[ResultKind] = (
            "text", "text", "text", "text", "text", "text", "text", "blocks", "empty-list",
            "empty", "blank", "image", "error", "crash",
        )  # fmt: skip
        kind = self.dice.choice(kinds)
        if self.calm or (kind == "crash" and self.dice.random() < 0.6):
            kind = "text"
        length = self.dice.choice((30, 300, self.long // 2, self.long))
        text = f"Page {self.seed}-{page}\n{self.lines(length)}"
        if self.happens(0.06):
            text += "caf\udce9.txt"
        if self.happens(0.04):
            text += "\x00\x1b[31m"
        return Result(kind, text)

    def prose(self, words: int) -> str:
        """Return some words."""
        return " ".join(self.dice.choices(WORDS, k=words))

    def lines(self, characters: int) -> str:
        """Return lines of words, about so many characters."""
        line = self.prose(12)
        return "\n".join(f"{n}: {line}" for n in range(max(1, characters // (len(line) + 4))))
