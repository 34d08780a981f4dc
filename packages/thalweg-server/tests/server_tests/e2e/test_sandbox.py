"""Agents of two owners with a shell each: what one can reach of the other, and a task done."""

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from server_tests.e2e.talkers import calls
from server_tests.e2e.test_app import answer, say
from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent.backends.bubblewrap import check_bubblewrap
from thalweg_server.app import App, Tenant, open_app
from thalweg_server.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def confined() -> None:
    """Skip where bubblewrap is not installed, or this machine does not let it work."""
    try:
        check_bubblewrap()
    except ConfigError as problem:
        pytest.skip(str(problem))


def run_it(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Run what the user wrote as a command, and answer with its whole output."""
    last = messages[-1]
    if last.type == "tool":
        return str(last.text)
    return calls("I run it.", (f"c{len(messages)}", "execute", {"command": str(last.text)}))


class Runner(ScriptedModel):
    """Answers by `run_it`."""

    script: Callable[[Sequence[BaseMessage]], AIMessage | str] = run_it


@asynccontextmanager
async def opened(home: Path, **sandbox: Any) -> AsyncIterator[App]:  # noqa: ANN401 (as a file has them)
    model = {"name": "m", "use": "server_tests.e2e.test_sandbox:Runner", "window": 64_000}
    given = {
        "models": [model],
        "memory": {"enabled": False},
        "storage": {"files": str(home / "files")},
        "sandbox": {"use": "bubblewrap", **sandbox},
    }
    async with open_app(Settings.model_validate(given), home=home / "kept") as app:
        yield app


async def ran(tenant: Tenant, command: str, thread: str = "t1") -> str:
    return answer(await say(tenant, thread, command))


PWNED = Path("/usr/bin/thalweg-pwned")
CONNECT = "import socket; s = socket.create_connection(('127.0.0.1', {port}), 1); print(s.recv(99))"
ATTACKS = (
    "env; cat /proc/*/environ | tr '\\0' '\\n'",
    "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ps auxww",
    "grep -r -s -h . / --include='*.txt' --include='*.db*' --exclude-dir=usr --exclude-dir=proc",
    "ls -laR .. /home /tmp /root /srv /var /run /mnt /opt 2>&1; cat ../../*/*/*.txt ../*/*.txt",
    "cat {home}/kept/*.db* {home}/files/*/*/* /proc/1/root{home}/files/*/*/* 2>&1",
    "ln -s {home}/files link; cat link/*/*/*; ln {home}/kept/thalweg.db hard; cat hard",
    "mkdir m; mount --bind / m; cat m{home}/files/*/*/*; unshare -rm mount --bind / m; ls m{home}",
    "kill -9 -1; kill -9 {pid}; for p in /proc/[0-9]*; do head -c 300 $p/mem; done",
    f'python3 -c "{CONNECT}"',
    "cat /etc/shadow /etc/passwd; cat /dev/mem /dev/sda /dev/vda | head -c 99; ls -la /dev/shm",
    "echo pwned > {pwned}; touch /etc/pwned; rm -rf {home}/files {home}/kept",
)


@pytest.mark.slow
async def test_one_owner_reaches_nothing_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither files, environment, processes nor network, while the other's command is running."""
    mark = f"swordfish{secrets.token_hex(8)}"
    monkeypatch.setenv("BOB_KEY", mark)

    async def told(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(mark.encode())
        writer.close()

    server = await asyncio.start_server(told, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with opened(tmp_path) as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        assert "ok" in await ran(
            bob, f"echo {mark} > secret.txt; echo {mark} > /tmp/s.txt; echo ok"
        )
        busy = asyncio.create_task(ran(bob, f"SECRET={mark} sleep 60 # {mark}", "t2"))
        await ran(bob, "sleep 0.2", "t3")
        for attack in ATTACKS:
            command = attack.format(home=tmp_path, pid=os.getpid(), port=port, pwned=PWNED)
            assert mark not in await ran(ada, command), command
        assert not busy.done()
        busy.cancel()
        assert mark in await ran(bob, "cat secret.txt")
    server.close()
    assert await asyncio.to_thread(PWNED.exists) is False


ROWS = "city,price\n" + "Ulm,1.5\nJena,2.5\n" * 2_000
SUM_UP = """
python3 - <<'E'
import collections, csv
sums = collections.Counter()
for row in csv.DictReader(open("/uploads/orders.csv")):
    sums[row["city"]] += float(row["price"])
with open("report.md", "w") as report:
    report.writelines(f"{city}: {total:.2f}\\n" for city, total in sorted(sums.items()))
E
cat report.md
"""


async def test_a_task_is_done_with_files_that_came_in_and_files_that_go_out(tmp_path: Path) -> None:
    """A program reads an upload by the path of the file tools, and writes a report."""
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await ada.files.upload("t1", "orders.csv", ROWS.encode())
        assert "Jena: 5000.00\nUlm: 3000.00" in await ran(ada, SUM_UP)
        assert [one.path for one in (await ada.files.artifacts("t1")).files] == ["/report.md"]
        assert await ada.files.read("t1", "/report.md") == b"Jena: 5000.00\nUlm: 3000.00\n"
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "files").rglob("*")}
    assert modes == {0}


HOLD = "import time; x = bytearray(50 << 20); time.sleep(30)"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 30", "timed out"),
        ("for k in $(seq 60); do sleep 9 & done; wait", "more than the 40 processes|annot fork"),
        ('python3 -c "x = bytearray(600 << 20)"', "MemoryError"),
        (f"for i in 1 2 3 4 5; do python3 -c '{HOLD}' & done; wait", "more than the 128 MiB"),
        ("head -c 300000000 /dev/zero > /tmp/large; ls -s /tmp", "No space left"),
    ],
)
async def test_a_command_that_uses_too_much_is_ended(
    tmp_path: Path, command: str, said: str
) -> None:
    async with opened(tmp_path, memory_mb=128, processes=40, timeout_seconds=4) as app:
        assert re.search(said, await ran(app.tenant("ada"), command))


async def test_a_command_sees_what_the_settings_name_and_nothing_else(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "words.txt").write_text("hello")
    async with opened(tmp_path, env={"TOKEN": "t0ken"}, read_only=[str(tools)]) as app:
        said = await ran(app.tenant("ada"), f"env; cat {tools}/words.txt; rm {tools}/words.txt")
    names = set(re.findall(r"^([A-Z_]+)=", said, re.MULTILINE))
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "TOKEN"}
    assert "TOKEN=t0ken" in said
    assert "hello" in said
    assert (tools / "words.txt").exists()


async def test_folders_of_the_application_are_hidden_below_visible_ones(tmp_path: Path) -> None:
    """An installation below a folder that commands may read does not expose every user's files."""
    async with opened(tmp_path, read_only=[str(tmp_path)]) as app:
        bob, ada = app.tenant("bob"), app.tenant("ada")
        await ran(bob, "echo swordfish > secret.txt")
        said = await ran(ada, f"ls {tmp_path}; grep -r swordfish {tmp_path}; ls -A {tmp_path}/*")
    assert "files" in said
    assert "swordfish" not in said
    assert "thalweg.db" not in said


async def test_nothing_of_a_command_lives_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await ran(ada, "(sleep 1; touch late.txt) > /dev/null 2>&1 & echo started")
        await asyncio.sleep(1.5)
        assert "late.txt" not in await ran(ada, "ls")
