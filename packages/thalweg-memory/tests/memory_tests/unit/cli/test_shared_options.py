"""Options of a group are read on either side of the name of a command."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thalweg.errors import ConfigError
from thalweg_memory.cli.commands import memory


def answer(*arguments: str) -> Any:  # noqa: ANN401 (JSON)
    """Run a command that prints JSON."""
    ended = CliRunner().invoke(memory, arguments)
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Make a memory of two owners."""
    place = str(tmp_path / "a.db")
    for owner, fact in (("ada", "User rows"), ("local", "User runs")):
        answer("add", fact, "--db", place, "--owner", owner, "--json")
    return place


def contents(*arguments: str) -> list[str]:
    """Return the facts that a command shows."""
    return [fact["content"] for fact in answer(*arguments)["facts"]]


def test_an_option_is_read_before_the_command_behind_it_and_on_both_sides(db: str) -> None:
    shared = ("--db", db, "--owner", "ada", "--json")
    for split in range(0, len(shared), 2):
        before, behind = shared[:split], shared[split:]
        assert contents(*before, "show", *behind) == ["User rows"]


def test_what_is_behind_the_command_goes_first(db: str) -> None:
    ada = ("--json", "--db", db, "--owner", "ada", "show")
    assert contents(*ada, "--owner", "local") == ["User runs"]


def test_an_option_that_is_not_given_is_the_default(db: str) -> None:
    assert contents("show", "--json", "--db", db) == ["User runs"]


def test_an_option_that_a_command_does_not_take_is_refused() -> None:
    ended = CliRunner().invoke(memory, ("--json", "export"))
    assert isinstance(ended.exception, ConfigError)
    assert "has no such option; leave it out" in str(ended.exception)


def test_the_help_of_a_command_has_the_options_of_its_group() -> None:
    text = CliRunner().invoke(memory, ("search", "--help")).stdout
    assert {"--owner", "--json"} <= {word for word in text.split() if word.startswith("--")}
