"""Each figure of README has a row in `docs/evidence.md`, and those of a row are in its source."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import PAGES, ROOT

PAGE = ROOT / "docs" / "evidence.md"
README = (ROOT / "README.md").read_text(encoding="utf-8")
_NUMBER = re.compile(r"(?<![\w.#-])\d[\d,]*(?:\.\d+)*(?![\w-])")
_GENERATED = re.compile(r"<!-- figures: arena -->(.*?)<!-- end -->", re.DOTALL)
_COMMAND = re.compile(r"python -m benchmarks\.|thalweg eval .*--")


class Row(NamedTuple):
    """A claim with the page, and perhaps the section, that it is from."""

    claim: str
    command: str
    data: str
    when: str
    source: str


def numbers(text: str) -> set[float]:
    """Return the numbers of a text; of a version such as 1.4.7, none.

    Example:
        >>> sorted(numbers("$22.61, 27% of 3,600 calls in `v1` of 1.4.7"))
        [22.61, 27.0, 3600.0]
    """
    found = (one.rstrip(",").replace(",", "") for one in _NUMBER.findall(text))
    return {float(one) for one in found if one.count(".") < 2}


def prose(text: str) -> str:
    """Return a page without code, addresses and generated tables."""
    for pattern in (
        _GENERATED,
        re.compile(r"!\[.*?\]"),
        re.compile(r"```.*?```", re.DOTALL),
        re.compile(r"`[^`]*`"),
    ):
        text = pattern.sub("", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def is_in(number: float, found: set[float]) -> bool:
    """Return whether a number is one of others, as it is, rounded, or in per cent."""
    return any(
        number in {value, round(value), round(value, 1), round(value, 2), round(value * 100)}
        for value in found
    )


def rows_of(text: str, heading: str) -> list[Row]:
    """Return the rows of the table below a heading."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [Row(*(cell.strip() for cell in line.strip("| ").split(" | "))) for line in lines]


def source_text(row: Row) -> str:
    """Return the page or the section that a row names."""
    link: str = re.findall(r"\]\(([^)]*)\)", row.source)[-1]
    path, _, anchor = link.partition("#")
    text = (PAGE.parent / path).read_text(encoding="utf-8")
    if not anchor:
        return text
    for found in re.finditer(r"^(#+) (.*)$", text, re.MULTILINE):
        if re.sub(r"[^\w -]", "", found[2]).lower().replace(" ", "-") == anchor:
            below = re.compile(rf"^#{{1,{len(found[1])}}} ", re.MULTILINE)
            return below.split(text[found.end() :])[0]
    msg = f"{path} has no heading #{anchor}"
    raise AssertionError(msg)


TEXT = PAGE.read_text(encoding="utf-8")
ROWS = rows_of(TEXT, "README"), rows_of(TEXT, "Pages")


def unproved(readme: str, rows: list[Row]) -> list[float]:
    """Return the numbers in the prose of README that no row's claim has."""
    proved = numbers(" ".join(row.claim for row in rows))
    return sorted(numbers(prose(readme)) - proved)


def test_every_figure_of_readme_has_a_row() -> None:
    assert unproved(README.replace("Version 0.1", ""), ROWS[0]) == []
    assert unproved("It saves 73 %.", ROWS[0]) == [73]


@pytest.mark.parametrize("row", [*ROWS[0], *ROWS[1]], ids=lambda row: row.claim[:40])
def test_the_figures_of_a_row_are_in_its_source(row: Row) -> None:
    found = numbers(source_text(row))
    claimed = numbers(row.claim.replace("twenty", "20"))
    assert [number for number in claimed if not is_in(number, found)] == []
    assert row.command
    assert row.data
    assert re.search(r"20\d\d-\d\d|in the page|no figure", row.when)


def test_every_page_that_names_a_benchmark_has_a_row() -> None:
    linked = {Path(link).as_posix() for link in re.findall(r"\]\(([^)#]+)", TEXT)}
    measured = {
        page.removeprefix("docs/")
        for page in PAGES
        if page.startswith("docs/")
        and "decisions/" not in page
        and _COMMAND.search((ROOT / page).read_text(encoding="utf-8"))
    }
    assert measured - linked - {"evidence.md", "moved.md"} == set()


def test_the_table_of_readme_is_that_of_the_arena() -> None:
    """The whole bill of each policy, rounded; both are written by `benchmarks.arena`."""
    (table,) = _GENERATED.findall(README)
    arena = (ROOT / "docs" / "arena.md").read_text(encoding="utf-8")
    bills = arena.partition("<!-- figures: whole_bill -->")[2].partition("\n\n**")[2]
    bills = bills.partition("\n\n**")[0]
    compared = 0
    for line in table.splitlines():
        cells = [cell.strip("* `") for cell in line.strip("|").split("|")]
        if not line.startswith("|") or not re.fullmatch(r"[\d.]+", cells[1]):
            continue
        name = re.sub(r".*cost: (\w+)", r"thalweg-\1", cells[0]).replace("deep", "peer:deep")
        (row,) = re.findall(rf"^\| `{name}` \|(.*)$", bills, re.MULTILINE)
        whole = float(row.split("|")[8])
        assert abs(float(cells[1]) - whole) <= 0.051, (name, cells[1], whole)
        compared += 1
    assert compared >= 2


def test_the_front_page_is_short() -> None:
    assert len(README.split()) <= 900
