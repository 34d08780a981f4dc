"""Wheels without extras: every command and public name works, or names what its extra requires.

The core is installed alone, and all packages together, each with uv in an environment of its own.
"""

import json
import os
import pty
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.workspace import ROOT, import_name, name_of, projects
from tests.repo.installing import build_wheels, make_environment, run_there
from thalweg.engine.extras import install_command

NOBODY = "postgresql://nobody@127.0.0.1:1/none"
OF_POSTGRES = "postgres"
CORE_COMMANDS: dict[str, tuple[str, str]] = {
    # The command, with a note in parentheses if there are several: further arguments, and the extra
    # whose requirements its one line names (none: it works).
    "prices": ("", ""),
    "db upgrade": (f"--url {NOBODY}", OF_POSTGRES),
    "db upgrade (role)": (f"--role app --url {NOBODY}", OF_POSTGRES),
    "db status": (f"--url {NOBODY}", OF_POSTGRES),
    "db forget": (f"ada --yes --url {NOBODY}", OF_POSTGRES),
    "thread list": (f"--archive {NOBODY}", OF_POSTGRES),
    "thread show": ("t1", ""),
    "thread show (messages)": ("t1 --messages", ""),
    "thread show (reference)": ("t1 handle-1", ""),
    "thread search": ("river", ""),
    "thread export": ("t1", ""),
    "thread undo": ("t1", ""),
    "thread rewind": ("t1 1", ""),
    "thread pin": ("t1 1 words --off", ""),
    "thread delete": ("t1 --yes", ""),
}
COMMANDS: dict[str, tuple[str, str]] = {
    **CORE_COMMANDS,
    "chat": ("--model openai:x hello", "openai"),
    "record import": (f"{ROOT}/README.md", ""),
    "record search": ("river", ""),
    "record forget": ("--thread nothing --yes", ""),
    "record on": ("--agent claude-code --yes", ""),
    "record off": ("", ""),
    "record mcp": ("", ""),
    "replay": ("--policy thalweg", ""),
    "eval": ("--probe needle --model openai:x", "openai"),
    "serve": ("--host 0.0.0.0", ""),
    "ui": ("nothing", ""),
    "doctor": ("", ""),
    "config show": ("", ""),
    "config init": ("other.yaml --model openai:x", ""),
    "config init (from)": (f"--from {ROOT}/README.md", ""),
    "memory show": ("", ""),
    "memory search": ("river", ""),
    "memory search (why)": ("river --why", ""),
    "memory add": ("'User likes tea'", ""),
    "memory delete": ("nothing --yes", ""),
    "memory delete (forever)": ("nothing --forever --yes", ""),
    "memory export": ("", ""),
    "memory import": ("nothing.json", ""),
    "memory history": ("", ""),
    "memory review": ("", ""),
    "memory undo": ("1", ""),
    "memory learn": ("--thread t1", ""),
}
CORE_CALLS = {
    f"from thalweg.archive import open_archive\nopen_archive({NOBODY!r})": "postgres",
}
CALLS = {
    **CORE_CALLS,
    f"from thalweg_memory import open_memory\nopen_memory({NOBODY!r})": "postgres",
    "from thalweg_server.models import model_by_name\n"
    "from thalweg_server.settings import Settings\nmodel_by_name('ollama:x', Settings())": "ollama",
    "from thalweg_integrations.pydantic_ai import ThalwegContext": "pydantic-ai",
}
OF_OTHER_PACKAGES = {"typer", "rich", "wcmatch", "pyyaml", "zstandard", "mcp", "fastapi"}


def test_a_plain_core_requires_no_library_of_the_other_packages() -> None:
    names = {name_of(each) for each in projects()["thalweg"]["dependencies"]}
    assert "langchain" in names
    assert not names & {*OF_OTHER_PACKAGES, *projects()}


