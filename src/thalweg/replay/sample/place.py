"""Where the sample lies."""

from importlib.resources import files
from pathlib import Path


def sample_path() -> Path:
    """Find the sample recording; its `needles.jsonl` and `goals.jsonl` lie beside it.

    Example:
        >>> sample_path().name
        'sample.jsonl.gz'
    """
    return Path(str(files("thalweg.replay.sample") / "sample.jsonl.gz"))
