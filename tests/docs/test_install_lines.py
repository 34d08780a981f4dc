"""No line of the documentation lets an installer look up one of our names on an index.

Anybody may publish a package of that name there. uv finds the packages of a clone by the path of
one of them; pip finds only those whose paths are in the line.
"""

import re
import tomllib
from collections.abc import Iterator

import pytest

from scripts.workspace import with_required
from tests.docs.pages import PAGES, ROOT, SOURCES
from thalweg.cli.plugins import installed_commands

REQUIREMENTS = {
    project["name"]: project["dependencies"]
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
    for project in [tomllib.loads(path.read_text(encoding="utf-8"))["project"]]
}
"""The dependencies of each package of ours; those of its extras are not among them."""
_OURS = "|".join(sorted(REQUIREMENTS, key=len, reverse=True))
_NAME = re.compile(rf"(?:{_OURS})(?:\[[^\]]*\])?(?:[=<>~!].*)?")
_PATH = re.compile(rf"packages/({_OURS})(?:\[[^\]]*\])?")
_INSTALL = re.compile(
    r"(?P<installer>pip3? install|uv add|uv tool install|uvx|pipx (?:install|run)"
    r"|uv run(?= .*--with))"
    r"(?P<arguments> [^`\n#|&;<]*)"
)


def looked_up(text: str) -> Iterator[str]:
    """Yield the calls of installers that ask an index for a package of ours."""
    for call in _INSTALL.finditer(text):
        words = [word.strip("\"'.,") for word in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", call[2])]
        if call["installer"] in {"uvx", "uv run"} and {"--from", "--with"} & {*words}:
            words = [
                one for one, before in zip(words, ["", *words], strict=False) if before[:1] == "-"
            ]
        if any(_NAME.fullmatch(word) for word in words):
            yield call[0]
        elif call["installer"].startswith("pip") and not text[: call.start()].endswith("uv "):
            named = {*_PATH.findall(call[2])}
            if any(needed not in named for one in named for needed in siblings(one)):
                yield call[0]


def siblings(name: str) -> set[str]:
    """Return the packages of ours that one needs, directly."""
    needed = (re.split(r"[\[=]", requirement)[0] for requirement in REQUIREMENTS[name])
    return {one for one in needed if one in REQUIREMENTS}


@pytest.mark.parametrize("page", [*PAGES, "packages/strict-llm/README.md", "Dockerfile"])
def test_no_page_looks_a_name_up(page: str) -> None:
    assert [*looked_up((ROOT / page).read_text(encoding="utf-8"))] == []


def test_no_text_of_the_program_looks_a_name_up() -> None:
    """Errors, prompts and pages are in the sources; an example has a line in its docstring."""
    found = {
        path.relative_to(ROOT).as_posix(): calls
        for folder in (*SOURCES, ROOT / "examples")
        for path in sorted(folder.rglob("*.*"))
        if path.suffix in {".py", ".md", ".html", ".toml", ".ipynb"}
        if (calls := [*looked_up(path.read_text(encoding="utf-8"))])
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "pip install thalweg",
        "Run `pip install 'thalweg[server]'`.",
        "uv add thalweg-agent langchain-openai",
        'uv pip install "thalweg[postgres]==0.1.0"',
        "uvx thalweg replay",
        "uvx --from thalweg-recorder thalweg replay",
        "uv run --with thalweg python",
        "uv tool install strict-llm",
        "pip install PATH/packages/thalweg-agent",
        "pip install PATH/packages/thalweg PATH/packages/thalweg-recorder",
    ],
)
def test_a_line_that_looks_a_name_up_is_found(line: str) -> None:
    assert [*looked_up(line)]


@pytest.mark.parametrize(
    "line",
    [
        "uv add PATH/packages/thalweg-agent",
        'uv add "thalweg[postgres] @ PATH/packages/thalweg"',
        "pip install 'PATH/packages/thalweg[openai]' PATH/packages/thalweg-agent",
        "uvx --from PATH/packages/thalweg --with PATH/packages/thalweg-recorder thalweg replay",
        "thalweg record on",
        "pip install langchain-openai  # then thalweg",
    ],
)
def test_a_line_with_paths_passes(line: str) -> None:
    assert not [*looked_up(line)]


def test_one_function_writes_the_install_commands_of_the_program() -> None:
    """Only it knows which installer the environment has."""
    owner = "packages/thalweg/src/thalweg/engine/extras.py"
    named = re.compile(r"\b(?:pip3?|uv tool|pipx) install\b|\buv (?:add|sync)\b|\buvx\b")
    found = {
        path.relative_to(ROOT).as_posix(): named.findall(path.read_text(encoding="utf-8"))
        for folder in SOURCES
        for path in sorted(folder.rglob("*.*"))
        if path.suffix in {".py", ".md", ".html", ".toml"}
    }
    assert [place for place, calls in found.items() if calls] == [owner]


@pytest.mark.parametrize("page", PAGES)
def test_a_command_in_a_clone_is_in_the_environment_of_its_line(page: str) -> None:
    """`uv run --no-dev` installs the recorder, or the package that the line names."""
    text = (ROOT / page).read_text(encoding="utf-8")
    absent = [
        found[0]
        for found in re.finditer(r"uv run --no-dev(?: --package ([\w-]+))? thalweg ([a-z]+)", text)
        if installed_commands()[found[2]].package
        not in with_required(found[1] or "thalweg-recorder")
    ]
    assert absent == []
