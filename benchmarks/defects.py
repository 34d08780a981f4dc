"""Print which faults show with us and with `deepagents`, scene by scene.

Run with `uv run --group bench python -m benchmarks.defects`; the letters of
scenes, if passed, choose some.
"""

import sys
import tempfile
import warnings
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from tests.defects.scenes import SCENES
from tests.defects.talks import Side


def main() -> int:
    """Run every scene on both sides."""
    warnings.simplefilter("ignore")
    table = Table("fault", *(f"{side}: shows" for side in get_args(Side)))
    shown = 0
    for name, scene in SCENES.items():
        if sys.argv[1:] and name.partition(" ")[0] not in sys.argv[1:]:
            continue
        row = [name]
        for side in get_args(Side):
            with tempfile.TemporaryDirectory() as folder:
                outcome = scene(side, Path(folder))
            row.append(f"{'yes' if outcome.shows else 'no'}: {outcome.told}")
            shown += outcome.shows and side == "ours"
        table.add_row(*row)
    Console(width=150).print(table)
    return shown


if __name__ == "__main__":
    sys.exit(main())
