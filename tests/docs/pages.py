"""The pages of the documentation, and the code blocks in them."""

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCES = tuple(sorted(ROOT.glob("packages/*/src")))
"""The folders that the import roots of the packages are in."""
TESTS = tuple(sorted(ROOT.glob("packages/*/tests")))
"""The folders that the import roots of the packages' tests are in."""
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    "benchmarks/README.md",
    *sorted(
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("packages/*/README.md")
        if path.parent.name != "strict-llm"  # its blocks are tests, run by its own package
    ),
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
)
_BLOCK = re.compile(
    r"(?:^[ \t]*<!-- not run: (?P<why>[^\n]*?) -->\n+)?"
    r"^(?P<indent>[ \t]*)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced code block; `why_not_run` is the reason in the comment before it, or empty."""

    page: str
    line: int
    language: str
    code: str
    why_not_run: str

    @property
    def place(self) -> str:
        """The page and the line of the fence, for error messages."""
        return f"{self.page}:{self.line}"


def blocks(language: str | None = None) -> list[Block]:
    """Return the blocks of all pages that have a language and are not marked as not run."""
    found = [block for page in PAGES for block in _blocks_of(page)]
    if language is None:
        return found
    return [block for block in found if block.language == language and not block.why_not_run]


def _blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, match.start("indent")) + 1,
            match["language"],
            dedent(match["code"]),
            match["why"] or "",
        )
        for match in _BLOCK.finditer(text)
    ]
