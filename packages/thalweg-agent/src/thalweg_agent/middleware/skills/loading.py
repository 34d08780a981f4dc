"""Discovery of skills: read from a backend once, and again only if they changed."""

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from thalweg_agent.backends.paths import to_posix_path
from thalweg_agent.backends.protocol import (
    FILE_NOT_FOUND,
    FileDownloadResponse,
    FileInfo,
    GlobResult,
    LsResult,
)
from thalweg_agent.skills.format import FILE_NAME, Parsed, SkillMetadata, parse_skill
from thalweg_agent.tools.asking import BackendRequest, Steps

_log = logging.getLogger("thalweg.skills")


@dataclass(frozen=True, slots=True)
class LoadedSkills:
    """The skills of some sources, as they are now."""

    skills: list[SkillMetadata]
    """Each name once: the last source that has it wins."""
    errors: list[str]
    seen: dict[str, str] | None
    """Modification times of each SKILL.md, by its path; empty if unknown. `None` if the backend
    reports none: changes cannot be detected."""


def find_skills_in(
    sources: Sequence[str],
    known: Sequence[SkillMetadata] = (),
    seen: Mapping[str, str] | None = None,
    *,
    is_followed: bool = True,
) -> Steps[LoadedSkills | None]:
    """Return the skills in some folders.

    A SKILL.md is read once, and again only if its size or date changed, or if it may replace one
    that was deleted. A folder that can no longer be listed keeps its skills.

    Args:
        sources: The folders. A later one overrides by name.
        known: Skills found before.
        seen: The modification times found with them; `None` to read everything.
        is_followed: Whether to ask when files were changed.

    Returns:
        `None` if nothing changed.
    """
    listed: list[_Listed] = []
    for source in sources:
        one = yield from _list_source(source, seen or {})
        if is_followed and one.stamps:
            one.stamps.update((yield from _when_changed(source, one.stamps, seen or {})))
        listed.append(one)
    stamps = {path: stamp for one in listed for path, stamp in one.stamps.items()}
    errors = [one.error for one in listed if one.error]
    if seen is not None and stamps == seen:
        return None
    same = {path for path, stamp in stamps.items() if seen and seen.get(path) == stamp}
    skills = {skill["path"]: skill for skill in known if skill["path"] in same}
    paths = [path for path in stamps if path not in skills]
    answers = (yield BackendRequest("download_files", (paths,))) if paths else []
    for path, answer in zip(paths, answers, strict=True):
        parsed = read_download(answer, path)
        if parsed.skill is not None:
            skills[path] = parsed.skill
        elif parsed.problem:
            errors.append(f"Cannot load skill '{path}': {parsed.problem}")
    by_name = {skill["name"]: skill for path in stamps if (skill := skills.get(path))}
    tells = is_followed and (not stamps or any(stamps.values()))
    return LoadedSkills(list(by_name.values()), errors, stamps if tells else None)


@dataclass(frozen=True, slots=True)
class _Listed:
    stamps: dict[str, str]
    """Modification times of each possible SKILL.md, by its path; empty if unknown."""
    error: str = ""


def _list_source(source: str, seen: Mapping[str, str]) -> Steps[_Listed]:
    answer = yield BackendRequest("ls", (source,))
    entries: Iterable[FileInfo] = (answer.entries if isinstance(answer, LsResult) else answer) or ()
    stamps = {
        str(PurePosixPath(to_posix_path(entry["path"])) / FILE_NAME): ""
        for entry in entries
        if entry.get("is_dir")
    }
    if not isinstance(answer, LsResult) or not answer.error:
        return _Listed(stamps)
    error = f"Cannot load skills from '{source}': {answer.error}"
    _log.warning("%s", error)
    inside = f"{to_posix_path(source).rstrip('/')}/"
    return _Listed(stamps or {p: s for p, s in seen.items() if p.startswith(inside)}, error)


def _when_changed(
    source: str, paths: Container[str], seen: Mapping[str, str]
) -> Steps[dict[str, str]]:
    """Return the modification time of each SKILL.md of a source; empty if it reports none."""
    try:
        answer = yield BackendRequest("glob", (f"*/{FILE_NAME}", source))
    except NotImplementedError:
        return {}
    if not isinstance(answer, GlobResult):
        return {}
    is_partial = answer.truncated or answer.error
    stamps = dict(seen) if is_partial else {}
    for match in answer.matches or ():
        if when := match.get("modified_at"):
            stamps[to_posix_path(match["path"])] = f"{when} {match.get('size', '')}"
    return {path: stamp for path, stamp in stamps.items() if path in paths}


def read_download(answer: FileDownloadResponse, path: str) -> Parsed:
    """Parse a downloaded SKILL.md, and log its errors and oddities.

    A folder without one is no skill, and no error.
    """
    parsed = _parsed(answer, path)
    if parsed.problem:
        _log.warning("Skipping skill %s: %s", path, parsed.problem)
    for oddity in parsed.oddities:
        _log.warning("Skill %s does not follow the Agent Skills format: %s", path, oddity)
    return parsed


def _parsed(answer: FileDownloadResponse, path: str) -> Parsed:
    if answer.error:
        return Parsed(None, "" if answer.error == FILE_NOT_FOUND else answer.error)
    if answer.content is None:
        return Parsed(None, "it has no content")
    try:
        text = answer.content.decode("utf-8")
    except UnicodeDecodeError as error:
        return Parsed(None, f"it is not UTF-8 ({error.reason} at byte {error.start})")
    return parse_skill(text, path, PurePosixPath(path).parent.name)
