"""How a model writes a summary when a harness asks for one, in whatever words it does.

A competent summary keeps what the case calls its gist (goals, constraints, how far the work is)
and how far was read; it never keeps details, so that what is tested is whether those can be found
again. It is written under the headings that the request gives.
"""

import re
from collections.abc import Iterator, Sequence

from thalweg.evals.paging import progress
from thalweg.evals.scripted.moves import View, written

LINES = 40
"""Most lines of a summary; the newest are kept."""
NEWEST = 3
"""Lines of the summary of a model that keeps no gist."""
_ENDS = 3_000
"""Characters at both ends of a request in which it says what it asks for; the rest is data."""
_ASKS = re.compile(
    r"\b(?:summari[sz]e|condense|compress)\b"
    r"|\b(?:write|create|give|produce|provide|generate|extract)\b[^.\n]{0,90}\b(?:summary|context)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"\b(?:conversation|transcript|messages|history|session)\b", re.IGNORECASE)
_FENCE = re.compile(r"<(transcript\w*|messages|conversation\w*|history)>\n(.*)\n</\1>", re.DOTALL)
_NOT_THE_USER = re.compile(r"not the user speaking", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,4} (\S.*)$", re.MULTILINE)
_OF_GOALS = re.compile(r"goal|intent|objective|request", re.IGNORECASE)
_OF_WORK = re.compile(r"state|summary|progress|work|context", re.IGNORECASE)
_SPEAKER = re.compile(
    r'^(?:\W*#?\d*\s*|<message type=")(human|user|ai|assistant|tool|system)\b',
    re.IGNORECASE | re.MULTILINE,
)


def asks_for_summary(view: View) -> bool:
    """Tell whether a request asks for a summary of the conversation.

    A user who says "summary" does not, nor does a summary that stands where a user's message
    would: it must be asked for, of the conversation, by somebody who is not the user. That is so
    where no tools are given, where the conversation is fenced off as data, or where it is said.
    """
    asked = view.asked
    if view.tools and not (_FENCE.search(asked) or _NOT_THE_USER.search(asked[:_ENDS])):
        return False
    rules = "" if view.tools else view.system
    text = "\n".join([rules[:_ENDS], _FENCE.sub("", asked)[:_ENDS], asked[-_ENDS:]])
    return _ASKS.search(text) is not None and _OF.search(text) is not None


def summary(view: View, gist: Sequence[str]) -> str:
    """Write what a competent model does.

    Args:
        view: A request that asks for a summary.
        gist: Patterns of what is kept.
    """
    text = _source(view)
    users, others = _told(text, gist)
    if (read := progress(text)) or not (users or others):
        others.append(read or "The conversation has only begun: there is nothing to report.")
    headings = _HEADING.findall(_FENCE.sub("", view.asked))
    goals = next((one for one in headings if _OF_GOALS.search(one)), "")
    work = next((one for one in headings if _OF_WORK.search(one) and one != goals), "")
    if not goals or not work:
        return "\n".join([*users, *others])
    return "\n".join([*_section(goals, users), *_section(work, others)])


def newest_lines(view: View) -> str:
    """Write what a model does that keeps no gist: the newest lines alone."""
    lines = [line for line in _source(view).splitlines() if line.strip()]
    return "\n".join(lines[-NEWEST:])


def _source(view: View) -> str:
    """Give the conversation that is to be summarized: fenced off, or all that stands before."""
    if fenced := _FENCE.search(view.asked):
        return fenced[2]
    before = [one for one in view.messages if one.role != "system"]
    shown = before[:-1] if len(before) > 1 else before
    return "\n".join(f"{one.role}: {written(one)}" for one in shown)


def _told(text: str, gist: Sequence[str]) -> tuple[list[str], list[str]]:
    """Find the gist: what the user said of it, and what others did."""
    found: dict[str, tuple[int, bool]] = {}
    speakers = [(at.start(), at[1].lower()) for at in _SPEAKER.finditer(text)]
    for pattern in gist:
        for place in re.finditer(pattern, text):
            by = [who for start, who in speakers if start <= place.start()]
            line = " ".join(place[0].split())
            found.setdefault(line, (place.start(), by[-1:] in (["human"], ["user"])))
    newest = sorted(found, key=lambda line: found[line][0])[-LINES:]
    return [a for a in newest if found[a][1]], [a for a in newest if not found[a][1]]


def _section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {heading}"
        yield from (f"- {line}" for line in lines)
