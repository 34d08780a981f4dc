"""Threads in which every paragraph bears a mark, so that it shows who read it."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage

from thalweg.engine.entries import Message
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text

_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro")
_SIGNS = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就"
    "分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
)
_MARK = re.compile(r"q\d+q")
_REQUEST_EVERY = 10
"""Model calls between two requests of the user."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What the tools of a thread return: characters, and the weight of each size."""

    sizes: tuple[tuple[int, int, int], ...]
    is_chinese: bool = False


_PAGES = ((200, 3_000, 50), (4_000, 16_000, 34), (20_000, 60_000, 14), (100_000, 200_000, 2))
WORKLOADS = {
    "mixed": Workload(_PAGES),
    "small": Workload(((200, 3_000, 70), (3_000, 9_000, 30))),
    "Chinese": Workload(
        tuple((low // 3, high // 3, n) for low, high, n in _PAGES), is_chinese=True
    ),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """Shares of what was folded."""

    at_all: float
    """Messages of which anything was shown."""
    whole: float
    """Messages of which everything was."""
    tokens: float
    """Tokens that were shown."""


@dataclass(slots=True)
class Marked:
    """A thread of so many model calls, built piece by piece."""

    workload: Workload
    most: int
    calls: int = 0
    marks: int = 0
    dice: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        make: Callable[[], str] = lambda: "".join(  # noqa: E731 (two lines in two places)
            self.dice.choices(_SYLLABLES, k=self.dice.randint(1, 4))
        )
        if self.workload.is_chinese:
            make = lambda: "".join(self.dice.choices(_SIGNS, k=self.dice.randint(2, 6)))  # noqa: E731
        self.words = [make() for _ in range(3_000)]

    def text(self, chars: int) -> str:
        """Write paragraphs; each begins with a mark, and the last one ends with one."""
        paragraphs: list[str] = []
        while chars > 0:
            paragraph = " ".join(self.dice.choices(self.words, k=40))
            paragraphs.append(f"{self.mark()} {paragraph}"[: max(chars, 40)])
            chars -= len(paragraphs[-1])
        return "\n".join(paragraphs) + f" {self.mark()}"

    def mark(self) -> str:
        """Make the next mark."""
        self.marks += 1
        return f"q{self.marks}q"

    def request(self) -> str:
        """Return the user's next message."""
        return self.text(self.dice.randint(100, 900))

    def look(self, what: str) -> str:
        """Return a result."""
        del what
        sizes = self.workload.sizes
        low, high, _ = self.dice.choices(sizes, [weight for *_, weight in sizes])[0]
        return self.text(self.dice.randint(low, high))

    def answer(self) -> AIMessage:
        """Call a tool or two; rest after some calls."""
        self.calls += 1
        said = self.text(self.dice.randint(40, 500))
        if self.calls % _REQUEST_EVERY == 0 or self.calls >= self.most:
            return AIMessage(said)
        calls = [
            {"name": "look", "args": {"what": self.text(60)}, "id": f"c{self.calls}_{k}"}
            for k in range(self.dice.choice((1, 1, 2)))
        ]
        return AIMessage(said, tool_calls=calls)

    def seen(self, folded: Sequence[Message], shown: str) -> Seen:
        """Return how much of the folded messages was shown."""
        known, count = set(_MARK.findall(shown)), exact_counter()
        some, whole, read, tokens = 0, 0, 0, 0
        for message in folded:
            pieces = list(_pieces(as_text(message)))
            some += any(mark in known for mark, _ in pieces)
            whole += all(mark in known for mark, _ in pieces)
            for mark, text in pieces:
                spent = count(text)
                tokens += spent
                read += spent * (mark in known)
        return Seen(some / len(folded), whole / len(folded), read / tokens)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    marks = list(_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        yield mark[0], text[mark.start() : end]
