"""The list of skills for the model, within a budget: some described, the rest named or counted."""

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thalweg.engine.tokens import Counter
from thalweg_agent.prompts import prompt
from thalweg_agent.skills.format import SkillMetadata, annotations

DEFAULT_BUDGET = 2_000
"""Tokens of the list of skills: 1 % of a window of 200,000."""
LEAST_BUDGET = 100
"""Tokens in which a list can at least state how many skills there are."""
NAMES_SHARE = 0.3
"""Share of the budget reserved for the names of skills that are not described."""
MAX_SKILLS_LOAD_WARNINGS = 20
MAX_SKILL_LOAD_WARNING_LENGTH = 1000
_TRUNCATED = "... [truncated]"


@dataclass(frozen=True, slots=True)
class Listing:
    """The list of skills for the model."""

    text: str
    described: tuple[str, ...]
    """Names of the described skills, in the order of the list."""
    is_complete: bool
    """Whether all skills are described."""


def list_skills(
    skills: Sequence[SkillMetadata], first: Sequence[str], budget: int, count: Counter
) -> Listing:
    """Describe as many skills as fit, and name or count the others.

    The order is always that of `skills`, independent of preference. Listing again with the
    described skills as `first` describes the same skills.

    Args:
        skills: All skills, each name once.
        first: Names of those described before others, most preferred first.
        budget: Most tokens of the text.
        count: Counts tokens.
    """
    written = {skill["name"]: describe(skill) for skill in skills}
    whole = "\n".join(written.values())
    if len(whole) <= budget or count(whole) <= budget:
        return Listing(whole, tuple(written), is_complete=True)
    preferred = dict.fromkeys([*(name for name in first if name in written), *written])
    room = budget - int(budget * NAMES_SHARE)
    chosen: set[str] = set()
    for name in preferred:
        tokens = count(written[name]) + 1
        if tokens <= room:
            room -= tokens
            chosen.add(name)
    described = [name for name in written if name in chosen]
    others = [name for name in written if name not in chosen]
    text = _with_names([written[name] for name in described], others, budget, count)
    return Listing(text, tuple(described), is_complete=False)


def describe(skill: SkillMetadata) -> str:
    """Render one skill: its purpose, its tools, its path.

    Line breaks in it are removed, so that no part of its file forms a line of its own.
    """
    about = annotations(skill)
    line = f"- **{_line(skill['name'])}**: {_line(skill['description'])}"
    lines = [f"{line} ({_line(about)})" if about else line]
    if skill["allowed_tools"]:
        lines.append(f"  -> Allowed tools: {_line(', '.join(skill['allowed_tools']))}")
    path = skill["path"].replace("\n", " ")
    lines.append(f"  -> Read `{path}` for full instructions")
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _with_names(
    described: Sequence[str], others: Sequence[str], budget: int, count: Counter
) -> str:
    """Render descriptions, then as many names of the others as fit."""

    def written(names: Sequence[str], left: int) -> str:
        more = f", and {left} more" if left else ""
        listed = f": {', '.join(names)}{more}." if names else "."
        return "\n".join(
            [*described, prompt("skills_more").render(count=len(others), names=listed)]
        )

    names: list[str] = []
    room = budget - count(written(["…"], len(others)))
    for name in map(_line, others):
        room -= count(f", {name}")
        if room < 0:
            break
        names.append(name)
    while names and count(written(names, len(others) - len(names))) > budget:
        names.pop()
    return written(names, len(others) - len(names))


def write_locations(sources: Sequence[str], labels: Sequence[str]) -> str:
    """Render the sources of skills, with the one that has precedence."""
    rows = zip(labels, sources, strict=True)
    lines = [f"**{label} Skills**: `{source}`" for label, source in rows]
    if lines:
        lines[-1] += " (higher priority)"
    return "\n".join(lines)


def write_warnings(errors: Sequence[str]) -> str:
    """Render loading errors as data: no text in them can end the fence."""
    if not errors:
        return ""
    shown = [_shortened(error) for error in errors[:MAX_SKILLS_LOAD_WARNINGS]]
    if left := len(errors) - len(shown):
        plural = "" if left == 1 else "s"
        shown.append(f"{left} additional skill loading warning{plural} omitted.")
    lines = (f"- {html.escape(json.dumps(error), quote=True)}" for error in shown)
    return "\n\n" + prompt("skills_warnings").render(lines="\n".join(lines))


def _shortened(error: str) -> str:
    if len(error) <= MAX_SKILL_LOAD_WARNING_LENGTH:
        return error
    return error[: MAX_SKILL_LOAD_WARNING_LENGTH - len(_TRUNCATED)] + _TRUNCATED


def write_found(skills: Iterable[SkillMetadata], budget: int, count: Counter) -> str:
    """Render search results, best first, as many as fit."""
    lines: list[str] = []
    for skill in skills:
        lines.append(describe(skill))
        if count("\n".join(lines)) > budget:
            lines.pop()
            break
    return "\n".join(lines)
