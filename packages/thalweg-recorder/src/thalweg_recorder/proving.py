"""The proof of an installation: one event through its hook, one question through its MCP server.

Both are run as the agent would run them, with the commands of `HostCommands`. The event has a
folder of its own, so that nothing of it is in the user's archive.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Timer

from thalweg_recorder.hook import LOG
from thalweg_recorder.hosts import HostCommands

DEADLINE_S = 60.0
_SESSION = "00000000-0000-4000-8000-000000000000"
_ROW = {
    "type": "user",
    "uuid": "u1",
    "sessionId": _SESSION,
    "message": {"role": "user", "content": "Is this recorded?"},
}
_CALLS = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "thalweg record on", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list", "params": {}},
    {
        "id": 3,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "Is this recorded?", "scope": "all"}},
    },
)


def prove(commands: HostCommands) -> Iterator[str]:
    """Run the hook and the server, and yield a sentence about each that does not work."""
    checks = (
        ("an event that passed the hook was not recorded", partial(_prove_hook, commands.hook)),
        ("the MCP server did not answer", partial(_prove_server, commands.server)),
    )
    for sentence, check in checks:
        try:
            problem = check()
        except (OSError, subprocess.SubprocessError) as error:
            problem = str(error)
        if problem:
            yield f"{sentence}: {problem}"


def _prove_hook(command: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as temporary:
        log, home = Path(temporary, f"{_SESSION}.jsonl"), Path(temporary, "home")
        log.write_text(f"{json.dumps(_ROW)}\n", "utf-8")
        event = {"hook_event_name": "Stop", "session_id": _SESSION, "transcript_path": str(log)}
        done = subprocess.run(  # noqa: S603 (our own command)
            [*command[:-1], str(home)],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        queue, end = home / "queue", time.monotonic() + DEADLINE_S
        while queue.is_dir() and time.monotonic() < end:
            if not any(queue.glob("*.json")) and (home / "thalweg.db").exists():
                return ""
            time.sleep(0.05)
        errors = home / LOG
        output = done.stderr or done.stdout or (errors.read_text() if errors.exists() else "")
        return _last_line(output) or "no worker ran"


def _prove_server(command: Sequence[str]) -> str:
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', **call})}\n" for call in _CALLS)
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(  # noqa: S603 (our own command)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        deadline = Timer(DEADLINE_S, server.kill)
        deadline.start()
        try:
            problem = _ask(server, lines)
        finally:
            deadline.cancel()
            server.kill()
        errors.seek(0)
        return problem and (_last_line(errors.read()) or problem)


def _ask(server: "subprocess.Popen[str]", lines: str) -> str:
    """Send the lines, and wait for the answer to the last; its end, too, would be an answer."""
    assert server.stdin is not None  # noqa: S101 (a pipe)
    assert server.stdout is not None  # noqa: S101
    try:
        server.stdin.write(lines)
        server.stdin.flush()
        answers = map(json.loads, server.stdout)
        last = next(one for one in answers if one.get("id") == _CALLS[-1]["id"])
    except (OSError, ValueError, StopIteration):
        return "it ended without an answer"
    result = last.get("result", {"isError": True, "content": [{"text": str(last.get("error"))}]})
    return str(result["content"][0]["text"]) if result.get("isError") else ""


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
