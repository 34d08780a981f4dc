"""The tool with which a model reads references and searches by words.

Two rules: every result is bounded; an error is a sentence for the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.archive.base import Archive, Passage, Reading, Span, ThreadKey, render_passages
from thalweg.archive.handles import is_handle
from thalweg.archive.reading import read_numbered, read_piece
from thalweg.engine.entries import RECALL, Message
from thalweg.engine.prompts import prompt
from thalweg.engine.references import refer
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_transcript
from thalweg.errors import ArchiveError, HandleError, RangeError

CHARS_PER_TOKEN = 4
"""First estimate of characters per token; less is read if the tokens are more."""
PAGE = 32
"""Messages that are read at once."""
MANY = 100
"""Number of spans above which results are filtered: each span costs a search of its own."""
LOOKS = 8
"""Most searches for one call."""
MOST = 10**15
"""No line or character number of a text is greater."""


def _range(name: str) -> dict[str, Any]:
    whole = {"type": "integer", "minimum": 0}
    told = prompt(name).render()
    return {"type": "array", "items": whole, "minItems": 2, "maxItems": 2, "description": told}


def _text(name: str) -> dict[str, Any]:
    return {"type": "string", "description": prompt(name).render()}


RECALL_TOOL: dict[str, Any] = {
    "name": RECALL,
    "description": prompt("recall_tool").render(),
    "parameters": {
        "type": "object",
        "properties": {
            "handle": _text("recall_handle"),
            "query": _text("recall_query"),
            "lines": _range("recall_lines"),
            "chars": _range("recall_chars"),
            "path": _text("recall_path"),
        },
        "additionalProperties": False,
    },
}
"""JSON schema of the tool; the other arguments of `recall` are the caller's."""


def recall(
    archive: Archive,
    key: ThreadKey,
    *,
    handle: object = "",
    query: object = "",
    lines: object = None,
    chars: object = None,
    path: object = "",
    within: Sequence[Span] | None = None,
    max_tokens: int = 2_000,
    count: Counter | None = None,
    name: str = RECALL,
) -> str:
    """Return the result of a model's call of `recall`, for any argument values.

    Args:
        archive: The archive of the thread.
        key: The calling thread; no other is read.
        handle: The reference to read, or with a query the span to search.
        query: The search words.
        lines: As for `Archive.read`.
        chars: As for `Archive.read`.
        path: As for `Archive.read`.
        within: The visible positions of the thread, ascending: nothing else of the log is
            returned, and other references do not exist. `None` means the whole log.
        max_tokens: Bound on the result.
        count: Counts tokens; by default exactly, as OpenAI does.
        name: The name of the tool in the thread.

    Returns:
        The text or the passages; a sentence with the error if there are none.

    Example:
        >>> from thalweg.archive import Logged, Span, open_archive
        >>> from thalweg.engine.entries import Message, Text
        >>> key = ThreadKey("ada", "t1")
        >>> with open_archive(":memory:") as archive:
        ...     length = archive.append(key, [Logged(Message("user", (Text("hello"),)))])
        ...     recall(archive, key, handle=archive.handle(key, Span(0, 0)))
        'hello'
    """
    asked = _RecallCall(archive, key, within, max(max_tokens, 0), count or exact_counter(), name)
    try:
        told = _answer(asked, handle or "", query or "", lines, chars, path or "")
    except (HandleError, RangeError) as error:
        told = str(error)
    except ArchiveError:
        told = prompt("recall_failed").render()
    return asked.bounded(told)


def _answer(
    asked: "_RecallCall", handle: object, query: object, lines: object, chars: object, path: object
) -> str:
    for name, given in (("handle", handle), ("query", query), ("path", path)):
        if not isinstance(given, str):
            return prompt("recall_text").render(what=name)
    if query:
        ranged = lines is not None or chars is not None or path
        if ranged:
            return prompt("recall_no_range").render()
        return asked.search(str(query), str(handle))
    if not handle:
        return prompt("recall_which").render()
    return _read(asked, str(handle), lines, chars, str(path))


def _read(asked: "_RecallCall", handle: str, lines: object, chars: object, path: str) -> str:
    if not is_handle(handle):
        return asked.meant(handle)
    for name, given in (("lines", lines), ("chars", chars)):
        if given is not None and _pair(given) is None:
            return prompt("recall_range").render(what=name)
    return asked.read(handle, _pair(lines), _pair(chars), path)


def _pair(given: object) -> tuple[int, int] | None:
    match given:
        case [int(first), int(last)] if max(abs(first), abs(last)) <= MOST:
            return int(first), int(last)
    return None


