"""Summaries by a model: the value, how those of chunks are joined, how a record shows them.

A summary is made from the originals, once (I29). Those of several chunks, and later those of
several spans, are joined by the rules here and by no model.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from thalweg.prompts import prompt
from thalweg.summaries.words import denies, key
from thalweg.tokens import Counter


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model wrote of a stretch of a thread: lines, without bullets, in six sections."""

    goal: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """The lines of every section by its name, in order."""
        return {name: getattr(self, name) for name in SECTIONS}

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not any(self.sections.values())


SECTIONS = {
    "goal": "Goal",
    "constraints": "Constraints",
    "decisions": "Decisions",
    "state": "State of work",
    "next_steps": "Next steps",
    "questions": "Open questions",
}
"""Names of the sections, in order, and the titles that they are shown under."""


def summary_to_data(summary: Summary) -> dict[str, list[str]]:
    """Write a summary as plain data that JSON can hold; empty sections are left out.

    Example:
        >>> summary_to_data(Summary(goal=("Ship it.",)))
        {'goal': ['Ship it.']}
    """
    return {name: list(lines) for name, lines in summary.sections.items() if lines}


def summary_from_data(data: object) -> Summary:
    """Read what `summary_to_data` wrote.

    Raises:
        ValueError: The data is nothing of the kind.
    """
    if not isinstance(data, Mapping) or not data.keys() <= SECTIONS.keys():
        msg = f"not the sections of a summary: {str(data)[:80]}"
        raise ValueError(msg)
    sections: dict[str, tuple[str, ...]] = {}
    for name, lines in data.items():
        if not isinstance(lines, (list, tuple)) or not all(isinstance(x, str) for x in lines):
            msg = f"section {name} of a summary is not a list of lines"
            raise ValueError(msg)
        sections[name] = tuple(lines)
    return Summary(**sections)


ACCUMULATE = ("goal", "constraints", "decisions")
"""Sections that stay true as a thread goes on: oldest first. Of the others the newest counts."""


def merged(summaries: Sequence[Summary]) -> Summary:
    """Join the summaries of one span's chunks, oldest first, without a model.

    Example:
        >>> merged([Summary(state=("a fails",)), Summary(state=("a passes",))]).state
        ('a passes', 'a fails')
    """
    return Summary(**{name: tuple(_distinct(_lines(name, summaries))) for name in SECTIONS})


def _lines(name: str, summaries: Sequence[Summary]) -> Iterator[str]:
    for summary in summaries if name in ACCUMULATE else reversed(summaries):
        yield from summary.sections[name]


def _distinct(lines: Iterable[str]) -> list[str]:
    """Leave out lines that say no more than another one; the longer takes the shorter's place."""
    kept: dict[int, tuple[str, str]] = {}
    holding: defaultdict[str, list[int]] = defaultdict(list)
    known_by: defaultdict[str, list[int]] = defaultdict(list)
    for n, line in enumerate(lines):
        whole = key(line)
        words = whole.split() or [""]
        rarest = min(words, key=lambda word: len(holding[word]))
        if any(_says(kept[i][1], whole) for i in holding[rarest] if i in kept):
            continue
        shorter = {i for word in words for i in known_by.get(word, ()) if i in kept}
        said = sorted(i for i in shorter if _says(whole, kept[i][1]))
        for i in said:
            del kept[i]
        at = said[0] if said else n
        kept[at] = (line, whole)
        known_by[rarest].append(at)
        for word in set(words):
            holding[word].append(at)
    return [kept[i][0] for i in sorted(kept)]


def _says(longer: str, shorter: str) -> bool:
    """Whether one line holds another whole, and does not deny what it says."""
    return f" {shorter} " in f" {longer} " and denies(longer) == denies(shorter)


LINE_CHARS = 800
"""A longer line is clipped where it is shown."""
_CHARS_PER_TOKEN = 16
"""Lines of more characters a token of the budget than this are not tried."""
_TAGS = re.compile(
    r"<(?=\s*/?\s*(?:thread-record|transcript|system|user|human|assistant|developer|tool|\|))"
    r"|\[(?=/?(?:INST|SYS)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, order=True)
class _Line:
    """A line of a summary: how soon it is shown when room is scarce, and where it stands."""

    rank: tuple[int, int, int]
    span: int
    section: str
    text: str


def render_summaries(
    summaries: Sequence[tuple[int, int, Summary]], *, budget: int, count: Counter
) -> str:
    """Write the summaries of several spans for a record.

    The newest span is the most complete one. Of older spans, next steps go first, then open
    questions, the state of work and decisions; constraints and goals go last. What several
    spans say is shown once.

    Args:
        summaries: First and last position of each span and its summary, oldest first.
        budget: Most tokens of the text.
        count: Counter of tokens.

    Returns:
        The text; empty when not even one line fits. A larger budget shows the same lines and
        maybe more.
    """
    lines = _ranked([summary for _, _, summary in summaries])
    chars, most = 0, 0
    for line in lines:
        chars += len(line.text)
        most += chars <= _CHARS_PER_TOKEN * budget
    shown, over = 0, most + 1
    while over - shown > 1:
        middle = (shown + over) // 2
        if count(_written(lines[:middle], summaries)) <= budget:
            shown = middle
        else:
            over = middle
    return _written(lines[:shown], summaries) if shown else ""


def _ranked(summaries: Sequence[Summary]) -> list[_Line]:
    """List the lines of all spans, each said once, the last to go first."""
    lines: list[_Line] = []
    newest = len(summaries) - 1
    for name in SECTIONS:
        spans = {
            line: span for span, summary in enumerate(summaries) for line in summary.sections[name]
        }
        newest_first = (line for summary in reversed(summaries) for line in summary.sections[name])
        for k, text in enumerate(_distinct(newest_first)):
            span = spans[text]
            rank = _RANKS[name][span != newest]
            lines.append(_Line((rank, newest - span, k), span, name, text))
    return sorted(lines)


_RANKS = {
    "constraints": (0, 2),
    "goal": (1, 3),
    "decisions": (7, 8),
    "state": (5, 9),
    "next_steps": (4, 11),
    "questions": (6, 10),
}
"""What is shown first when room is scarce: of the newest span, and of older ones."""


def _written(lines: Sequence[_Line], summaries: Sequence[tuple[int, int, Summary]]) -> str:
    order = list(SECTIONS)
    blocks = [prompt("summaries").render()]
    at: tuple[int, str] | None = None
    for line in sorted(lines, key=lambda x: (x.span, order.index(x.section), x.rank)):
        if at is None or at[0] != line.span:
            first, last, _ = summaries[line.span]
            blocks.append(f"\n### Messages {first}-{last}")
        if at != (line.span, line.section):
            old = line.section == "next_steps" and line.span != len(summaries) - 1
            blocks.append(f"{SECTIONS[line.section]}{' at that time' if old else ''}:")
        at = line.span, line.section
        blocks.append(f"- {shown_line(line.text)}")
    return "\n".join(blocks)


def shown_line(text: str) -> str:
    """Write a line as one line, of bounded length, that opens or closes no fence."""
    line = " ".join(text[: 4 * LINE_CHARS].split())
    line = line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…"
    return _TAGS.sub(lambda match: f"{match[0]}\\", line)
