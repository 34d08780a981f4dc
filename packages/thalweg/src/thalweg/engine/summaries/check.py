"""Check a summary against its source, line by line, without a model.

Code checks what it can know: identifiers, quotations and turns. An identifier of a line occurs in
the source (I14), so does the text between its quotation marks, and a line in the form of a turn
has the words of a message by that role (I13). What does not occur is marked at the end of its
line. What a line means is not judged, in no language: a summary is shown as its model's words, and
the user's own words are in the structured summary.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from thalweg.engine.entries import Message
from thalweg.engine.prompts import prompt
from thalweg.engine.summaries.names import Names, missing_names
from thalweg.engine.summaries.summary import SECTIONS, Summary, SummaryDefect
from thalweg.engine.transcript import as_text, one_line

_QUOTE = re.compile(r"[\"“„]([^\"“”„\n]+)[\"”“]|«([^«»\n]+)»|「([^「」\n]+)」|『([^『』\n]+)』")
_TURN = re.compile(
    r"[\W_]*(user|human|assistant|system|developer|tool)[\W_]*[:\uff1a][\W_]*(.+)", re.IGNORECASE
)
"""A line in the form of a turn: a role of the providers' formats, a colon, and words."""
_ROLES = {"human": "user", "developer": "system"}
_MARKED_CHARS = 60
"""Characters shown of each item that is not in the source."""
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class SummarySource:
    """The source of summaries, indexed once for all of them."""

    names: Names
    words: str
    words_by_role: dict[str, str]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Self:
        """Index the messages to be summarised, and other messages that the model saw."""
        texts = list(_texts(messages))
        roles = {message.role for message in messages}
        words_by_role: dict[str, str] = {
            role: _comparable(
                m.text for m in messages if m.role == role and (m.is_request or role != "user")
            )
            for role in sorted(roles)
        }
        return cls(Names.of(texts), _comparable(texts), words_by_role)

    def checked(self, summary: Summary) -> tuple[Summary, tuple[SummaryDefect, ...]]:
        """Return a summary in which what its source does not contain is marked.

        Returns:
            The summary, and a defect for each marked line.
        """
        sections: dict[str, tuple[str, ...]] = {}
        defects: list[SummaryDefect] = []
        for section, lines in summary.sections.items():
            marked: list[str] = []
            for line in lines:
                missing = list(dict.fromkeys(self._missing(line)))
                if missing:
                    items = ", ".join(one_line(item, _MARKED_CHARS) for item in missing)
                    detail = f"{SECTIONS[section]}: {line!r}: not in the messages: {items}"
                    defects.append(SummaryDefect("not in the messages", detail, is_line=True))
                    line = f"{line} {prompt('summary_mark').render(items=items)}"  # noqa: PLW2901
                marked.append(line)
            sections[section] = tuple(marked)
        return Summary(**sections), tuple(defects)

    def _missing(self, line: str) -> Iterator[str]:
        """Yield the identifiers, quotations and turns of a line that the source lacks."""
        yield from missing_names(line, self.names)
        for match in _QUOTE.finditer(line):
            quote = next(filter(None, match.groups()))
            if _comparable([quote]) not in self.words:
                yield f'"{quote}"'
        if turn := _TURN.fullmatch(line):
            role = _ROLES.get(turn[1].lower(), turn[1].lower())
            if _comparable([turn[2]]) not in self.words_by_role.get(role, ""):
                yield f"{turn[1]}: {turn[2]}"


def _comparable(texts: Iterable[str]) -> str:
    """Return texts without what differs between copies: case, spaces and final punctuation."""
    text = _SPACES.sub(" ", "\n".join(texts)).strip().rstrip(".,;:!?\u3002")
    return text.casefold().replace("\u2019", "'")


def _texts(source: Sequence[Message]) -> Iterator[str]:
    for message in source:
        yield as_text(message)
        for call in message.calls:
            yield from _unescaped_strings(call.arguments)


def _unescaped_strings(arguments: str) -> list[str]:
    """Return the strings in the arguments of a call, with JSON escapes decoded."""
    if "\\" not in arguments:
        return []
    strings: list[str] = []
    try:
        json.loads(arguments, object_pairs_hook=lambda pairs: strings.extend(_string_values(pairs)))
    except (ValueError, RecursionError):
        return []
    return strings


def _string_values(pairs: list[tuple[str, object]]) -> Iterator[str]:
    for _, value in pairs:
        values = value if isinstance(value, list) else [value]
        yield from (item for item in values if isinstance(item, str))
