"""The pages for people who come from DeerFlow: what they name is there."""

import re

from tests.docs.pages import ROOT
from tests.docs.pages import TESTS as PACKAGE_TESTS

FEATURES = (ROOT / "docs" / "deerflow-features.md").read_text(encoding="utf-8")
TESTS: dict[str, str] = {}
"""The tests by the names of their files, of which several folders may have one."""
for folder in (ROOT / "tests", *PACKAGE_TESTS):
    for path in folder.rglob("test_*.py"):
        TESTS[path.name] = TESTS.get(path.name, "") + path.read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| .+? \| ((?:the same|differs: ).*?) \| .+ \|$", re.MULTILINE)


def test_every_test_that_is_named_exists() -> None:
    """A row that names a test which was renamed shows nothing."""
    named = set(re.findall(r"(test_\w+\.py)(?:::(\w+))?", FEATURES))
    assert [file for file, _ in named if file not in TESTS] == []
    assert [
        (file, name) for file, name in named if name and f"def {name}(" not in TESTS[file]
    ] == []


def test_every_row_says_what_is_here_and_what_shows_it() -> None:
    rows = ROW.findall(FEATURES)
    numbers = [int(number) for number, _ in rows]
    same = sum(here.startswith("the same") for _, here in rows)
    assert numbers == list(range(1, len(numbers) + 1))
    assert f"Of {len(numbers)}, {same} are the same and {len(numbers) - same} differ" in FEATURES
