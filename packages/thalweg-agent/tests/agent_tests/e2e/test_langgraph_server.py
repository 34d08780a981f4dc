"""Agents on LangGraph's own server: `langgraph dev`, driven through the SDK, plain next to ours.

The server cannot be installed with the development group (both pin `jsonschema-rs`), so it has
an environment of its own; `THALWEG_LANGGRAPH` names its command:

    uv venv /tmp/server
    uv pip install --python /tmp/server/bin/python -e packages/thalweg-agent "langgraph-cli[inmem]"
    export THALWEG_LANGGRAPH=/tmp/server/bin/langgraph
    uv run pytest packages/thalweg-agent/tests/agent_tests/e2e/test_langgraph_server.py
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

pytestmark = pytest.mark.slow

COMMAND = os.environ.get("THALWEG_LANGGRAPH") or shutil.which("langgraph")
GRAPHS = """
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from thalweg import ContextMiddleware
from thalweg_agent import create_deep_agent
from thalweg.testing import ScriptedModel

def model():
    return ScriptedModel(script=lambda messages: "heard " + ",".join(
        m.text for m in messages if isinstance(m, HumanMessage)))

plain = create_agent(model())
ours = create_agent(model(), middleware=[ContextMiddleware()])
deep = create_deep_agent(model())

def factory():
    return create_agent(model(), middleware=[ContextMiddleware()])
"""
NAMES = ("plain", "ours", "deep", "factory")


@contextmanager
def served(folder: Path) -> Iterator[SyncLangGraphClient]:
    """Run the server in a folder, which keeps its threads when the server ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [str(COMMAND), "dev", "--no-browser", "--no-reload", "--port", str(port)]
    env = {**os.environ, "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(asked, cwd=folder, env=env, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 90
        while not _answers(url):
            assert server.poll() is None, (folder / "server.log").read_text()[-2_000:]
            assert time.monotonic() < deadline
            time.sleep(0.2)
        with get_sync_client(url=url) as client:
            yield client
    finally:
        server.terminate()  # it keeps its threads on the way out
        server.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ok").is_success
    except httpx.TransportError:
        return False


def say(client: SyncLangGraphClient, graph: str, text: str) -> tuple[str, list[str]]:
    """Run one turn of a graph's thread; return what its model received and what the state shows."""
    thread = thread_of(graph)
    client.threads.create(thread_id=thread, if_exists="do_nothing")
    said: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
    client.runs.wait(thread, graph, input=said)
    values: Any = client.threads.get_state(thread)["values"]
    shown = [str(message["content"]) for message in values["messages"]]
    return shown[-1], shown


def thread_of(graph: str) -> str:
    """Name the thread of a graph; the server takes UUIDs alone."""
    return f"00000000-0000-4000-8000-{NAMES.index(graph):012}"


@pytest.mark.skipif(COMMAND is None, reason="langgraph-cli is not installed; see THALWEG_LANGGRAPH")
def test_a_server_that_is_restarted_goes_on_with_every_thread(tmp_path: Path) -> None:
    """A thread that is deleted through it is removed."""
    (tmp_path / "g.py").write_text(GRAPHS)
    graphs = {name: f"./g.py:{name}" for name in NAMES}
    (tmp_path / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    found: dict[str, list[tuple[str, list[str]]]] = {name: [] for name in NAMES}
    for texts in (("a", "b"), ("c", "delete", "new")):
        with served(tmp_path) as client:
            for text in texts:
                for name in NAMES:
                    if text == "delete":
                        client.threads.delete(thread_of(name))
                    else:
                        found[name].append(say(client, name, text))

    assert [heard for heard, _ in found["plain"]] == [
        "heard a",
        "heard a,b",
        "heard a,b,c",
        "heard new",
    ]
    for name in NAMES[1:]:
        assert found[name] == found["plain"]
    assert "Blocking call" not in (tmp_path / "server.log").read_text()
