"""Where recorded threads of others lie; they are not in the repository."""

import os
from pathlib import Path

RECORDED = Path(
    os.environ.get("THALWEG_RECORDED") or Path(__file__).parents[5] / "shared" / "data" / "recorded"
)
"""`THALWEG_RECORDED`, or the folder next to the repository."""
WHY_SKIPPED = f"no recorded threads at {RECORDED}; set THALWEG_RECORDED"
