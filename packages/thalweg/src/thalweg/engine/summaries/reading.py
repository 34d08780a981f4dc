"""Parse a model's answer as a summary, or raise.

An answer without content must never replace the content it should summarise (I35): an empty answer,
an acknowledgement, a refusal, headings without lines, an answer that was cut off, the error text of
a summarizer. Reasoning, and a code fence or tags around the whole answer, are removed before it is
parsed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from thalweg.engine.data_files import keys_by_word, read_table
from thalweg.engine.summaries.summary import Summary
from thalweg.engine.transcript import clip
from thalweg.errors import SummaryError

_FINISH_PROBLEMS = keys_by_word(read_table(__package__, "finish.toml").items())
"""What each finish reason of a provider shows about an answer."""
_THINKING_TAGS = ("think", "thinking", "reasoning", "analysis")
_FENCED = re.compile(r"```[\w-]*[^\S\n]*\n(.*)\n```", re.DOTALL)
_ACKNOWLEDGEMENT = re.compile(
    r"(?:ok(?:ay)?|sure|certainly|of course|absolutely|got it|understood|acknowledged|ack[\w-]*"
    r"|will do|right away|here(?: is|'s)|below is|this is the|let me|i'll|i will"
    r"|i['\u2019]ve (?:summari|read)|i have (?:summari|read)|thanks|thank you|feel free"
    r"|好的|明白|收到|了解|知道了|当然|没问题|以下是|はい|承知"
    r"|bien sûr|d'accord|klar|verstanden|claro)(?![\w-])"
    r"|(?:done|yes|great|noted|ready|no problem)\W*$",
    re.IGNORECASE,
)
_ACK_CHARS = 200
_REFUSAL = re.compile(
    r"(?:i(?:['\u2019]m| am) (?:very |so |really )?(?:sorry|afraid|unable|not able)"
    r"|(?:sorry|unfortunately|apologies|i apologi[sz]e)\b"
    r"|i (?:can(?:['\u2019]t|not| not)|won['\u2019]t|will not|must decline|decline|refuse)\b"
    r"|as an ai\b|i do(?:n['\u2019]t| not) have (?:access|the|any) "
    r"|(?:很|非常|十分)?(?:抱歉|对不起|遗憾)|我(?:无法|不能|没法|没有办法|不可以)"
    r"|作为(?:一个)?(?:ai|人工智能)|申し訳|すみません|ごめん|죄송|lo siento|no puedo"
    r"|je suis désolé|je ne peux pas|désolé|(?:es )?tut mir leid|ich kann (?:nicht|dir|ihnen)"
    r"|desculpe|sinto muito|não posso|mi dispiace|извините|к сожалению)",
    re.IGNORECASE,
)
_FAILURE_TEXTS = (
    "Error generating summary: ",
    "No previous conversation history.",
    "Previous conversation was too long to summarize.",
)
"""How the texts begin that LangChain's `SummarizationMiddleware` returns in place of a summary:
the first up to 1.0, with the words of any exception; the others in every version up to 1.5
(`langchain/agents/middleware/summarization.py`, read on 2026-11-28)."""
MAX_LINES = 120
"""Most lines of one section that are read."""
MAX_LINE_CHARS = 1_200
"""Most characters of one line that are read; a longer line is clipped."""
MAX_CHARS = 400_000
"""Most characters of an answer that are read."""
_SECTIONS = keys_by_word(read_table(__package__, "titles.toml").items())
"""Section by title, in several languages."""
_BEFORE_TITLE = re.compile(
    r"(?P<bullet>[-*•+]\s+)?(?P<level>#{1,6})?\s*"
    r"(?P<number>(?:\d{1,2}|[一二三四五六])[.)、]\s*)?(?P<bold>\*\*|__|【)?"
)
_AFTER_BOLD = re.compile(r"\*\*|__|】")
_COLON = re.compile(r"[:\uff1a]")
_TITLE_CHARS = 60
_BULLET = re.compile(r"^\s*(?:[-*•+\u2013]|\d{1,3}[.)、])\s+")
_NO_CONTENT = re.compile(
    r"\W*(?:none|nothing|n/?a|not applicable|none (?:yet|so far|known|stated|given)"
    r"|no open questions"
    r"|无|没有|暂无|なし|ninguna?|aucune?|keine?)?\W*",
    re.IGNORECASE,
)
_HORIZONTAL_RULE = re.compile(r"[-=*_|:\s]+")
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


def check_failure_text(answer: str) -> None:
    """Raise if an answer is the text that a summarizer returns when it failed.

    Raises:
        SummaryError: It is one of LangChain's.
    """
    if answer.startswith(_FAILURE_TEXTS):
        problem = "it is the error text of a summarizer"
        raise SummaryError(problem, answer)


def is_filler(line: str) -> bool:
    """Return whether a line only acknowledges the request or announces an answer."""
    return len(line) <= _ACK_CHARS and _ACKNOWLEDGEMENT.match(line) is not None


def is_refusal(line: str) -> bool:
    """Return whether a line begins like a refusal, in several languages."""
    return _REFUSAL.match(line) is not None


def read_summary(text: str, *, finish: str = "") -> Summary:
    r"""Parse a model's answer as a summary.

    Headings may be of any level and form, translated, or the keys of a JSON object. Text below
    an unrecognized heading is added to the state of work.

    Args:
        text: The answer.
        finish: The model's finish reason, in its provider's word.

    Raises:
        SummaryError: The answer is unusable.

    Example:
        >>> read_summary("## Goal\n- Ship 1.2\n\n**Next steps:** tag it").next_steps
        ('tag it',)
    """
    check_finish(finish, text)
    answer = unwrapped(without_thinking(text[:MAX_CHARS])).strip()
    if not answer:
        problem = "it is empty"
        raise SummaryError(problem, text)
    check_failure_text(answer)
    parser = _SummaryParser()
    data = _as_json(answer)
    if data is None:
        parser.read(answer)
    else:
        parser.read_data(data)
    return _checked_summary(parser, answer)


def _as_json(text: str) -> Mapping[str, object] | None:
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def section_of(title: str) -> str:
    """Return the section that a title names; empty if it names none.

    Example:
        >>> section_of("Next_Steps"), section_of("目标"), section_of("Weather")
        ('next_steps', 'goal', '')
    """
    normalized_title = re.sub(r"[\s_\-*#:\uff1a.]+", " ", title).strip().casefold()
    return _SECTIONS.get(normalized_title, "")


@dataclass(frozen=True, slots=True)
class _HeadingLine:
    """A line that may be a heading."""

    title: str
    rest: str
    level: int
    in_bullet: bool
    is_bold: bool
    is_numbered: bool


def _as_heading(line: str) -> _HeadingLine | None:
    match = _BEFORE_TITLE.match(line)
    if match is None:
        return None
    text = line[match.end() :]
    bold_end = _AFTER_BOLD.search(text) if match["bold"] else None
    colon = _COLON.search(text)
    separator = bold_end or colon
    title = text[: separator.start()] if separator else text
    rest = text[separator.end() :] if separator else ""
    if bold_end:
        rest = _COLON.sub("", rest, count=1) if _COLON.match(rest.lstrip()) else rest
    title = title.strip().rstrip("#:\uff1a ")
    if not title or len(title) > _TITLE_CHARS:
        return None
    return _HeadingLine(
        title,
        rest.strip(),
        len(match["level"] or ""),
        in_bullet=bool(match["bullet"]),
        is_bold=bold_end is not None,
        is_numbered=match["number"] is not None,
    )


@dataclass(slots=True)
class _SummaryParser:
    """Parses lines into the sections of a summary."""

    sections: dict[str, list[str]] = field(default_factory=dict)
    unsectioned_lines: list[str] = field(default_factory=list)
    """Lines before any heading."""
    _current_section: str = ""
    _level: int = 0
    _is_outline: bool = False
    """Whether the headings are the numbered lines of an outline."""
    _pending_heading: str = ""
    """An unrecognized heading, until a line follows it."""
    _may_continue: bool = False
    """Whether the next line may continue the last one."""
    _in_code: bool = False

    def read_data(self, data: Mapping[str, object]) -> None:
        """Parse the keys of a JSON object as headings."""
        if len(data) == 1 and isinstance(inner := next(iter(data.values())), dict):
            data = inner
        for title, value in data.items():
            self._current_section = section_of(title) or "state"
            for line in _data_lines(value):
                self.add(line)

    def read(self, text: str) -> None:
        """Parse the lines of a text."""
        for line in text.splitlines():
            bare = line.strip()
            if bare.startswith("```"):
                self._in_code, self._may_continue = not self._in_code, False
            elif self._in_code:
                self.add(bare)
                self._may_continue = False
            elif not bare or (_HORIZONTAL_RULE.fullmatch(bare) and not bare.isspace()):
                self._may_continue = False
            elif not self._parse_heading(line.rstrip()):
                self._parse_line(line, bare)

    def _parse_heading(self, line: str) -> bool:
        heading = _as_heading(line)
        if heading is None:
            return False
        is_in_bullet = heading.in_bullet and bool(heading.rest)
        if section := section_of(heading.title):
            if is_in_bullet and not heading.is_bold and self._current_section:
                return False
            self._start_section(section, heading, is_in_bullet=is_in_bullet)
            return True
        is_heading = heading.level or (heading.is_bold and not heading.in_bullet)
        is_heading = is_heading or (
            self._is_outline and heading.is_numbered and line.endswith((":", "\uff1a"))
        )
        if not is_heading or heading.rest:
            return False
        if not heading.level or heading.level <= self._level or not self._current_section:
            self._current_section = "state"
        self._pending_heading, self._may_continue = heading.title, False
        return True

    def _start_section(self, section: str, heading: _HeadingLine, *, is_in_bullet: bool) -> None:
        old_section, self._current_section = self._current_section, section
        self._pending_heading, self._may_continue = "", False
        if heading.rest:
            self.add(heading.rest)
            self._may_continue = not is_in_bullet
        if is_in_bullet:
            self._current_section = old_section
        else:
            self._level = heading.level
            self._is_outline = heading.is_numbered and not heading.rest

    def _parse_line(self, line: str, bare: str) -> None:
        bullet = _BULLET.match(line)
        text = line[bullet.end() :].strip() if bullet else bare
        if self._current_section and not bullet and not self._may_continue and is_filler(bare):
            return
        lines = (
            self.sections.get(self._current_section)
            if self._current_section
            else self.unsectioned_lines
        )
        is_continued = self._may_continue and not bullet and not bare.startswith("|") and lines
        if is_continued and lines and len(lines[-1]) < MAX_LINE_CHARS:
            lines[-1] = f"{lines[-1]} {text}"[:MAX_LINE_CHARS]
            return
        self.add(text)
        self._may_continue = not bare.startswith("|")

    def add(self, text: str) -> None:
        """Append a line to the current section."""
        text = " ".join(text.split())
        if _NO_CONTENT.fullmatch(text):
            return
        if self._pending_heading:
            text, self._pending_heading = f"{self._pending_heading}: {text}", ""
        lines = (
            self.sections.setdefault(self._current_section, [])
            if self._current_section
            else self.unsectioned_lines
        )
        if len(lines) < MAX_LINES:
            lines.append(clip(text, MAX_LINE_CHARS))


def _data_lines(value: object) -> Iterator[str]:
    if isinstance(value, str):
        for line in value.splitlines():
            yield _BULLET.sub("", line).strip()
    elif isinstance(value, list):
        for item in value:
            yield item if isinstance(item, str) else _compact(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield f"{name}: {item if isinstance(item, str) else _compact(item)}"
    elif value is not None:
        yield _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _checked_summary(parser: _SummaryParser, answer: str) -> Summary:
    has_headings = any(parser.sections.values())
    loose_lines = [line for line in parser.unsectioned_lines if not is_filler(line)]
    refusals = [line for line in loose_lines if is_refusal(line)]
    if refusals[:1] == loose_lines[:1] and refusals and not has_headings:
        problem = "it is a refusal"
        raise SummaryError(problem, answer)
    loose_lines = loose_lines[1:] if refusals and refusals[0] == loose_lines[0] else loose_lines
    parser.sections["state"] = [*loose_lines, *parser.sections.get("state", [])]
    lines = [line for section in parser.sections.values() for line in section]
    if not lines:
        problem = (
            "it only acknowledges the request"
            if parser.unsectioned_lines
            else "it has headings alone"
        )
        raise SummaryError(problem, answer)
    if all(map(is_refusal, lines)):
        problem = "it is a refusal"
        raise SummaryError(problem, answer)
    if all(map(is_filler, lines)):
        problem = "it only acknowledges the request"
        raise SummaryError(problem, answer)
    if (
        not has_headings
        and sum(1 if c.isascii() else 3 for line in lines for c in line) < _LEAST_WEIGHT
    ):
        problem = "it is too short to be useful"
        raise SummaryError(problem, answer)
    return Summary(**{name: tuple(lines) for name, lines in parser.sections.items()})
