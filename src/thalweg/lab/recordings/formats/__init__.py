"""Parsers of recorded threads, one file per format.

Each has `detect` and `read`; `lab/recordings/files.py` lists them.
"""
