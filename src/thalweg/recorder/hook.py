# noqa: INP001  # a file that is run by its path
"""Runs the hook of `thalweg_recorder`: installations older than the packages have this path.

Without it, Python ends with 2 there, by which a coding agent blocks a prompt.
"""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]
runpy.run_path(
    str(ROOT / "packages/thalweg-recorder/src/thalweg_recorder/hook.py"), run_name="__main__"
)
