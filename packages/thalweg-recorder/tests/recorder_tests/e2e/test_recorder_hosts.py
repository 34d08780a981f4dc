"""The recorder in real coding agents, against a loopback model.

`THALWEG_HOSTS` names a folder with the agents in `node_modules` and `stub.py`, a model that answers
with the contents of the file in `SCRIPT`, each answer with an id of its own; without it these tests
skip.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recorder_tests.e2e.test_cli import environment
from thalweg.archive import ThreadKey, open_archive
from thalweg_recorder import list_sessions
from thalweg_recorder.answers import Answers

HOSTS = Path(os.environ.get("THALWEG_HOSTS") or "/nowhere")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="set THALWEG_HOSTS to a folder of agents"),
]
NEEDLES = 6


@dataclass(frozen=True, slots=True)
class World:
    """A home folder with one agent and one model in it."""

    home: Path
    port: int
    requests: Path

    def run(self, *command: str | Path, **changes: str) -> str:
        """Run a program in the agent's project."""
        done = subprocess.run(
            [*map(str, command)],
            cwd=self.home / "work",
            env=environment(HOME=str(self.home), PWD=str(self.home / "work"), **changes),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:] + done.stdout[-2_000:]
        return done.stdout

    def thalweg(self, *arguments: str, **changes: str) -> str:
        """Run one of our commands."""
        return self.run(sys.executable, "-m", "thalweg", *arguments, **changes)

    def agent(self, name: str) -> Path:
        """Name the program of an agent."""
        return HOSTS / "node_modules" / ".bin" / name

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait for the worker."""
        for _ in range(1_800):
            if holds():
                return
            time.sleep(0.1)
        pytest.fail("the worker did not end")

    def is_idle(self) -> bool:
        """Return whether every event was worked off."""
        return not list((self.home / ".thalweg" / "queue").glob("*"))

    def bodies(self) -> list[dict[str, Any]]:
        """Read what the model was sent."""
        return [json.loads(line)["body"] for line in self.requests.read_text().splitlines()]


def world(tmp_path: Path, answers: Sequence[dict[str, Any]]) -> Iterator[World]:
    """Start a model with these answers, in a home folder of its own."""
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    script = tmp_path / "script.jsonl"
    script.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    requests = tmp_path / "requests.jsonl"
    model = subprocess.Popen(
        [sys.executable, str(HOSTS / "stub.py"), str(port), str(requests)],
        env=environment(SCRIPT=str(script)),
    )
    try:
        yield World(home, port, requests)
    finally:
        model.kill()
        model.wait()


def _answers(tool: str, argument: str) -> Iterator[dict[str, Any]]:
    """Make turns of a tool call and a text each, with a needle in each result."""
    for k in range(NEEDLES):
        command = f"seq {k}000 {k}400; echo the heron {k} has ring HR-{k * 7919:05}"
        yield {"tool": tool, "arguments": {argument: command, "description": "count"}}
        yield {"text": f"Counted bank {k}.", "usage": 20_000 * (k + 1)}


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[World]:
    yield from world(tmp_path, [{"text": "Hello."}, *_answers("Bash", "command")])


def _state(home: Path, folder: str) -> dict[str, bytes]:
    # Hidden files are notes of the agent's own, which it writes at any time.
    paths = (path for path in (home / folder).glob("[!.]*.*") if path.is_file())
    return {path.name: path.read_bytes() for path in paths}


def _needles_found(home: Path, agent: str) -> int:
    """Ask for each needle in one call, in the agent's own project."""
    found = 0
    with open_archive(home / ".thalweg" / "thalweg.db") as archive:
        answers = Answers(archive, project=str(home / "work"))
        ((thread, session),) = list_sessions(archive)
        assert session.agent == agent
        assert archive.length(ThreadKey("local", thread)) >= 2 * NEEDLES
        for k in range(NEEDLES):
            found += f"HR-{k * 7919:05}" in answers.recall(f"which ring has heron {k}?")
    return found


def test_claude_code_reads_back_what_a_compaction_took(claude: World) -> None:
    if not shutil.which("node"):
        pytest.skip("no node")
    keys = {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{claude.port}",
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }

    def say(*arguments: str) -> str:
        return claude.run(claude.agent("claude"), "-p", *arguments, **keys)

    say("Hello")
    before = _state(claude.home, ".claude")
    claude.thalweg("record", "on", "--yes", "--agent", "claude-code")
    for bank in range(NEEDLES):
        say("--continue", f"Count bank {bank}", "--allowedTools", "Bash")
    say("--continue", "/compact")
    claude.wait_until(claude.is_idle)
    say("--continue", "And now?")
    claude.wait_until(claude.is_idle)

    assert _needles_found(claude.home, "claude-code") == NEEDLES
    last = json.dumps(claude.bodies()[-1]["messages"])
    assert "thread-record" in last
    assert "Count bank 0" in last
    assert "thread-record" not in json.dumps(claude.bodies()[-1]["system"])
    claude.thalweg("record", "off", "--yes", "--agent", "claude-code")
    assert _state(claude.home, ".claude") == before
    assert "thalweg" not in (claude.home / ".claude.json").read_text()


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[World]:
    yield from world(tmp_path, list(_answers("exec_command", "cmd")))


