"""The links of README and documentation, and the page on installing."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import PAGES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_into_the_repository_leads_somewhere(page: str) -> None:
    """Every page, picture and folder that a page links to exists."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8"))

    assert links or page != "README.md"
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_every_extra_is_in_the_page_on_installing() -> None:
    """A reader finds each extra of `pyproject.toml` with what it adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")

    assert [name for name in project["optional-dependencies"] if f"`{name}`" not in page] == []