def test_no_extra_of_the_core_names_a_package_of_this_repository() -> None:
    extras = projects()["thalweg"]["optional-dependencies"]
    assert not {name_of(each) for extra in extras.values() for each in extra} & {*projects()}


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment: its programs, its packages of this repository, commands and calls in it."""

    programs: Path
    packages: tuple[str, ...]
    commands: dict[str, tuple[str, str]]
    calls: dict[str, str]


End = tuple[int, str, str]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def core(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    programs = make_environment(tmp_path_factory.mktemp("core") / "env", wheels["thalweg"])
    return Installed(programs, ("thalweg",), CORE_COMMANDS, CORE_CALLS)


@pytest.fixture(scope="module")
def everything(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    programs = make_environment(tmp_path_factory.mktemp("all") / "env", *wheels.values())
    return Installed(programs, (*wheels,), COMMANDS, CALLS)


@pytest.fixture(
    scope="module", params=["core", pytest.param("everything", marks=pytest.mark.nightly)]
)
def bare(request: pytest.FixtureRequest) -> Installed:
    installed: Installed = request.getfixturevalue(request.param)
    return installed


@pytest.fixture(scope="module")
def ends(bare: Installed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, End]:
    """How every command and call ends, each in a fork of a process of that environment."""
    runs = [
        *(
            ("command", f"{without_note(name)} {arguments}")
            for name, (arguments, _) in bare.commands.items()
        ),
        *(("code", call) for call in bare.calls),
    ]
    program = Path(__file__).with_name("bare_commands.py")
    command: list[str | Path] = [bare.programs / "python", program]
    done = run_there(command, tmp_path_factory.mktemp("ends"), json.dumps(runs))
    assert done.returncode == 0, done.stderr
    return dict(zip([*bare.commands, *bare.calls], json.loads(done.stdout), strict=True))


def without_note(name: str) -> str:
    return name.partition(" (")[0]


def is_named(extra: str, error: str) -> bool:
    """Return whether an error ends with an extra's requirements, for whatever environment."""
    _, found, command = error.rstrip().rpartition("; ")
    wanted = install_command(extra).split(" install ")[1]
    given = command.partition(" install ")[2]
    return bool(found) and drop_environment(given) == drop_environment(wanted)


def drop_environment(arguments: str) -> str:
    return re.sub(r"^--python \S+ ", "", arguments)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_works_or_names_its_extra(bare: Installed, ends: dict[str, End]) -> None:
    wrong = {}
    for command, (_, extra) in bare.commands.items():
        _, out, err = ends[command]
        output = out + err
        is_one_line = not extra or (is_named(extra, err) and err.count("\n") == 1)
        if "Traceback" in output or "No module named" in output or not is_one_line:
            wrong[command] = output[-500:]
    assert not wrong


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_module_and_public_name_imports_or_names_its_extra(
    bare: Installed, tmp_path: Path
) -> None:
    walk = Path(__file__).with_name("bare_names.py")
    names = map(import_name, bare.packages)
    done = run_there([bare.programs / "python", "-W", "ignore", walk, *names], tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["failures"]
    assert set(found["commands"]) == {*map(without_note, bare.commands)}


@pytest.mark.slow
def test_a_call_names_its_extra(bare: Installed, ends: dict[str, End]) -> None:
    for call, extra in bare.calls.items():
        _, _, err = ends[call]
        *_, last = err.strip().splitlines()
        assert last.startswith("thalweg.errors.MissingExtraError: ")
        assert is_named(extra, last)


@pytest.mark.slow
def test_the_core_alone_has_no_other_package_and_none_of_its_libraries(
    core: Installed, tmp_path: Path
) -> None:
    others = [import_name(name) for name in projects() if name != "thalweg"]
    code = (
        "from importlib.util import find_spec\n"
        f"print([name for name in {[*others, 'typer', 'rich', 'wcmatch']!r} if find_spec(name)])"
    )
    assert run_there([core.programs / "python", "-c", code], tmp_path).stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.nightly
def test_the_installed_program_works(everything: Installed, tmp_path: Path) -> None:
    for words in (("thread", "list"), ("doctor",)):
        done = run_there([everything.programs / "thalweg", *words], tmp_path)
        assert "Traceback" not in done.stdout + done.stderr
        assert "No module named" not in done.stdout + done.stderr
    assert "sessions" in done.stdout


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("has_pip", [False, True])
def test_the_printed_command_installs_what_is_missing(
    wheels: dict[str, Path], tmp_path: Path, *, has_pip: bool
) -> None:
    """Executed as it stands, in the folder in which it was printed."""
    programs = make_environment(tmp_path / "env", wheels["thalweg"], has_pip=has_pip)
    call: list[str | Path] = [programs / "python", "-c", *CORE_CALLS]
    printed = run_there(call, tmp_path).stderr.rpartition("; ")[2].strip()
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        ["sh", "-c", printed],  # noqa: S607 (as a person's shell finds it)
        cwd=tmp_path,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, printed + done.stderr
    assert "MissingExtraError" not in run_there(call, tmp_path).stderr


@pytest.mark.slow
@pytest.mark.nightly
def test_a_chat_on_a_terminal_names_its_extra(everything: Installed, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [everything.programs / "thalweg", "chat", "--model", "openai:x"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "HOME": f"{tmp_path}"},
        text=True,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    (line,) = done.stderr.splitlines()
    assert is_named("chat", line)
