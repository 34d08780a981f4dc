"""What the README shows runs."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_every_example_runs(code: str) -> None:
    """An example that a reader copies works as it stands, its asserts included."""
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 (our own README)


def test_every_link_into_the_repository_leads_somewhere() -> None:
    """No page, picture or folder is named that is not there."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)

    assert links
    assert [link for link in links if not (Path(__file__).parents[2] / link).exists()] == []
