"""The same agents on ours and on installed deepagents have the same messages, files and errors."""

import re
import warnings
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.peers.scenes import IS_ASYNC, SCENES

pytest.importorskip("deepagents")

DIFFERENT = {
    "calls_that_cannot_be": "what is wrong with a call is said line by line, and what it takes",
    "dangling_calls": "a call without a result may have had effects, and its result says so",
    "delegates_to_nobody": "a task that nobody took is an error",
    "has_no_shell": "the refusal of `execute` lists the tools, of which ours are more",
    "edits_of_parallel_subagents": "no edit is lost",
    "line_ends_of_windows": "an edit leaves the line ends of a file as they are",
    "rights_of_a_subagent": "a subagent may not do what its parent may not",
    "what_a_subagent_changed_is_told": "a report names the files that were changed",
}
"""Scenes in which ours is otherwise on purpose, with the reason; see docs/deepagents.md."""


def played(name: str, package: str, folder: Path) -> Any:  # noqa: ANN401 (plain values of any shape)
    """Play a scene in a folder of its own, whose name is in nothing that it returns."""
    folder.mkdir()
    with chdir(folder.parent), warnings.catch_warnings():
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
    """A user who changes the import sees no difference."""
    theirs = played(name, "deepagents", tmp_path / "theirs")

    assert played(name, "thalweg_agent", tmp_path / "ours") == theirs


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_still_one(name: str, tmp_path: Path) -> None:
    """A line of the documentation is removed when its difference no longer exists."""
    theirs = played(name, "deepagents", tmp_path / "theirs")

    assert played(name, "thalweg_agent", tmp_path / "ours") != theirs
