"""`thalweg ui`: the page over imported sessions, with a token and without a configuration."""

import os
import signal
import subprocess
from pathlib import Path

import httpx2

from core_tests.forking import PYTHON_PATH, start
from server_tests.browser import page_world
from server_tests.e2e import forked_command
from thalweg.archive import open_archive
from thalweg_recorder.importing import import_sessions

MODULE = "server_tests.e2e.forked_command"


def test_it_shows_an_imported_session_to_the_token_alone_and_ends_with_ctrl_c(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with open_archive(home / "thalweg.db") as archive:
        (done,) = import_sessions(archive, [page_world.write_session(tmp_path)])
    assert not done.error
    command = ("ui", str(home), "--port", "0", "--no-open")
    environment = {**os.environ, "PYTHONPATH": PYTHON_PATH}
    process = start(MODULE, *command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            url, _, token = address.partition("/#token=")
            answer = httpx2.get(f"{url}/api/page/threads", trust_env=False)
            assert answer.status_code == 401
            headers = {"Authorization": f"Bearer {token}"}
            (row,) = httpx2.get(f"{url}/api/page/threads", headers=headers, trust_env=False).json()[
                "items"
            ]
            assert (row["id"], row["title"]) == (page_world.RECORDED, page_world.TITLE)
            assert "Thalweg" in httpx2.get(f"{url}/", trust_env=False).text
            assert process.stdout.readline() == "Ctrl-C ends it.\n"
        finally:
            process.send_signal(signal.SIGINT)
        process.wait(60)
    assert process.returncode in {0, 130}


def test_a_folder_without_an_archive_is_refused_with_the_command_that_makes_one(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "PYTHONPATH": PYTHON_PATH}

    done = forked_command.run("ui", str(tmp_path), cwd=tmp_path, env=environment)

    assert done.returncode == 2
    assert "has no archive" in done.stderr
    assert "thalweg record import" in done.stderr
