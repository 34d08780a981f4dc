"""What the README and the pages it links to show runs."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/langchain.md", "docs/engine.md", "docs/tutorial.md")
EXAMPLES = [
    (page, code)
    for page in PAGES
    for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
]


@pytest.mark.parametrize(("page", "code"), EXAMPLES)
def test_every_example_runs(
    page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example that a reader copies works unchanged, its asserts included."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, page, "exec"), {})  # noqa: S102 (our own pages)


@pytest.mark.parametrize(
    "page",
    ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))],
)
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
