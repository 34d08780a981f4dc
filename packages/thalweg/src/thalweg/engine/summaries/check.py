"""Check a summary against its source, line by line, without a model.

Two laws: an identifier in a summary occurs in the source (I14); a statement that a summary
attributes to the user is in the words of one message of the user (I13). A line that breaks one is
dropped. A true paraphrase in entirely different words is dropped too: the structured summary holds
the user's own words.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from thalweg.engine.entries import Message
from thalweg.engine.summaries.names import Names, missing_names
from thalweg.engine.summaries.summary import SECTIONS, Summary, SummaryDefect
from thalweg.engine.summaries.user_statements import UserMessages
from thalweg.engine.transcript import as_text
from thalweg.errors import SummaryError

_AUTHORITY_CLAIM = re.compile(
    r"^\W*(?:(?:system|developer|admin(?:istrator)?|assistant|operator|root|instructions?|系统|开发者"
    r"|助手|管理员)(?: (?:message|prompt|reminder|note|notice|instruction|override))?\s*[\])>*_]*"
    r"\s*[:\uff1a]|</?\s*(?:system|developer|assistant|user|human)[\w-]*\s*>|<\||\[/?(?:INST|SYS))"
    r"|<\|im_(?:start|end)\|>|<<SYS>>|</?system-(?:reminder|message|prompt)>"
    r"|\b(?:ignore|disregard) (?:all |any |the )*(?:previous|prior|above|earlier) instructions",
    re.IGNORECASE,
)
"""Matches text that imitates a speaker of more authority than a summary has."""


@dataclass(frozen=True, slots=True)
class SummarySource:
    """The source of summaries, indexed once for all of them."""

    names: Names
    user_messages: UserMessages

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Self:
        """Index the messages to be summarised, and other messages that the model saw."""
        return cls(Names.of(_texts(messages)), UserMessages.of(messages))

    def checked(self, summary: Summary) -> tuple[Summary, tuple[SummaryDefect, ...]]:
        """Return a summary without the lines that its source does not support.

        Returns:
            The remaining summary, and a fault for each dropped line: its section, the line and the
            reason.

        Raises:
            SummaryError: No line remains.
        """
        sections: dict[str, tuple[str, ...]] = {}
        dropped: list[SummaryDefect] = []
        for section, lines in summary.sections.items():
            kept: list[str] = []
            for line in lines:
                kind, fault = _line_fault(section, line, self.names, self.user_messages)
                if fault:
                    detail = f"{SECTIONS[section]}: {line!r}: {fault}"
                    dropped.append(SummaryDefect(kind, detail, is_line=True))
                else:
                    kept.append(line)
            sections[section] = tuple(kept)
        remaining = Summary(**sections)
        if remaining.is_empty:
            problem = f"no line of it is borne out ({dropped[0]})" if dropped else "it is empty"
            raise SummaryError(problem)
        return remaining, tuple(dropped)


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


_USER_SECTIONS = frozenset({"goal", "constraints"})


def _line_fault(
    section: str, line: str, names: Names, user_messages: UserMessages
) -> tuple[str, str]:
    """Return the fault of a line, without its words and with them; empty if there is none."""
    if _AUTHORITY_CLAIM.search(line):
        fault = "it claims an authority that a summary does not have"
        return fault, fault
    if missing := next(iter(missing_names(line, names)), ""):
        return "a name is not in the messages", f"{missing!r} does not occur in the messages"
    return "the user did not say so", user_messages.fault(
        line, is_user_section=section in _USER_SECTIONS
    )
