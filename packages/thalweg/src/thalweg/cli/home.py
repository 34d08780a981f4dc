"""The home folder of a machine's user, which holds the sessions."""

import os
from pathlib import Path


def home_folder() -> Path:
    """Find the home folder; `/`, as containers have it, for a user who has none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def user_folder() -> Path:
    """Name the folder of what belongs to the user: `THALWEG_HOME`, or `.thalweg` in the home."""
    return Path(os.environ.get("THALWEG_HOME") or home_folder() / ".thalweg")
