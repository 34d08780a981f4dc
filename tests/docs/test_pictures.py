"""No picture is stale: each shows the figures of today, and a command draws it."""

import pytest

from scripts.pictures import DOCS, PICTURES, stored


def test_every_picture_has_a_command() -> None:
    drawn = {path.name for kind in ("png", "svg") for path in DOCS.rglob(f"*.{kind}")}

    assert drawn == set(PICTURES) == set(stored())


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_the_figures_of_today(name: str) -> None:
    """After a change of the figures, run its command, then `python -m scripts.pictures NAME`."""
    assert stored()[name] == PICTURES[name].digest, PICTURES[name].command
