"""The scripts that check a change and that run nightly: every path and module in them is there."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.minutes import PAGE, budgets, seconds_by_package

ROOT = Path(__file__).parents[2]
SCRIPTS = (".ci/run", ".ci/nightly", ".ci/setup")
PATH = re.compile(r"(?<![\w./$-])(?:\.ci|benchmarks|docs|packages|scripts|tests)/[^\s\"'`;)]*")
MODULE = re.compile(r"-m ((?:benchmarks|scripts)(?:\.\w+)+)")
VARIABLE = re.compile(r"^(\w+)=((?:packages|tests)/\S+)$", re.MULTILINE)
BRACES = re.compile(r"\{([^{}]*)\}")


def expanded(pattern: str) -> Iterator[str]:
    """Yield a pattern for each choice in its braces."""
    if found := BRACES.search(pattern):
        for choice in found[1].split(","):
            yield from expanded(pattern[: found.start()] + choice + pattern[found.end() :])
    else:
        yield pattern


def named_paths(text: str) -> set[str]:
    """Return the paths in a script, those of its modules, too."""
    for name, path in VARIABLE.findall(text):
        text = text.replace(f"${name}", f" {path}")
    paths = {path.rstrip(".,:") for path in PATH.findall(text)}
    modules = {f"{module.replace('.', '/')}.py" for module in MODULE.findall(text)}
    return {each for path in paths | modules for each in expanded(path)}


def test_braces_variables_and_modules_are_paths() -> None:
    text = "a=packages/x\nrun $a/test_{b,c}.py python -m scripts.check, tests/repo"
    assert named_paths(text) == {
        "packages/x",
        "packages/x/test_b.py",
        "packages/x/test_c.py",
        "scripts/check.py",
        "tests/repo",
    }


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_path_in_a_script_is_there(script: str) -> None:
    paths = named_paths((ROOT / script).read_text(encoding="utf-8"))

    assert paths or script == ".ci/setup"
    assert [path for path in paths if not any(ROOT.glob(path))] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_can_be_parsed(script: str) -> None:
    done = subprocess.run(
        ["bash", "-n", ROOT / script],  # noqa: S607 (the user's own shell)
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_each_package_is_in_the_run_on_the_newest_python() -> None:
    """Its modules with their doctests, and tests by `.ci/setup`; all of it, nightly."""
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    tested = {path for pattern in named_paths(text) for path in ROOT.glob(pattern)}
    for package in ROOT.glob("packages/*/"):
        assert package / "src" in tested, package.name
    assert "${python_tests[@]}" in text


def test_the_seconds_of_tests_are_summed_by_package(tmp_path: Path) -> None:
    cases = (
        ("packages.thalweg.tests.core_tests.unit.test_a", 2),
        ("packages.thalweg.src.thalweg.errors", 1),
        ("packages.strict-llm.tests.strict_llm_tests.test_a", 4),
        ("tests.repo.test_ci", 8),
    )
    lines = (f'<testcase classname="{name}" time="{seconds}"/>' for name, seconds in cases)
    results = tmp_path / "results.xml"
    results.write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")

    assert seconds_by_package(results) == {"thalweg": 3, "strict-llm": 4, "tests": 8}


def test_each_package_has_a_budget_of_minutes() -> None:
    found = budgets(PAGE.read_text(encoding="utf-8"))
    assert found.keys() == {path.name for path in ROOT.glob("packages/*/")} | {"tests"}
    assert sum(found.values()) <= 60
