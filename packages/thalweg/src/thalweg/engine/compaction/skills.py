"""Skills that were loaded into a thread: the messages that hold one, and how to read it again.

A skill is identified by the file it is read from, or by the fence in which the harness added it to
the conversation. It is loaded as long as its whole text is shown; the others are named, with
instructions to read them again (I16).
"""

import html
import json
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from operator import attrgetter

from thalweg.engine.entries import SKILL_FILE, Entry, ToolUse

MAY_BE_SKILL = attrgetter("may_be_skill")
_SKILL_FENCE = re.compile(r'<skill name="([^"\n]{1,500})" path="([^"\n]{1,1000})">\n')


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A message that holds a skill, or a page of one."""

    position: int
    name: str
    path: str
    tool: str
    """The tool that reads it."""
    begins: bool
    """Whether it holds the beginning: then earlier reads are outdated, not other pages."""


def loaded_skill(entry: Entry) -> LoadedSkill | None:
    """Return the skill that a message holds; `None` if it holds none.

    A file that the agent reads is a skill by its name: `SKILL.md` in the skill's own folder. Of the
    user's messages only the harness's can hold one.
    """
    message, use = entry.message, entry.answers
    if use is not None:
        if not use.target.endswith(SKILL_FILE) or use.action != "read" or message.is_error:
            return None
        *_, folder, file = ["", "", *re.split(r"[/\\]", use.target)]
        if file != SKILL_FILE:
            return None
        return LoadedSkill(
            entry.position, folder or file, use.target, use.name, _starts_at_first_line(use)
        )
    if message.role != "user" or message.kind != "injected":
        return None
    match = _SKILL_FENCE.match(message.text)
    if match is None:
        return None
    name, path = html.unescape(match[1]), html.unescape(match[2])
    return LoadedSkill(entry.position, name, path, "read_file", begins=True)


def _starts_at_first_line(use: ToolUse) -> bool:
    """Return whether a read starts at the first line."""
    try:
        scope = json.loads(use.scope) if use.scope else {}
    except (ValueError, RecursionError):
        return False
    offset = scope.get("offset") if isinstance(scope, dict) else None
    return offset in {None, 0, 1}


def whole_skills(
    entries: Iterable[Entry], rewrites: Container[int]
) -> dict[str, list[LoadedSkill]]:
    """Return the skills that are shown whole, by path: the pages of each, oldest skill first.

    Args:
        entries: The messages that are shown, oldest first.
        rewrites: Positions of those that are shown in another form.
    """
    pages: dict[str, list[LoadedSkill]] = {}
    for skill in filter(None, map(loaded_skill, filter(MAY_BE_SKILL, entries))):
        earlier_pages = [] if skill.begins else pages.get(skill.path, [])
        pages.pop(skill.path, None)
        pages[skill.path] = [*earlier_pages, skill]
    return {
        path: skill_pages
        for path, skill_pages in pages.items()
        if skill_pages[0].begins and not any(page.position in rewrites for page in skill_pages)
    }
