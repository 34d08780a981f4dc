"""Rows 87 to 90 and 100: DeerFlow's `curl` lines, with `thalweg serve` in another process."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory import BLOCK, DOCUMENT, PLACE, TEXT
from rows import row, seen

HERE = (
    "as written with `gateway.local_token: false` (`config init --from` writes it) or "
    "`serve --no-token`; else with this machine's token, as the 401 says"
)


@contextmanager
def served(*options: str) -> Iterator[tuple[Path, str]]:
    """Serve the documents' block; yield the folder and the address."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / PLACE).parent.mkdir(parents=True)
        (folder / PLACE).write_text(TEXT)
        (folder / "config.yaml").write_text(
            f"models: [{{name: a, use: 'world:Recorded'}}]\n{BLOCK}"
        )
        command = [
            str(Path(sys.executable).with_name("thalweg")),
            "serve",
            "config.yaml",
            "--port",
            "0",
            *options,
        ]
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={"PYTHONPATH": str(Path(__file__).parent), "PATH": "/usr/bin:/bin", "HOME": name},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = ""
            for line in server.stdout:
                if found := re.search(r"http://[\w.]+:\d+", line):
                    address = found[0]
                    break
            yield folder, address
        finally:
            server.terminate()
            server.wait(120)


def curl(*arguments: str) -> tuple[int, str]:
    """Run `curl`; return the status and the body."""
    command = ["curl", "-s", "-w", "\n%{http_code}", *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    body, _, status = output.rpartition("\n")
    return int(status), body


ANSWERS: dict[str, tuple[int, str]] = {}


def answers() -> dict[str, tuple[int, str]]:
    """Return the answers to the documents' lines, of one server with `--no-token` and one without."""
    if not ANSWERS:
        with served("--no-token") as (_, at):
            ANSWERS["memory"] = curl(f"{at}/api/memory")
            ANSWERS["reload"] = curl("-X", "POST", f"{at}/api/memory/reload")
            ANSWERS["config"] = curl(f"{at}/api/memory/config")
        with served() as (folder, at):
            ANSWERS["without"] = curl(f"{at}/api/memory")
            token = next(folder.rglob("token")).read_text().strip()
            ANSWERS["with"] = curl("-H", f"Authorization: Bearer {token}", f"{at}/api/memory")
    return ANSWERS


@row(87, "`curl http://localhost:8001/api/memory`", HERE)
def memory() -> None:
    status, body = answers()["memory"]
    seen("status", status, 200)
    seen("facts", json.loads(body)["facts"], DOCUMENT["facts"])
    status, body = answers()["without"]
    seen("status without `--no-token`", status, 401)
    seen("it has the command", "curl" in body and "token" in body)
    seen("status with the token", answers()["with"][0], 200)


@row(88, "`curl -X POST …/api/memory/reload`", HERE)
def reload() -> None:
    status, body = answers()["reload"]
    seen("status and facts", (status, json.loads(body)["facts"]), (200, DOCUMENT["facts"]))


@row(89, "`curl …/api/memory/config`", HERE)
def config() -> None:
    status, body = answers()["config"]
    seen("status and max_facts", (status, json.loads(body)["max_facts"]), (200, 100))


@row(90, "port 8001")
def port() -> None:
    from thalweg_server.settings import Settings

    seen("default of `gateway.port`", Settings.from_mapping({}).gateway.port, 8001)


@row(100, "`curl …/api/memory | jq '.facts | length'`", HERE)
def jq() -> None:
    seen("`.facts | length`", len(json.loads(answers()["memory"][1])["facts"]), 2)
