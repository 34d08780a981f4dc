"""How a scripted model writes a summary when a harness requests one, in any phrasing.

A competent summary keeps the gist of the case (goals, constraints, progress) and the last page
read; it never keeps details, so that the test is whether those can be found again. It uses the
headings of the request.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from thalweg_evals.material.paging import progress
from thalweg_evals.scripted.moves import View, written

LINES = 40
"""Most lines of a summary; the newest are kept."""
NEWEST = 3
"""Lines of a summary by a model that keeps no gist."""
_ENDS = 3_000
"""Characters at both ends of a request in which its instructions are; the rest is data."""
_SUMMARIZE = re.compile(
    r"\b(?:summari[sz]e|condense|compress)\b"
    r"|\b(?:write|create|give|produce|provide|generate|extract)\b[^.\n]{0,90}\b(?:summary|context)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"\b(?:conversation|transcript|messages|history|session)\b", re.IGNORECASE)
_FENCE = re.compile(r"<(transcript\w*|messages|conversation\w*|history)>\n(.*)\n</\1>", re.DOTALL)
_NOT_THE_USER = re.compile(r"not the user speaking", re.IGNORECASE)
_LEFT_OUT = re.compile(r"[Ww]hat stands in an? <([\w-]+)>")
"""Matches the part that a request excludes, because it is kept elsewhere."""
_HEADING = re.compile(r"^#{1,4} (\S.*)$", re.MULTILINE)
_OF_GOALS = re.compile(r"goal|intent|objective|request", re.IGNORECASE)
_OF_WORK = re.compile(r"state|summary|progress|work|context", re.IGNORECASE)
_SPEAKER = re.compile(
    r'^(?:\W*#?\d*\s*|<message type=")(human|user|ai|assistant|tool|system)\b',
    re.IGNORECASE | re.MULTILINE,
)
_USERS, _ASSISTANTS = frozenset({"human", "user"}), frozenset({"ai", "assistant"})
_TAG = re.compile(r"</?\w[^>]*>")
_REQUEST_CHARS = 400
"""Kept characters of the user's last request."""


def is_summary_request(view: View) -> bool:
    """Return whether a request is for a summary of the conversation.

    A user's message with the word "summary" is not, nor is an existing summary in the user role:
    the summary of the conversation must be requested, and not by the user. That is so if there are
    no tools, if the conversation is fenced as data, or if the text states it.
    """
    prompt = view.prompt
    if view.tools and not (_FENCE.search(prompt) or _NOT_THE_USER.search(prompt[:_ENDS])):
        return False
    rules = "" if view.tools else view.system
    text = "\n".join([rules[:_ENDS], _FENCE.sub("", prompt)[:_ENDS], prompt[-_ENDS:]])
    return _SUMMARIZE.search(text) is not None and _OF.search(text) is not None


def summary(view: View, gist: Sequence[str]) -> str:
    """Return the summary of a competent model.

    Args:
        view: A request for a summary.
        gist: Patterns of the content to keep.
    """
    text = _source(view)
    headings = _HEADING.findall(_FENCE.sub("", view.prompt))
    goals = next((one for one in headings if _OF_GOALS.search(one)), "")
    work = next((one for one in headings if _OF_WORK.search(one) and one != goals), "")
    users, others = _gist_lines(text, gist)
    users += [one for one in _open_request(text, goals) if one not in users]
    if (read := progress(text)) or not (users or others):
        others.append(read or "The conversation has only begun: there is nothing to report.")
    if not goals or not work:
        return "\n".join([*users, *others])
    return "\n".join([*_section(goals, users), *_section(work, others)])


def newest_lines(view: View) -> str:
    """Return the summary of a model that keeps no gist: only the newest lines."""
    lines = [line for line in _source(view).splitlines() if line.strip()]
    return "\n".join(lines[-NEWEST:])


def _source(view: View) -> str:
    """Return the conversation to summarize: the fenced one, or all earlier messages."""
    if fenced := _FENCE.search(view.prompt):
        return fenced[2]
    before = [one for one in view.messages if one.role != "system"]
    shown = before[:-1] if len(before) > 1 else before
    text = "\n".join(f"{one.role}: {written(one)}" for one in shown)
    for tag in dict.fromkeys(_LEFT_OUT.findall(view.prompt)):
        text = re.sub(rf"<{tag}>.*?</{tag}>", "", text, flags=re.DOTALL)
    return text


def _gist_lines(text: str, gist: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the gist: statements of the user, and actions of others."""
    found: dict[str, tuple[int, bool]] = {}
    speakers = list(_SPEAKER.finditer(text))
    starts = [at.start() for at in speakers]
    for pattern in gist:
        for place in re.finditer(pattern, text):
            before = bisect_right(starts, place.start())
            is_users = before > 0 and speakers[before - 1][1].lower() in _USERS
            line = html.unescape(" ".join(place[0].split()))
            found.setdefault(line, (place.start(), is_users))
    newest = sorted(found, key=lambda line: found[line][0])[-LINES:]
    return [a for a in newest if found[a][1]], [a for a in newest if not found[a][1]]


def _open_request(text: str, goals: str) -> list[str]:
    """Return the user's last request, if it has no answer yet.

    If a summary is in the user role, return its text under the same heading.
    """
    speakers = list(_SPEAKER.finditer(text))
    users = [n for n, at in enumerate(speakers) if at[1].lower() in _USERS]
    if not users or speakers[-1][1].lower() in _ASSISTANTS:
        return []
    newest = users[-1]
    end = speakers[newest + 1].start() if newest + 1 < len(speakers) else len(text)
    block = html.unescape(_TAG.sub(" ", text[speakers[newest].end() : end]))
    request = block.strip(' :">\n')
    if goals and (
        carried := re.search(rf"^## {re.escape(goals)}\n((?:- .*\n?)+)", request, re.MULTILINE)
    ):
        return [line.removeprefix("- ") for line in carried[1].splitlines()]
    return [" ".join(request.split())[:_REQUEST_CHARS]]


def _section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"## {heading}"
        yield from (f"- {line}" for line in lines)
