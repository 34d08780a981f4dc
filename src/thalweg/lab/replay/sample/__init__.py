"""A recording that ships with the package, so that a replay works without any other file.

Two rules: `scripts/record_sample.py` recorded it on this project's own source, without third-party
text; it changes only when it is recorded again.
"""

from thalweg.lab.replay.sample.place import sample_path

__all__ = ["sample_path"]
