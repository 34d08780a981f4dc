"""Projects that are not recorded: those with the user's opt-out file."""

from pathlib import Path

OPT_OUT = ".thalweg-off"
"""A file of this name in a folder keeps the sessions of that folder, and of all below it, out."""


def is_opted_out(project: Path) -> bool:
    """Return whether a project, or a folder above it, has the file that keeps it out.

    Example:
        >>> is_opted_out(Path("/"))
        False
    """
    try:
        return any((folder / OPT_OUT).exists() for folder in (project, *project.parents))
    except OSError:
        return False
