"""Pages of a log that fill a context, read by the agent or pasted by the user."""

import re
from dataclasses import dataclass
from random import Random

from langchain_core.tools import BaseTool, StructuredTool

from thalweg.lab.evals.base import Language
from thalweg.lab.evals.scripted.moves import Move, Say, Use, View

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


_BOOKS: dict[Language, _Book] = {
    "en": _Book(
        head="Harbour log, page {page}",
        ask="Please read page {page} of the harbour log with {tool} and tell me its last word.",
        paste="This is page {page} of the harbour log. Tell me its last word.\n\n{text}",
        asked=re.compile(r"page (\d+) of the harbour log"),
        answer="Its last word is {word}.",
        progress="Pages of the harbour log were read one after the other, up to page {page}.",
        words=tuple(
            "barge tide crane rope mooring pilot keel anchor quay lantern ballast rudder signal "
            "cargo ledger gull harbour winch beacon hawser tonnage manifest berth channel buoy "
            "dredger jetty ferry".split()
        ),
        between=" ",
        ends=".",
        tokens_of_word=1.2,
    ),
    "zh": _Book(
        head="港口日志第{page}页",
        ask="请用 {tool} 读港口日志第{page}页，告诉我它的最后一个词。",
        paste="这是港口日志第{page}页。告诉我它的最后一个词。\n\n{text}",
        asked=re.compile(r"港口日志第(\d+)页"),
        answer="最后一个词是{word}。",
        progress="港口日志一页一页地读过了，读到第{page}页。",
        words=tuple(
            "驳船 潮水 吊车 缆绳 系泊 领航 龙骨 船锚 码头 灯笼 压舱 船舵 信号 货物 账本 "
            "海鸥 绞车 浮标 吨位 舱单 泊位 航道 渡轮 栈桥".split()
        ),
        between="、",
        ends="。",
        tokens_of_word=3.0,
    ),
}
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
    return _asked(view.asked) is not None


def turn_page(view: View) -> Move:
    """Return the move for a request for which `is_page` is true."""
    asked = _asked(view.asked)
    if asked is None:
        return Say("No page was asked for.")
    book, page = asked
    results = [one for one in view.since if one.role == "tool"]
    if READ in view.tools and not results:
        return Use(READ, {"page": page})
    words = re.findall(r"\w+", results[-1].text if results else view.asked)
    return Say(book.answer.format(word=words[-1] if words else "?"))


def progress(text: str) -> str:
    """Return how far the log was read, as a summary describes it; empty if it was not.

    Args:
        text: The conversation.
    """
    told = [
        (place[-1].start(), book, place[-1][1])
        for book in _BOOKS.values()
        if (place := list(book.asked.finditer(text)))
    ]
    if not told:
        return ""
    _, book, page = max(told, key=lambda one: one[0])
    return book.progress.format(page=page)


def _asked(text: str) -> tuple[_Book, int] | None:
    for book in _BOOKS.values():
        if found := book.asked.search(text):
            return book, int(found[1])
    return None
