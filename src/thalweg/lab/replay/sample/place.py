"""Where the sample lies."""

from importlib.resources import files
from pathlib import Path


def sample_path() -> Path:
    """Return the sample's path; `needles.jsonl` and `goals.jsonl` are in the same folder.

    Example:
        >>> sample_path().name
        'sample.jsonl.gz'
    """
    return Path(str(files("thalweg.lab.replay.sample") / "sample.jsonl.gz"))