def test_codex_reads_back_what_a_compaction_took(codex: World) -> None:
    folder = codex.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        'model = "gpt-5"\nmodel_provider = "stub"\nmodel_auto_compact_token_limit = 30000\n'
        f'[model_providers.stub]\nname = "stub"\nbase_url = "http://127.0.0.1:{codex.port}/v1"\n'
        'wire_api = "responses"\nenv_key = "STUB_KEY"\n'
    )
    before = _state(codex.home, ".codex")
    codex.thalweg("record", "on", "--yes", "--agent", "codex")

    def say(*arguments: str) -> None:
        bypass = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
        program = codex.agent("codex")
        codex.run(program, "exec", *bypass, "--skip-git-repo-check", *arguments, STUB_KEY="x")
        codex.wait_until(codex.is_idle)

    say("Count bank 0")
    for bank in range(1, NEEDLES):
        say("resume", "--last", f"Count bank {bank}")

    assert _needles_found(codex.home, "codex") == NEEDLES
    injected = [body for body in codex.bodies() if "thread-record" in json.dumps(body["input"])]
    assert "Count bank 0" in json.dumps(injected[-1]["input"])
    assert "thread-record" not in json.dumps(injected[-1].get("instructions", ""))
    codex.thalweg("record", "off", "--yes", "--agent", "codex")
    after = _state(codex.home, ".codex")
    assert after["config.toml"] == before["config.toml"]
    assert "hooks.json" not in after


@pytest.fixture
def gemini(tmp_path: Path) -> Iterator[World]:
    yield from world(tmp_path, list(_answers("run_shell_command", "command")))


def test_gemini_cli_is_recorded(gemini: World) -> None:
    folder = gemini.home / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text(
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    )
    before = (folder / "settings.json").read_bytes()
    gemini.thalweg("record", "on", "--yes", "--agent", "gemini-cli")
    address = f"http://127.0.0.1:{gemini.port}"
    keys = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": address}
    options = ("--skip-trust", "-y", "-m", "gemini-2.5-pro")
    for bank in range(NEEDLES):
        resume = ("--resume", "latest") if bank else ()
        gemini.run(gemini.agent("gemini"), *options, *resume, "-p", f"Count bank {bank}", **keys)
    gemini.wait_until(gemini.is_idle)

    assert _needles_found(gemini.home, "gemini-cli") == NEEDLES
    gemini.thalweg("record", "off", "--yes", "--agent", "gemini-cli")
    assert (folder / "settings.json").read_bytes() == before


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[World]:
    turns = [answer for answer in _answers("bash", "command") if "tool" in answer]
    # The last answer fills the window: opencode compacts, and continues by itself.
    yield from world(tmp_path, [*turns, {"text": "Counted all.", "usage": 99_000}])


@pytest.mark.parametrize("moved", [{}, {"CONFIG_HOME": "c", "DATA_HOME": "d", "DB": "own.db"}])
def test_opencode_reads_back_what_a_compaction_took(opencode: World, moved: dict[str, str]) -> None:
    places = {f"XDG_{name}": str(opencode.home / moved[name]) for name in moved if name != "DB"}
    places |= {"OPENCODE_DB": moved["DB"]} if moved else {}
    folder = opencode.home / moved.get("CONFIG_HOME", ".config") / "opencode"
    folder.mkdir(parents=True)
    options = {"baseURL": f"http://127.0.0.1:{opencode.port}/v1", "apiKey": "x"}
    models = {"m1": {"name": "m1", "limit": {"context": 100_000, "output": 4_000}}}
    stub = {"npm": "@ai-sdk/anthropic", "name": "stub", "options": options, "models": models}
    # Without `$schema`, opencode adds it at its start.
    schema = "https://opencode.ai/config.json"
    config = {"$schema": schema, "model": "stub/m1", "provider": {"stub": stub}}
    (folder / "opencode.json").write_text(json.dumps(config, indent=4))

    def say(*arguments: str) -> None:
        opencode.run(opencode.agent("opencode"), "run", *arguments, **places)
        opencode.wait_until(opencode.is_idle)

    before = (folder / "opencode.json").read_bytes()
    opencode.thalweg("record", "on", "--yes", "--agent", "opencode", **places)
    say("Count all banks")
    say("--continue", "And now?")

    assert _needles_found(opencode.home, "opencode") == NEEDLES
    with open_archive(opencode.home / ".thalweg" / "thalweg.db") as archive:
        ((_, session),) = list_sessions(archive)
    assert session.compactions
    last = opencode.bodies()[-1]
    assert "thread-record" in json.dumps(last["messages"])
    assert "Count all banks" in json.dumps(last["messages"])
    assert "thread-record" not in json.dumps(last["system"])
    opencode.thalweg("record", "off", "--yes", "--agent", "opencode")
    assert (folder / "opencode.json").read_bytes() == before
    assert not list((folder / "plugin").iterdir())
