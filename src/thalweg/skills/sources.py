"""Where skills come from: folders of skill folders, with a label for people and models."""

from pathlib import PurePosixPath

SkillSource = str | tuple[str, str]
"""A folder of the backend, or one with a label. The label comes before the word Skills."""


def posix(path: str) -> str:
    r"""Write a path with `/`, whatever system it is of.

    Example:
        >>> posix("C:\\skills\\pdf")
        'C:/skills/pdf'
    """
    return path.replace("\\", "/")


def source_path(source: SkillSource) -> str:
    """Give the folder of a source.

    Raises:
        TypeError: It is neither a path nor a path with a label.
    """
    match source:
        case str():
            return source
        case (str() as path, str()):
            return path
        case _:
            msg = f"Invalid skill source: expected str or (str, str) tuple, got {source!r}"
            raise TypeError(msg)


def source_label(source: SkillSource) -> str:
    """Give the label of a source: its own, or one made from the end of its path.

    A folder that is just called `skills` has the name of the one it is in.

    Example:
        >>> [source_label(s) for s in ("/skills/user/", "~/.claude/skills", ("/s", "Team"))]
        ['User', 'Claude', 'Team']
    """
    if isinstance(source, tuple):
        return source[1]
    parts = PurePosixPath(posix(source).rstrip("/")).parts
    if not parts:
        return "Unnamed"
    *above, leaf = parts
    if leaf.lower() == "built_in_skills":
        return "Built-in"
    parent = above[-1].lstrip(".") if above else ""
    if leaf.lower() == "skills" and parent and parent != "/":
        return parent.replace("_", " ").replace("-", " ").title()
    return leaf.capitalize()
