"""Texts of the probes: names, prose that fills a context, and the pages of a log."""

import re
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from thalweg.engine.data_files import read_table
from thalweg_evals.moves import Move, Respond, Use, View

Language = Literal["en", "zh"]
"""Language of the text that fills a context."""
READ = "read_page"
STATIONS = ("Ostravick", "Quernbeck", "Tolvadden", "Ystrifel", "Garnmoor", "Pellowick", "Hathersk", "Vindolmar", "Brackwyn", "Ludrigan", "Escombry", "Fennaroe", "Morwhistle", "Skerrith", "Undermoss", "Wexcarrow", "Zelbright", "Jorrocks", "Kittlemere", "Nantgarrow")  # fmt: skip  # noqa: E501
"""Unusual enough to be neither guessed nor met by chance."""
PEOPLE = ("Ines Vasquel", "Tobias Renner", "Amara Okonjo", "Lidia Kowal", "Henrik Solberg", "Mei Tanaka")  # fmt: skip  # noqa: E501
SHIPS = ("Aurora", "Boreas", "Calypso", "Demeter", "Electra", "Fortuna", "Galatea", "Halcyon", "Iris", "Juno")  # fmt: skip  # noqa: E501
_WORDS = ("gauge", "swell", "northerly", "drizzle", "davit", "relief", "visibility", "ebb", "shingle", "fogbank", "squall", "barometer", "keeper", "lens", "gallery", "oil", "wick", "landing", "hail", "cormorant", "skiff", "drift", "sounding", "ledge")  # fmt: skip  # noqa: E501
_LINE_WORDS = 12
_LINE_TOKENS = 17


def prose(seed: str, tokens: int) -> str:
    """Return lines of about this many tokens, deterministic by seed."""
    dice = Random(seed)
    lines = max(1, tokens // _LINE_TOKENS)
    return "\n".join(" ".join(dice.choices(_WORDS, k=_LINE_WORDS)) + "." for _ in range(lines))


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


class Pages:
    """The pages of one conversation, deterministic by seed."""

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

    def next_request(self, *, has_tools: bool) -> str:
        """Return the user's request to read the next page; without tools, it contains the page."""
        self.read += 1
        book = _BOOKS[self.language]
        if has_tools:
            return book.ask.format(page=self.read, tool=READ)
        return book.paste.format(page=self.read, text=self.text(self.read))


def read_requested_page(view: View) -> Move | None:
    """Return the move for a request to read a page; `None` for another request."""
    books = ((book, book.asked.search(view.prompt)) for book in _BOOKS.values())
    book, found = next(((book, found) for book, found in books if found), (None, None))
    if book is None or found is None:
        return None
    if READ in view.tools and not view.results:
        return Use(READ, {"page": int(found[1])})
    words = re.findall(r"\w+", view.results[-1].text if view.results else view.prompt)
    return Respond(book.answer.format(word=words[-1] if words else "?"))


def progress(text: str) -> str:
    """Return how far the log was read, as a summary describes it; empty if it was not.

    Args:
        text: The conversation.
    """
    readings = [
        (place[-1].start(), book.progress.format(page=place[-1][1]))
        for book in _BOOKS.values()
        if (place := list(book.asked.finditer(text)))
    ]
    return max(readings, default=(0, ""))[1]
