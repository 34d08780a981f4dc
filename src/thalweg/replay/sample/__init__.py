"""A recording that ships with the package, so that a replay has something to read anywhere.

Two rules: it was recorded by `scripts/record_sample.py` on this project's own source and holds
nobody else's words; it changes only when it is recorded anew.
"""

from thalweg.replay.sample.place import sample_path

__all__ = ["sample_path"]
