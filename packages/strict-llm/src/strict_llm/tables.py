"""The tables of errors and fields, which are TOML files of this package."""

import tomllib
from importlib.resources import files
from typing import Any


def read_table(name: str) -> dict[str, Any]:
    """Read a table by its path in the package."""
    return tomllib.loads((files("strict_llm") / name).read_text("utf-8"))
