"""Parse a model's answer as a summary, or raise.

An answer without content must never replace the content it should summarise (I35): an empty answer,
headings without lines, an answer without a section of the requested form, as apologies and
acknowledgements are, and an answer that was cut off. Reasoning, and a code fence or tags around the
whole answer, are removed before it is parsed. Apart from the requested headings, `none` and `n/a`,
no rule depends on the language of the text.
"""

import re
from dataclasses import dataclass, field

from thalweg.engine.data_files import keys_by_word, read_table
from thalweg.engine.summaries.summary import SECTIONS, Summary
from thalweg.engine.transcript import clip
from thalweg.errors import SummaryError

_FINISH_PROBLEMS = keys_by_word(read_table(__package__, "finish.toml").items())
"""What each finish reason of a provider shows about an answer."""
_THINKING_TAGS = ("think", "thinking", "reasoning", "analysis")
_FENCED = re.compile(r"```[\w-]*[^\S\n]*\n(.*)\n```", re.DOTALL)
MAX_LINES = 120
"""Most lines of one section that are read."""
MAX_LINE_CHARS = 1_200
"""Most characters of one line that are read; a longer line is clipped."""
MAX_CHARS = 400_000
"""Most characters of an answer that are read."""
_SECTION_BY_TITLE = {title.casefold(): name for name, title in SECTIONS.items()}
_HEADING = re.compile(r"#{1,6}\s.*|(\*\*|__).*\1[:\uff1a]?")
"""Matches a Markdown heading, or a line that is bold as a whole."""
_AROUND_TITLE = re.compile(r"^[\W\d_]+|[\W_]+$")
"""Matches the number and the marks of a heading, on both sides of its title."""
_BULLET = re.compile(r"^\s*(?:[-*•+\u2013]|\d{1,3}[.)])\s+")
_NO_CONTENT = re.compile(r"\W*(?:none|n/?a)?\W*", re.IGNORECASE)
_LEAST_WEIGHT = 16
"""An answer below this weight is no summary; a letter of a script without spaces weighs three."""


def check_finish(finish: str, text: str) -> None:
    """Raise if the model's finish reason shows that its answer is unusable.

    Raises:
        SummaryError: The answer was cut off, stopped, or is a tool call.
    """
    if problem := _FINISH_PROBLEMS.get(finish.strip().lower()):
        detail = f"{problem} ({finish})"
        raise SummaryError(detail, text)


def without_thinking(text: str) -> str:
    """Remove reasoning that a model wrote into its answer, before or between its lines."""
    for tag in _THINKING_TAGS:
        text = _without_tagged(text, f"<{tag}>", f"</{tag}>")
    return text


def _without_tagged(text: str, opening: str, closing: str) -> str:
    pieces: list[str] = []
    opening_pattern = re.compile(rf"^[^\S\n]*{opening}", re.MULTILINE | re.IGNORECASE)
    closing_pattern = re.compile(closing, re.IGNORECASE)
    opening_match = opening_pattern.search(text)
    # Some templates write the opening tag themselves: only the closing one is in the answer.
    closing_match = re.search(rf"{closing}[^\S\n]*$", text, re.MULTILINE | re.IGNORECASE)
    offset = (
        closing_match.end()
        if closing_match
        and (opening_match is None or closing_match.start() < opening_match.start())
        else 0
    )
    while opening_match := opening_pattern.search(text, offset):
        pieces.append(text[offset : opening_match.start()])
        closing_match = closing_pattern.search(text, opening_match.end())
        if closing_match is None:
            return "".join(pieces)
        offset = closing_match.end()
    return "".join([*pieces, text[offset:]])


def unwrapped(text: str) -> str:
    """Remove a code fence or tags that enclose the whole answer."""
    text = text.strip()
    if (match := _FENCED.fullmatch(text)) and "\n```" not in match[1]:
        text = match[1].strip()
    match = re.match(r"<(\w+)>", text)
    if match and text.endswith(f"</{match[1]}>"):
        text = text[match.end() : -len(match[1]) - 3].strip()
    return text


