"""How summaries are merged, and how a structured summary shows them.

A summary is made from the originals, once (I29). Summaries of several chunks, and later of
several spans, are merged by the rules here, without a model.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thalweg.engine.prompts import prompt
from thalweg.engine.summaries.summary import SECTIONS, Summary
from thalweg.engine.tokens import Counter
from thalweg.engine.transcript import one_line

ACCUMULATING_SECTIONS = ("goal", "constraints", "decisions")
"""Sections that remain valid as a thread continues: oldest first. The others: newest first."""


def merged(summaries: Sequence[Summary]) -> Summary:
    """Merge the summaries of one span's chunks, oldest first, without a model.

    Example:
        >>> merged([Summary(state=("a fails",)), Summary(state=("a passes",))]).state
        ('a passes', 'a fails')
    """
    return Summary(**{name: tuple(_distinct(_section_lines(name, summaries))) for name in SECTIONS})


def _section_lines(name: str, summaries: Sequence[Summary]) -> Iterator[str]:
    for summary in summaries if name in ACCUMULATING_SECTIONS else reversed(summaries):
        yield from summary.sections[name]


def _distinct(lines: Iterable[str]) -> list[str]:
    """Drop lines that differ from an earlier one in form alone."""
    first_lines: dict[str, str] = {}
    for line in lines:
        first_lines.setdefault(_normalized(line), line)
    return list(first_lines.values())


def _normalized(line: str) -> str:
    """Return a line without what differs in form alone.

    Example:
        >>> _normalized("- **Never**  touch `vendor/`.")
        'never touch vendor/'
    """
    words = _WORDS.findall(unicodedata.normalize("NFKC", line).casefold())
    return " ".join(words)


_WORDS = re.compile(r"[^\s*`\"'\u201c\u201d\u2018\u2019_#.,;:!?()\u3002-]+")
LINE_CHARS = 800
"""A longer line is clipped when it is rendered."""
_CHARS_PER_TOKEN = 16
"""Lines with more characters per token of the budget than this are not counted."""
_FENCE_TAGS = re.compile(
    r"<(?=\s*/?\s*(?:thread-record|transcript|system|user|human|assistant|developer|tool|\|))"
    r"|\[(?=/?(?:INST|SYS)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, order=True)
class _SummaryLine:
    """A line of a summary, its rank for scarce space, and its position."""

    rank: tuple[int, int, int]
    span: int
    section: str
    text: str


def render_summaries(
    summaries: Sequence[tuple[int, int, Summary]], *, budget: int, count: Counter
) -> str:
    """Render the summaries of several spans for a structured summary.

    The newest span is the most complete one. In older spans, next steps are dropped first, then
    open questions, the state of work and decisions; constraints and goals last. A line that
    several spans have is shown once.

    Args:
        summaries: First and last position of each span and its summary, oldest first.
        budget: Most tokens of the text.
        count: Counter of tokens.

    Returns:
        The text; empty if no line fits. A larger budget shows the same lines and maybe more.
    """
    lines = _ranked([summary for _, _, summary in summaries])
    chars, max_lines = 0, 0
    for line in lines:
        chars += len(line.text)
        max_lines += chars <= _CHARS_PER_TOKEN * budget
    fitting_lines, overlong_lines = 0, max_lines + 1
    while overlong_lines - fitting_lines > 1:
        middle = (fitting_lines + overlong_lines) // 2
        if count(_render_lines(lines[:middle], summaries)) <= budget:
            fitting_lines = middle
        else:
            overlong_lines = middle
    return _render_lines(lines[:fitting_lines], summaries) if fitting_lines else ""


def _ranked(summaries: Sequence[Summary]) -> list[_SummaryLine]:
    """Return the lines of all spans without duplicates, the first to drop last."""
    lines: list[_SummaryLine] = []
    newest = len(summaries) - 1
    for name in SECTIONS:
        spans = {
            line: span for span, summary in enumerate(summaries) for line in summary.sections[name]
        }
        newest_first = (line for summary in reversed(summaries) for line in summary.sections[name])
        for k, text in enumerate(_distinct(newest_first)):
            span = spans[text]
            rank = _SECTION_RANKS[name][span != newest]
            lines.append(_SummaryLine((rank, newest - span, k), span, name, text))
    return sorted(lines)


_SECTION_RANKS = {
    "constraints": (0, 2),
    "goal": (1, 3),
    "decisions": (7, 8),
    "state": (5, 9),
    "next_steps": (4, 11),
    "questions": (6, 10),
}
"""Ranks for scarce space, lowest shown first: in the newest span, and in older ones."""


def _render_lines(
    lines: Sequence[_SummaryLine], summaries: Sequence[tuple[int, int, Summary]]
) -> str:
    order = list(SECTIONS)
    blocks = [prompt("summaries").render()]
    last_heading: tuple[int, str] | None = None
    for line in sorted(
        lines, key=lambda entry: (entry.span, order.index(entry.section), entry.rank)
    ):
        if last_heading is None or last_heading[0] != line.span:
            first, last, _ = summaries[line.span]
            blocks.append(f"\n### Messages {first}-{last}")
        if last_heading != (line.span, line.section):
            is_old = line.section == "next_steps" and line.span != len(summaries) - 1
            blocks.append(f"{SECTIONS[line.section]}{' at that time' if is_old else ''}:")
        last_heading = line.span, line.section
        blocks.append(f"- {shown_line(line.text)}")
    return "\n".join(blocks)


def shown_line(text: str) -> str:
    """Return a line without line breaks, of bounded length, that opens or closes no fence."""
    return _FENCE_TAGS.sub(lambda match: f"{match[0]}\\", one_line(text, LINE_CHARS))
