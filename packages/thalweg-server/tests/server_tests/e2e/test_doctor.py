"""`thalweg doctor`: what it finds of real folders, databases and ports."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server_tests.e2e.forked_command import run
from thalweg.archive import open_archive

PRIVATE = "sk-should-never-be-shown"


def user(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user would, in an environment of its own."""
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    return run(*arguments, cwd=folder, env=given)


def doctor(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return user(folder, "doctor", *options, **variables)


def findings(folder: Path, **variables: str) -> dict[str, dict[str, Any]]:
    done = doctor(folder, "--json", **variables)
    told = json.loads(done.stdout)
    assert told["works"] is (done.returncode == 0)
    assert done.returncode in {0, 1}
    return {one["what"]: one for one in told["findings"]}


def test_an_empty_folder_has_nothing_wrong_and_stays_empty(tmp_path: Path) -> None:
    done = doctor(tmp_path)

    assert done.returncode == 0
    assert f"{tmp_path / '.thalweg'}, not there yet; it can be created and written" in done.stdout
    assert "FAIL" not in done.stdout
    assert "→ thalweg config init" in done.stdout
    assert list(tmp_path.iterdir()) == []
    rows = [row for row in done.stdout.splitlines() if "extras" in row]
    assert 1 <= len(rows) <= 2  # one for those that are installed, one for the others


def test_a_data_folder_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = findings(tmp_path, THALWEG_HOME=str(tmp_path / "file" / "home"))

    assert found["data folder"]["state"] == "broken"
    assert "set THALWEG_HOME" in found["data folder"]["fix"]


def test_keys_are_named_and_never_shown(tmp_path: Path) -> None:
    url = f"http://me:{PRIVATE}@127.0.0.1:1"
    done = doctor(tmp_path, ANTHROPIC_API_KEY=PRIVATE, THALWEG_KEY=PRIVATE, THALWEG_URL=url)

    assert "ANTHROPIC_API_KEY (Anthropic)" in done.stdout
    assert PRIVATE not in done.stdout + done.stderr
    assert "http://127.0.0.1:1" in done.stdout


def config(folder: Path, text: str) -> None:
    (folder / "config.yaml").write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_a_configured_model_without_its_key_fails(tmp_path: Path) -> None:
    config(tmp_path, "models:\n  - {name: big, provider: anthropic, model: claude-sonnet-4-6}\n")
    found = findings(tmp_path)["model big"]

    assert (found["state"], "ANTHROPIC_API_KEY" in found["fix"]) == ("broken", True)
    assert findings(tmp_path, ANTHROPIC_API_KEY=PRIVATE)["model big"]["state"] == "ok"


@pytest.mark.slow
def test_a_configured_server_fails_until_it_listens(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        config(
            tmp_path,
            f"models:\n  - {{name: mine, provider: openai, model: m, base_url: '{address}'}}\n",
        )
        assert findings(tmp_path)["model mine"]["seen"] == f"no server listens at {address}"
        listener.listen()
        assert findings(tmp_path)["model mine"]["state"] == "ok"


def test_a_configuration_with_an_error_names_the_command_that_lists_all(tmp_path: Path) -> None:
    config(tmp_path, "models:\n  - {nam: x}\n")
    found = findings(tmp_path)["configuration"]

    assert (found["state"], found["fix"]) == ("broken", "thalweg config show config.yaml")


@pytest.mark.parametrize("how", ["good", "damaged", "newer"])
def test_the_health_of_an_archive(tmp_path: Path, how: str) -> None:
    path = tmp_path / ".thalweg" / "thalweg.db"
    path.parent.mkdir()
    with open_archive(path):
        pass
    if how == "damaged":
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(8192))
    if how == "newer":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE thalweg_version SET version = '9999'")
        connection.close()
    before = path.read_bytes()
    found = findings(tmp_path)["thalweg.db"]

    assert found["state"] == ("ok" if how == "good" else "broken")
    assert bool(found["fix"]) == (how != "good")
    assert path.read_bytes() == before


@pytest.mark.slow
def test_an_agent_that_is_not_recorded_is_named_with_the_command(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    found = findings(tmp_path)["recorder claude-code"]
    assert (found["state"], found["fix"]) == ("off", "thalweg record on --agent claude-code")

    installed = user(tmp_path, "record", "on", "--agent", "claude-code", "--yes")
    assert installed.returncode == 0, installed.stderr
    assert findings(tmp_path)["recorder claude-code"]["state"] == "ok"


@pytest.mark.slow
def test_a_full_disk_is_reported_for_the_folder_and_for_each_recorded_agent(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() or mount is None or unmount is None:
        pytest.skip("needs the right to mount")
    command = [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    try:
        home = {"THALWEG_HOME": str(small)}
        (tmp_path / ".claude").mkdir()
        installed = user(tmp_path, "record", "on", "--agent", "claude-code", "--yes", **home)
        assert installed.returncode == 0, installed.stderr
        assert findings(tmp_path, **home)["recorder claude-code"]["state"] == "ok"

        (small / "filler").write_bytes(bytes(shutil.disk_usage(small).free - 100_000))
        found = findings(tmp_path, **home)

        for what in ("data folder", "recorder claude-code"):
            assert found[what]["state"] == "broken"
            assert "No space left on device" in found[what]["seen"]
        assert "thalweg record import" in found["recorder claude-code"]["fix"]
    finally:
        subprocess.run([unmount, "-l", str(small)], check=False)
