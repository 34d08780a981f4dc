"""The home folder of a machine's user, which holds the sessions."""

from pathlib import Path


def home_folder() -> Path:
    """Find the home folder; `/`, as containers have it, for a user who has none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
