"""Where Thalweg keeps its files when nobody says where."""

import os
from pathlib import Path


def home() -> Path:
    """Name the folder of Thalweg's files: THALWEG_HOME, or else `.thalweg` where one stands."""
    return Path(os.environ.get("THALWEG_HOME") or ".thalweg")


def default_place() -> Path:
    """Name the file of the archive that is used when none is named."""
    return home() / "thalweg.db"