def read_summary(text: str, *, finish: str = "", is_custom: bool = False) -> Summary:
    r"""Parse a model's answer as a summary.

    A heading may be of any level, numbered, bold, or end with a colon; that of a list is bold as a
    whole. Text below another heading, or before the first one, is added to the state of work.

    Args:
        text: The answer.
        finish: The model's finish reason, in its provider's word.
        is_custom: Whether a prompt of the user's own requested it, whose form is unknown.

    Raises:
        SummaryError: The answer is unusable.

    Example:
        >>> read_summary("## Goal\n- Ship 1.2\n\n**Next steps:**\n- tag the release").next_steps
        ('tag the release',)
    """
    check_finish(finish, text)
    answer = unwrapped(without_thinking(text[:MAX_CHARS])).strip()
    if not answer:
        problem = "it is empty"
        raise SummaryError(problem, text)
    parser = _SummaryParser()
    parser.read(answer)
    lines = [line for section in parser.sections.values() for line in section]
    if not parser.has_form and not is_custom:
        problem = "it has none of the requested sections"
    elif not lines:
        problem = "it has headings alone"
    elif sum(1 if c.isascii() else 3 for line in lines for c in line) < _LEAST_WEIGHT:
        problem = "it is too short to be useful"
    else:
        return Summary(**{name: tuple(lines) for name, lines in parser.sections.items()})
    raise SummaryError(problem, answer)


@dataclass(slots=True)
class _SummaryParser:
    """Parses lines into the sections of a summary."""

    sections: dict[str, list[str]] = field(default_factory=dict)
    has_form: bool = False
    """Whether it has a section of the requested form."""
    _section: str = "state"
    _level: int = 0
    _pending_heading: str = ""
    """An unrecognized heading, until a line follows it."""
    _may_continue: bool = False
    """Whether the next line may continue the last one."""
    _in_code: bool = False

    def read(self, text: str) -> None:
        """Parse the lines of a text."""
        for line in text.splitlines():
            bare = line.strip()
            if bare.startswith("```"):
                self._in_code, self._may_continue = not self._in_code, False
            elif not (self._in_code and bare) and _NO_CONTENT.fullmatch(_BULLET.sub("", line)):
                self._may_continue = False
            elif not self._read_heading(bare):
                add = self._add if self._in_code else self._read_line
                add(line)

    def _read_heading(self, line: str) -> bool:
        """Begin a section if a line is a heading; its rest is the first line of the section.

        A requested heading ends a code block: the block encloses the summary, or was never closed.
        """
        text = _BULLET.sub("", line)
        head, *rests = re.split(r"[:\uff1a]", text, maxsplit=1)
        level = len(line) - len(line.lstrip("#"))
        is_heading = _HEADING.fullmatch(text) is not None
        is_plain = text is line and not self._in_code
        section = _SECTION_BY_TITLE.get(_AROUND_TITLE.sub("", head).casefold())
        if section and (is_heading or is_plain):
            self._section, self._level, self.has_form = section, level, True
            self._pending_heading, self._in_code = "", False
            if rest := "".join(rests).lstrip("*_ "):
                self._add(rest)
            self._may_continue = bool(rest)
            return True
        if not (is_heading and is_plain):
            return False
        if not level or level <= self._level:
            self._section = "state"
        self._pending_heading, self._may_continue = line.strip("#*_: "), False
        return True

    def _read_line(self, line: str) -> None:
        text = _BULLET.sub("", line)
        lines = self.sections.get(self._section, [])
        is_row = line.lstrip().startswith("|")
        if self._may_continue and text is line and not is_row and len(lines[-1]) < MAX_LINE_CHARS:
            lines[-1] = f"{lines[-1]} {' '.join(text.split())}"[:MAX_LINE_CHARS]
            return
        self._add(text)
        self._may_continue = not is_row

    def _add(self, text: str) -> None:
        """Append a line to the current section."""
        text = " ".join(text.split())
        if self._pending_heading:
            text, self._pending_heading = f"{self._pending_heading}: {text}", ""
        lines = self.sections.setdefault(self._section, [])
        if len(lines) < MAX_LINES:
            lines.append(clip(text, MAX_LINE_CHARS))
