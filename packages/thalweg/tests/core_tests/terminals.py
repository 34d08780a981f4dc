"""Terminals of any width."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def terminal(width: int | None) -> Iterator[None]:
    """Make stdout a terminal of this width without colours; `None`: a pipe, with `COLUMNS` set."""
    variables = {"COLUMNS": f"{width or 40}", "NO_COLOR": "1"}
    with (
        patch.dict(os.environ, variables),
        patch.object(sys.stdout, "isatty", lambda: width is not None),
    ):
        yield
