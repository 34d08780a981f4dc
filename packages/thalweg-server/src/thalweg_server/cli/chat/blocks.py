"""A Markdown text that is still being written, cut into the blocks that are finished."""

import re

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])\s")
_INDENTED = re.compile(r"(\t| {2,})")


class BlockSplitter:
    r"""Splits a text that arrives in pieces into blocks; returns each when it is complete.

    A paragraph, a list, a table or a code block is one block. The blocks do not depend
    on how the text was cut into pieces: it is parsed line by line.

    Example:
        >>> blocks = BlockSplitter()
        >>> blocks.feed("One.\n\nTw"), blocks.rest
        (['One.'], 'Tw')
        >>> blocks.feed("o.\n"), blocks.end()
        ([], ['Two.'])
    """

    def __init__(self) -> None:
        self._begun = ""
        self._lines: list[str] = []
        self._fence = ""

    @property
    def rest(self) -> str:
        """The unfinished text."""
        return "\n".join([*self._lines, self._begun])

    def feed(self, text: str) -> list[str]:
        """Add a piece of the text; return the blocks that it completes."""
        *whole, self._begun = (self._begun + text).split("\n")
        return [block for line in whole for block in self._line(line.removesuffix("\r"))]

    def end(self) -> list[str]:
        """Return the remaining block at the end of the text."""
        blocks = self._line(self._begun)
        self._begun, self._fence = "", ""
        return [*blocks, *self._cut()]

    def _line(self, line: str) -> list[str]:
        if self._fence:
            self._lines.append(line)
            if line.strip().startswith(self._fence) and not line.strip(" \t`~"):
                self._fence = ""
                return [] if self._is_list else self._cut()
            return []
        if not line.strip():
            # A list may go on behind an empty line; nothing else does.
            if self._is_list:
                self._lines.append("")
                return []
            return self._cut()
        finished = self._cut() if self._begins_a_block(line) else []
        if found := _FENCE.match(line):
            self._fence = found[1]
        self._lines.append(line)
        return finished

    @property
    def _is_list(self) -> bool:
        return bool(self._lines) and _ITEM.match(self._lines[0]) is not None

    def _begins_a_block(self, line: str) -> bool:
        if not self._lines:
            return False
        if _HEADING.match(line) or _HEADING.match(self._lines[0]):
            return True
        if self._is_list:
            goes_on = _ITEM.match(line) or _INDENTED.match(line)
            return self._lines[-1] == "" and not goes_on
        return _FENCE.match(line) is not None

    def _cut(self) -> list[str]:
        block = "\n".join(self._lines).rstrip("\n")
        self._lines = []
        return [block] if block.strip() else []
