"""The links of README and documentation, and the page on installing."""

import re
import tomllib

import pytest

from tests.docs.pages import PAGES, ROOT

PROJECTS = [
    tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
]
EXTRAS = {project["name"]: [*project.get("optional-dependencies", {})] for project in PROJECTS}
"""The extras of each package."""


@pytest.mark.parametrize("page", PAGES)
def test_every_link_into_the_repository_leads_somewhere(page: str) -> None:
    """Every page, picture and folder that a page links to exists."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8"))

    assert links or page != "README.md"
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_every_extra_is_in_the_page_on_installing() -> None:
    """A reader finds each package, and each of its extras with what it adds."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    missing = [
        f"{name}[{extra}]" if extra else name
        for name, extras in EXTRAS.items()
        for extra in ("", *extras)
        if not any(f"| `{name}` |" in row and (not extra or f"`{extra}`" in row) for row in rows)
    ]
    assert missing == []
