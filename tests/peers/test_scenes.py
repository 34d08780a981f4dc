"""The same agents on ours and on installed deepagents say, keep and raise the same."""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.scenes import IS_ASYNC, SCENES

pytest.importorskip("deepagents")

DIFFERENT: dict[str, str] = {}
"""Scenes in which ours is otherwise on purpose, with the reason; see docs/deepagents.md."""


def played(name: str, package: str, folder: Path) -> Any:  # noqa: ANN401 (plain values of any shape)
    """Play a scene in a folder of its own, whose name is in nothing that it returns."""
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _without(SCENES[name](package, folder), str(folder))


def _without(value: Any, folder: str) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return re.sub(r"\b0x[0-9a-f]+\b", "0x…", value.replace(folder, "FOLDER"))
    if isinstance(value, dict):
        return {key: _without(each, folder) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(each, folder) for each in value]
    return value


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run agents in one of the two ways."""
    token = IS_ASYNC.set(request.param)
    yield
    IS_ASYNC.reset(token)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", [name for name in SCENES if name not in DIFFERENT])
def test_a_scene_is_the_same_on_both(name: str, tmp_path: Path) -> None:
    """Whoever changes the import sees no difference."""
    theirs = played(name, "deepagents", tmp_path / "theirs")

    assert played(name, "thalweg", tmp_path / "ours") == theirs


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_still_one(name: str, tmp_path: Path) -> None:
    """A line of the documentation goes when what it tells of has gone."""
    theirs = played(name, "deepagents", tmp_path / "theirs")

    assert played(name, "thalweg", tmp_path / "ours") != theirs
