"""The core's commands where the libraries of the other products cannot be imported."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core_tests.unit.archive.threads.driver import KEY, Driver
from recorder_tests.e2e.test_cli import MANY, environment
from thalweg.archive import open_archive

TERMINAL = ("prompt_toolkit", "rich", "typer", "wcmatch")
OTHERS = (*TERMINAL, "yaml")
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
NOBODY = "postgresql://nobody@127.0.0.1:1/none"


def run(
    names: Sequence[str], commands: Sequence[Sequence[str]], folder: Path
) -> list[tuple[int, str, str]]:
    """Run commands in one process that cannot import some packages."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(names=names) + MANY],
        input=json.dumps(commands),
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """An archive with one thread."""
    file = tmp_path / "thalweg.db"
    with open_archive(file) as archive:
        driver = Driver(archive=archive)
        for bank in range(6):
            driver.ask(f"Count the birds of bank {bank}, and never skip the herons.")
        driver.end()
    return str(file)


def test_every_core_command_works_without_the_libraries_of_other_products(
    place: str, tmp_path: Path
) -> None:
    with open_archive(place) as archive:
        handle = next(iter(archive.handles(KEY)))
    at = ("--archive", place)
    thread = [
        ["list"],
        ["show", "t1"],
        ["show", "t1", "--context", "--json"],
        ["show", "t1", "--messages"],
        ["search", "t1", "bank"],
        ["show", "t1", f"{handle}#0"],
        ["export", "t1"],
        ["pin", "t1", "0", "Count"],
        ["pin", "t1", "0", "Count", "--off"],
        ["rewind", "t1", "--turn", "1"],
    ]
    commands = [
        ["--version"],
        ["--help"],
        ["thread", "--help"],
        ["prices"],
        ["prices", "gpt-5.4"],
        *(["thread", *words, *at] for words in thread),
    ]
    for command, (code, out, err) in zip(commands, run(OTHERS, commands, tmp_path), strict=True):
        assert (code, err) == (0, ""), command
        assert out, command


def test_a_core_command_that_fails_does_so_in_one_sentence(tmp_path: Path) -> None:
    commands = [
        ["thread", "show", "t1", "--archive", "nowhere.db"],
        ["thread", "undo", "t1", "--turn", "x"],
        ["db", "status", "--url", NOBODY],
        ["prices", "nothing-9"],
        ["nonsense"],
        ["sessions"],
        ["thread", "history", "t1"],
    ]
    for command, (code, out, err) in zip(commands, run(OTHERS, commands, tmp_path), strict=True):
        assert (code, out) == (2, ""), command
        assert err.startswith("thalweg: "), command
        assert err.count("\n") == 1, command


def test_a_thread_is_deleted_without_the_libraries_of_other_products(
    place: str, tmp_path: Path
) -> None:
    """LangChain, which this command loads, brings some of them itself."""
    ((code, out, err),) = run(
        TERMINAL, [["thread", "delete", "t1", "--yes", "--archive", place]], tmp_path
    )
    assert (code, err) == (0, "")
    assert out.startswith("Deleted; ")


def test_a_command_whose_library_is_missing_is_one_sentence(tmp_path: Path) -> None:
    ((code, out, err),) = run(TERMINAL, [["memory", "show"]], tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("thalweg: thalweg: the package typer is not installed; ")
    assert err.count("\n") == 1


def test_a_model_whose_package_is_missing_names_its_extra(tmp_path: Path) -> None:
    evaluate = ["eval", "--model", "anthropic:x"]
    ((code, out, err),) = run(["langchain_anthropic"], [evaluate], tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("thalweg: anthropic:x: the package langchain_anthropic is not installed")
    assert err.count("\n") == 1
