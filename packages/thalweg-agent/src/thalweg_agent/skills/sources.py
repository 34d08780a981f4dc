"""Sources of skills: folders of skill folders, with a label for people and models."""

from pathlib import PurePosixPath

from thalweg_agent.backends.paths import to_posix_path

SkillSource = str | tuple[str, str]
"""A folder of the backend, or one with a label. The label comes before the word Skills."""


def source_path(source: SkillSource) -> str:
    """Return the folder of a source.

    Raises:
        TypeError: It is neither a path nor a path with a label.
    """
    given: object = source
    match given:
        case str() as path:
            return path
        case (str() as path, str()):
            return path
        case _:
            msg = f"Invalid skill source: expected str or (str, str) tuple, got {given!r}"
            raise TypeError(msg)


def source_label(source: SkillSource) -> str:
    """Return the label of a source: its own, or one derived from the end of its path.

    For a folder named just `skills` the label is derived from its parent.

    Example:
        >>> [source_label(s) for s in ("/skills/user/", "~/.claude/skills", ("/s", "Team"))]
        ['User', 'Claude', 'Team']
    """
    if isinstance(source, tuple):
        return source[1]
    parts = PurePosixPath(to_posix_path(source).rstrip("/")).parts
    if not parts:
        return "Unnamed"
    *above, leaf = parts
    if leaf.lower() == "built_in_skills":
        return "Built-in"
    parent = above[-1].lstrip(".") if above else ""
    if leaf.lower() == "skills" and parent and parent != "/":
        return parent.replace("_", " ").replace("-", " ").title()
    return leaf.capitalize()
