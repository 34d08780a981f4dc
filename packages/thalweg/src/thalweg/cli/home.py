"""Where the sessions of a machine's user lie."""

from pathlib import Path


def home_folder() -> Path:
    """Find the home folder; `/`, as containers have it, for a user who has none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