def _without(spans: Sequence[Span], positions: Sequence[int]) -> list[Span]:
    """Return spans without some positions.

    Example:
        >>> _without([Span(0, 9)], [4, 9])
        [Span(first=0, last=3), Span(first=5, last=8)]
    """
    left: list[Span] = []
    for span in spans:
        first = span.first
        for position in sorted(positions):
            if first <= position <= span.last:
                if position > first:
                    left.append(Span(first, position - 1))
                first = position + 1
        if first <= span.last:
            left.append(Span(first, span.last))
    return left


@dataclass(frozen=True, slots=True)
class _RecallCall:
    """One call of the tool."""

    archive: Archive
    key: ThreadKey
    within: Sequence[Span] | None
    max_tokens: int
    count: Counter
    name: str

    def meant(self, words: str) -> str:
        """Search for words that were passed as a reference, as small models often do.

        Raises:
            HandleError: Nothing is found.
        """
        found = self._found(words, "")
        if not found:
            raise HandleError(words)
        return prompt("recall_meant").render(words=words, found=found)

    def search(self, query: str, handle: str) -> str:
        return self._found(query, handle) or prompt("recall_nothing").render()

    def _found(self, query: str, handle: str) -> str:
        within = self._parts(handle) if handle else self.within
        there = within
        if within is not None and len(within) > MANY:
            there = [Span(within[0].first, within[-1].last)]
        found = self._originals(query, there)
        if within is not there:
            spans = within or ()
            found = [one for one in found if any(s.first <= one.position <= s.last for s in spans)]
        while found and not self._fits(render_passages(found)):
            found.pop()
        return render_passages(found)

    def _originals(self, query: str, within: Sequence[Span] | None) -> list[Passage]:
        """Search, skipping earlier calls of this tool, and their results, whose text is in others.

        Otherwise a repeated query would return its last result, which quotes the one before.
        """
        found: list[Passage] = []
        there = within
        for _ in range(LOOKS):
            found = self.archive.search(self.key, query, within=there, max_tokens=self.max_tokens)
            echoes = [one.position for one in found if self._is_echo(one)]
            if not echoes:
                break
            there = _without(there or (Span(0, MOST),), echoes)
        return [one for one in found if not self._is_echo(one)] or found

    def _is_echo(self, found: Passage) -> bool:
        """Return whether this is an earlier call of the tool, or its result."""
        return any(
            (found.speaker == "assistant" and found.text.startswith(f"{name} {{"))
            or found.speaker == f"tool {name}"
            for name in (RECALL, self.name)
        )

    def _parts(self, handle: str) -> list[Span]:
        """Resolve a reference to its visible positions."""
        span = self.archive.span(self.key, handle)
        if self.within is None:
            return [span]
        parts = [
            Span(max(span.first, one.first), min(span.last, one.last))
            for one in self.within
            if one.first <= span.last and span.first <= one.last
        ]
        if not parts:
            raise HandleError(handle)
        return parts

    def read(
        self,
        handle: str,
        lines: tuple[int, int] | None,
        chars: tuple[int, int] | None,
        path: str,
    ) -> str:
        most = max(self.max_tokens * CHARS_PER_TOKEN, 1)
        while True:
            reading = self._reading(handle, lines, chars, path, most)
            how = refer(reading.next, self.name)
            more = f"\n\n{prompt('recall_more').render(how=how)}" if how else ""
            told = reading.text + more
            if most == 1 or self._fits(told):
                return told
            spent = self.count(told)
            most = max(1, min(most * 9 // 10, len(reading.text) * self.max_tokens // spent))

    def _reading(
        self,
        handle: str,
        lines: tuple[int, int] | None,
        chars: tuple[int, int] | None,
        path: str,
        most: int,
    ) -> Reading:
        """Read a reference without positions that are no longer visible."""
        parts = self._parts(handle)
        if parts == [self.archive.span(self.key, handle)]:
            return self.archive.read(
                self.key, handle, lines=lines, chars=chars, path=path, max_chars=most
            )
        if lines is None and chars is None and not path:
            whole = Span(parts[0].first, parts[-1].last)
            return read_numbered(handle, whole, self._messages(parts), max_chars=most)
        told = "\n\n".join(as_transcript([m], position) for position, m in self._messages(parts))
        return read_piece(handle, told, lines=lines, chars=chars, path=path, max_chars=most)

    def _messages(self, parts: Sequence[Span]) -> Iterator[tuple[int, Message]]:
        """Yield messages with their positions, read in pages."""
        for part in parts:
            for first in range(part.first, part.last + 1, PAGE):
                last = min(part.last, first + PAGE - 1)
                yield from enumerate(self.archive.messages(self.key, first, last), first)

    def bounded(self, told: str) -> str:
        """Cut a text that is still too long: an echoed name, or a result that does not fit."""
        if self._fits(told):
            return told
        low, high = 0, min(len(told), self.max_tokens * CHARS_PER_TOKEN * 4)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(told[:middle]) else (low, middle - 1)
        return told[:low]

    def _fits(self, told: str) -> bool:
        return self.count(told) <= self.max_tokens
