"""How commands print: lines for people, or JSON."""

import json
import sys
from collections.abc import Iterable
from typing import Any


def print_result(
    lines: Iterable[str], plain: dict[str, Any], *, as_json: bool, nothing: str = ""
) -> None:
    """Print a result in one of two forms.

    Args:
        lines: For people.
        plain: For programs.
        as_json: Whether it is for programs.
        nothing: A sentence for people on stderr, if there are no lines.
    """
    if as_json:
        print_json(plain)
        return
    whole = [*lines]
    print_lines(whole)
    if not whole and nothing:
        sys.stderr.write(f"{nothing}\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print for people."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def print_json(value: dict[str, Any]) -> None:
    """Print for programs."""
    sys.stdout.write(json.dumps(value, indent=1) + "\n")
