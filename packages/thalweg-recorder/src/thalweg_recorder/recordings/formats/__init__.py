"""Parsers of recorded threads, one file per format.

Each has a `FORMAT` with `detect` and `read`; `FORMATS` in `thalweg_recorder/recordings/files.py`
lists them. `read` ends in `SessionRows.recording`; begin with `droid.py`.
"""
