"""The page on evals shows the probes that there are."""

import re
from pathlib import Path

from thalweg_evals import PROBES, Probe

PAGE = (Path(__file__).parents[2] / "docs" / "evals.md").read_text(encoding="utf-8")


def row(probe: Probe) -> str:
    """Write a probe as a line of the page's table."""
    shows = probe.shows[:1].lower() + probe.shows[1:].rstrip(".")
    cases = ", ".join(probe.cases).replace("_", " ")
    return f"| `{probe.name}` | {probe.asks} | {shows} | {cases} |"


def test_the_table_has_every_probe() -> None:
    """In the order of the list; the lines below `assert` are what is to be written.

    The page's own example registers a probe in any process that executes it.
    """
    shipped = [one for one in PROBES.values() if one.build.__module__.startswith("thalweg_evals")]
    section = PAGE.partition("## The probes")[2].partition("\n## ")[0]

    assert re.findall(r"^\| `.*$", section, re.MULTILINE) == [row(one) for one in shipped]
