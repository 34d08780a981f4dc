"""Print the minutes that the tests of each package take: `python -m scripts.minutes RESULTS.xml`.

RESULTS.xml is what `pytest --junitxml` writes. Minutes are the sum over tests, each with its setup
and teardown; several run at a time. The table is that of CONTRIBUTING.md, in Markdown; packages
above their budget there are marked.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
_ROW = re.compile(r"^\| `([\w/-]+)` \| (\d+) \|", re.MULTILINE)


def seconds_by_package(results: Path) -> dict[str, float]:
    """Return the seconds of the tests of each package; `tests` are those of the repository."""
    found: defaultdict[str, float] = defaultdict(float)
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 (written by our own tests)
        parts = case.get("classname", "").split(".")
        name = parts[1] if parts[0] == "packages" else parts[0]
        found[name] += float(case.get("time", 0))
    return found


def budgets(page: str) -> dict[str, int]:
    """Return the minutes that each package may take, from the table in a page."""
    _, _, table = page.partition("| package | minutes, at most |")
    return {name: int(minutes) for name, minutes in _ROW.findall(table)}


def main() -> None:
    """Print a row for each package."""
    at_most = budgets(PAGE.read_text(encoding="utf-8"))
    print("| package | minutes, at most | measured |\n|---|---:|---:|")
    for name, seconds in sorted(seconds_by_package(Path(sys.argv[1])).items()):
        minutes, budget = seconds / 60, at_most.get(name, 0)
        print(f"| `{name}` | {budget} | {minutes:.1f} |{'  over' if minutes > budget else ''}")


if __name__ == "__main__":
    main()
