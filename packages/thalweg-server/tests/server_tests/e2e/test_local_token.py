"""A gateway without keys asks for the token that it made, and its user's clients find it."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from core_tests.forking import PYTHON_PATH
from server_tests.e2e import forked_command
from thalweg.errors import ClientError, ConfigError
from thalweg_server.client import ThalwegClient
from thalweg_server.gateway.local_token import ensure_token, find_token

ROOT = Path(__file__).parents[5]


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, str]]:
    """Run `thalweg serve`; yield its address, and the screen up to the line about callers."""
    environment = {**os.environ, "PYTHONPATH": PYTHON_PATH, "HOME": str(folder)}
    with forked_command.serving(*options, cwd=folder, env=environment) as lines:
        yield lines[0].split()[-1], "".join(lines)


def status(url: str, token: str | None = None) -> int:
    headers = {} if token is None else {"X-API-Key": token}
    return httpx2.get(f"{url}/api/threads", headers=headers, trust_env=False).status_code


@pytest.mark.slow
def test_a_token_is_made_once_and_found_by_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THALWEG_HOME", raising=False)
    with serving(tmp_path) as (url, screen):
        token = (tmp_path / ".thalweg" / "token").read_text().strip()
        assert token in screen
        assert (status(url), status(url, "wrong"), status(url, token)) == (401, 401, 200)
        with ThalwegClient(url) as client:
            assert client.list_threads().items == ()
        with (
            ThalwegClient(url, key="wrong") as client,
            pytest.raises(ClientError, match="is unknown here"),
        ):
            client.list_threads()
        monkeypatch.chdir("/")
        with ThalwegClient(url) as client, pytest.raises(ClientError):
            client.list_threads()
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / ".thalweg").rglob("*")}
    assert modes == {0}
    assert (tmp_path / ".thalweg").stat().st_mode & 0o077 == 0

    with serving(tmp_path) as (url, screen):
        assert token not in screen
        assert re.search(r"with the token in .*token", screen)
        assert status(url, token) == 200


@pytest.mark.slow
def test_without_a_token_every_process_of_the_machine_is_let_in(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-token") as (url, screen):
        assert "without a key" in screen
        assert status(url) == 200
    assert not (tmp_path / ".thalweg" / "token").exists()


@pytest.mark.slow
def test_a_setting_accepts_this_machine_without_a_token_and_no_page_of_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.yaml").write_text("gateway: {local_token: false}")
    with serving(tmp_path) as (url, screen):
        assert "without a key" in screen
        assert status(url) == 200
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            answer = httpx2.get(f"{url}/api/memory", headers=headers, trust_env=False)
            assert answer.status_code == 403


@pytest.mark.slow
def test_the_refusal_has_a_command_that_works(tmp_path: Path) -> None:
    with serving(tmp_path) as (url, _):
        problem = httpx2.get(f"{url}/api/memory", trust_env=False).json()
        command = problem["detail"].removeprefix("send the token of this machine: ").split(";")[0]
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} --silent --noproxy '*'"],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        )
        assert "facts" in done.stdout


def test_a_token_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = ensure_token(tmp_path).path
    path.chmod(0o644)

    with pytest.raises(ConfigError, match="other users"):
        ensure_token(tmp_path)
    with pytest.raises(ConfigError, match="delete it"):
        find_token(tmp_path)


@pytest.mark.parametrize("text", ["", "two words", "x" * 500, "\u00e9"])
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, text: str) -> None:
    path = ensure_token(tmp_path).path
    path.write_text(text)

    with pytest.raises(ConfigError, match="has no token"):
        find_token(tmp_path)
