"""The page on evals shows the probes that there are."""

import re
from pathlib import Path

from thalweg_evals import PROBES
from thalweg_evals.base import Probe

PAGE = (Path(__file__).parents[2] / "docs" / "evals.md").read_text(encoding="utf-8")


def row(probe: Probe) -> str:
    """Write a probe as a line of the page's table."""
    shows = probe.shows[:1].lower() + probe.shows[1:].rstrip(".")
    cases = ", ".join(probe.variants).replace("_", " ")
    needs = ", ".join(sorted(probe.needs)).replace("_", " ")
    return f"| `{probe.name}` | {probe.asks} | {shows} | {cases} | {needs} |"


def test_the_table_has_every_probe() -> None:
    """In the order of the list; the lines below `assert` are what is to be written."""
    assert re.findall(r"^\| `.*$", PAGE, re.MULTILINE) == [row(one) for one in PROBES.values()]
