"""The wheel without any extra: every command and public name works, or names the extra's command.

Builds the wheel and installs it with uv into an environment of its own.
"""

import json
import os
import pty
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from thalweg.engine.extras import EXTRAS

ROOT = Path(__file__).parents[2]
NOBODY = "postgresql://nobody@127.0.0.1:1/none"
OF_POSTGRES = "postgres"
COMMANDS: dict[str, tuple[str, str]] = {
    # The command: further arguments, and the extra that its one line names (none: it works).
    "chat": ("hello", "chat"),
    "import": (f"{ROOT}/README.md", ""),
    "search": ("river", ""),
    "sessions": ("", ""),
    "forget": ("--thread nothing --yes", ""),
    "install": ("--agent claude-code --yes", ""),
    "uninstall": ("", ""),
    "mcp": ("", "mcp"),
    "replay": ("--policy thalweg", ""),
    "eval": ("--probe needle --model openai:x", "openai"),
    "serve": ("", "server"),
    "prices": ("", ""),
    "doctor": ("", ""),
    "config check": ("", ""),
    "config show": ("", ""),
    "config init": ("other.yaml --model openai:x", ""),
    "memory show": ("", ""),
    "memory search": ("river", ""),
    "memory explain": ("river", ""),
    "memory add": ("'User likes tea'", ""),
    "memory edit": ("nothing 'User likes tea'", ""),
    "memory delete": ("nothing --yes", ""),
    "memory forget": ("river --yes", ""),
    "memory export": ("", ""),
    "memory import": ("nothing.json", ""),
    "memory clear": ("--yes", ""),
    "memory history": ("", ""),
    "memory review": ("", ""),
    "memory undo": ("1", ""),
    "memory reload": ("", ""),
    "memory learn": ("--model anthropic:x", "anthropic"),
    "memory mode": ("t1", ""),
    "db upgrade": (f"--url {NOBODY}", OF_POSTGRES),
    "db status": (f"--url {NOBODY}", OF_POSTGRES),
    "db grants": (f"role --url {NOBODY}", OF_POSTGRES),
    "db move": (f"{NOBODY} new.db", OF_POSTGRES),
    "thread list": (f"--archive {NOBODY}", OF_POSTGRES),
    "thread show": ("t1", ""),
    "thread history": ("t1", ""),
    "thread search": ("river", ""),
    "thread read": ("t1", ""),
    "thread export": ("t1", ""),
    "thread undo": ("t1", ""),
    "thread rewind": ("t1 1", ""),
    "thread pin": ("t1 1 words", ""),
    "thread unpin": ("t1 1", ""),
    "thread delete": ("t1 --yes", ""),
}
CALLS = {
    "from thalweg_server.gateway import create_app": "server",
    f"from thalweg.archive import open_archive\nopen_archive({NOBODY!r})": "postgres",
    f"from thalweg_memory import open_memory\nopen_memory({NOBODY!r})": "postgres",
    "from thalweg_memory.search.embedding import SentenceEmbedder\nSentenceEmbedder()": "vectors",
    "from thalweg_server.models import model_by_name\n"
    "from thalweg_server.settings import Settings\nmodel_by_name('ollama:x', Settings())": "ollama",
}


def test_the_table_of_extras_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel without extras."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv, which makes the environment, is not installed")
    folder = tmp_path_factory.mktemp("bare")
    python = folder / "env/bin/python"
    subprocess.run([uv, "build", "-q", "--wheel", "-o", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([uv, "venv", "-q", folder / "env"], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, wheel], check=True)
    return python.parent


def ran(
    command: list[str | Path], folder: Path, asked: str = "hi"
) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        command,
        input=asked,
        cwd=folder,
        env={**kept, "HOME": f"{folder}", "ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"},
        capture_output=True,
        text=True,
        check=False,
    )


End = tuple[int, str, str]


@pytest.fixture(scope="module")
def ends(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, End]:
    """How every command and call ends, each in a fork of a process of that environment."""
    asked = [
        *(("command", f"{command} {arguments}") for command, (arguments, _) in COMMANDS.items()),
        *(("code", call) for call in CALLS),
    ]
    run = Path(__file__).with_name("bare_commands.py")
    done = ran([bare / "python", run], tmp_path_factory.mktemp("ends"), json.dumps(asked))
    assert done.returncode == 0, done.stderr
    return dict(zip([*COMMANDS, *CALLS], json.loads(done.stdout), strict=True))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_works_or_names_its_extra(ends: dict[str, End]) -> None:
    wrong = {}
    for command, (_, extra) in COMMANDS.items():
        _, out, err = ends[command]
        said = out + err
        named = f"pip install 'thalweg[{extra}]'"
        is_one_line = not extra or (named in err and err.count("\n") == 1)
        if "Traceback" in said or "No module named" in said or not is_one_line:
            wrong[command] = said[-500:]
    assert not wrong


@pytest.mark.slow
def test_the_installed_program_works(bare: Path, tmp_path: Path) -> None:
    for words in (("thread", "list"), ("doctor",)):
        done = ran([bare / "thalweg", *words], tmp_path)
        assert "Traceback" not in done.stdout + done.stderr
        assert "No module named" not in done.stdout + done.stderr
    asked = ran([bare / "thalweg", "chat", "hello"], tmp_path)
    assert asked.stderr.endswith("; pip install 'thalweg[chat]'\n")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_module_and_public_name_imports_or_names_its_extra(
    bare: Path, tmp_path: Path
) -> None:
    walk = Path(__file__).with_name("bare_names.py")
    done = ran([bare / "python", "-W", "ignore", walk], tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["failures"]
    assert set(found["commands"]) == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_call_names_its_extra(ends: dict[str, End], call: str) -> None:
    _, _, err = ends[call]
    *_, last = err.strip().splitlines()
    assert last.startswith("thalweg.errors.MissingExtraError: ")
    assert last.endswith(f"; pip install 'thalweg[{CALLS[call]}]'")


@pytest.mark.slow
def test_a_chat_on_a_terminal_names_its_extra(bare: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command: list[str | Path] = [bare / "thalweg", "chat", "--model", "openai:x"]
    done = subprocess.run(
        command,
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
    assert line.endswith("; pip install 'thalweg[chat]'")
