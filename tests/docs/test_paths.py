"""Every path that the architecture, the contributor's guide and the decisions name exists."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, SOURCES, TESTS

FOLDERS = (ROOT, *SOURCES, *TESTS)
"""A path begins at the repository or at the import root of a package or of its tests."""
PAGES = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "internals.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]
_NAME = re.compile(r"`([\w./-]+/[\w.-]+|[a-z_][\w-]*\.(?:py|md|toml))`")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
_FOLDERS = re.compile(r"`((?:[\w-]+/)+)`")


def missing(page: Path, text: str) -> Iterator[str]:
    """Yield the paths in a page that exist neither in the repository nor in a package.

    A file name without a folder may be anywhere in the packages or the tests.
    """
    for name in chain(_NAME.findall(text), _FOLDERS.findall(text)):
        exists = any((folder / name).exists() for folder in FOLDERS)
        if not exists and ("/" in name or not _is_anywhere(name)):
            yield name
    yield from (link for link in _LINK.findall(text) if not (page.parent / link).exists())


def _is_anywhere(name: str) -> bool:
    return any(any(folder.rglob(name)) for folder in (ROOT / "tests", *SOURCES, *TESTS))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_named_path_exists(page: Path) -> None:
    assert not [*missing(page, page.read_text(encoding="utf-8"))]


def test_a_path_that_moved_is_reported() -> None:
    text = (
        "See `thalweg/engine/desk.py`, `gone.py`, `rooms/`, [a page](none.md); "
        "`thalweg/engine/edits.py` and `core_tests/unit/` exist."
    )
    assert [*missing(ROOT / "ARCHITECTURE.md", text)] == [
        "thalweg/engine/desk.py",
        "gone.py",
        "rooms/",
        "none.md",
    ]


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = sorted(folder.glob("[0-9]*.md"))
    assert [page.name for page in pages if f"]({page.name})" not in index] == []
    assert [page.name[:4] for page in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]
