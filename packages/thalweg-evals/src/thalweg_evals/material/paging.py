"""Pages of a log that fill a context, read by the agent or pasted by the user."""

import re
from dataclasses import dataclass
from random import Random
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from thalweg.engine.data_files import read_table
from thalweg_evals.base import Language
from thalweg_evals.scripted.moves import Move, Respond, Use, View

READ = "read_page"


@dataclass(frozen=True, slots=True)
class _Book:
    """The texts and requests of a log in one language."""

    head: str
    ask: str
    paste: str
    asked: re.Pattern[str]
    answer: str
    progress: str
    words: tuple[str, ...]
    between: str
    ends: str
    tokens_of_word: float


def _book(asked: str, words: str, **texts: Any) -> _Book:  # noqa: ANN401 (the other fields)
    return _Book(asked=re.compile(asked), words=tuple(words.split()), **texts)


_BOOKS = {name: _book(**row) for name, row in read_table(__package__, "paging.toml").items()}
"""By language."""
_LINE_WORDS = 12


class Pages:
    """The pages of one trial, deterministic by seed."""

    def __init__(self, dice: Random) -> None:
        self._seed = dice.random()
        self.tokens = 500
        """Approximate length of a page."""
        self.read = 0
        """How many were requested so far."""
        self.language: Language = "en"

    def text(self, page: int) -> str:
        """Return the text of a page."""
        dice, book = Random(f"{self._seed} {page}"), _BOOKS[self.language]
        lines = max(1, round(self.tokens / (_LINE_WORDS * book.tokens_of_word + 1)))
        written = [
            book.between.join(dice.choices(book.words, k=_LINE_WORDS)) + book.ends
            for _ in range(lines)
        ]
        return "\n".join([book.head.format(page=page), *written])

    def read_page(self, page: int) -> str:
        """Read a page of the harbour log."""
        return self.text(page)

    def tool(self) -> BaseTool:
        """Create the tool that reads a page."""
        return StructuredTool.from_function(self.read_page)

    def ask(self, *, has_tools: bool) -> str:
        """Return the user's request to read the next page."""
        self.read += 1
        book = _BOOKS[self.language]
        if has_tools:
            return book.ask.format(page=self.read, tool=READ)
        return book.paste.format(page=self.read, text=self.text(self.read))


def is_page(view: View) -> bool:
    """Return whether the user requests a page."""
    return _requested_page(view.prompt) is not None


def turn_page(view: View) -> Move:
    """Return the move for a request for which `is_page` is true."""
    request = _requested_page(view.prompt)
    if request is None:
        return Respond("No page was asked for.")
    book, page = request
    results = [one for one in view.since if one.role == "tool"]
    if READ in view.tools and not results:
        return Use(READ, {"page": page})
    words = re.findall(r"\w+", results[-1].text if results else view.prompt)
    return Respond(book.answer.format(word=words[-1] if words else "?"))


def progress(text: str) -> str:
    """Return how far the log was read, as a summary describes it; empty if it was not.

    Args:
        text: The conversation.
    """
    readings = [
        (place[-1].start(), book, place[-1][1])
        for book in _BOOKS.values()
        if (place := list(book.asked.finditer(text)))
    ]
    if not readings:
        return ""
    _, book, page = max(readings, key=lambda one: one[0])
    return book.progress.format(page=page)


def _requested_page(text: str) -> tuple[_Book, int] | None:
    for book in _BOOKS.values():
        if found := book.asked.search(text):
            return book, int(found[1])
    return None
