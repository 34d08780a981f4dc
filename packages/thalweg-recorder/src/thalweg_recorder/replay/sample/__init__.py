"""A recording that ships with the package, so that a replay works without any other file.

Two rules: `scripts/record_sample.py` recorded it on this project's own source, without third-party
text; it changes only when it is recorded again.
"""

from importlib.resources import files
from pathlib import Path


def sample_path() -> Path:
    """Return the sample's path; `needles.jsonl` and `goals.jsonl` are in the same folder.

    Example:
        >>> sample_path().name
        'sample.jsonl.gz'
    """
    return Path(str(files(__name__) / "sample.jsonl.gz"))
