"""LangGraph's JavaScript client, which front ends consist of, against a gateway; it needs npm."""

import shutil
import subprocess
from pathlib import Path

import pytest

from server_tests.gateway.worlds import KEYS, settings
from server_tests.serving import gateway
from thalweg_server.settings import Settings

SCRIPT = Path(__file__).with_name("langgraph_sdk.mjs")
NPM, NODE = shutil.which("npm") or "", shutil.which("node") or ""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (NPM and NODE), reason="npm or node is absent"),
]


def test_the_javascript_client_streams_joins_cancels_forks_and_answers(tmp_path: Path) -> None:
    package = "@langchain/langgraph-sdk"
    install = [NPM, "install", "--silent", "--no-audit", "--prefix", str(tmp_path), package]
    subprocess.run(install, check=True, timeout=300)
    shutil.copy(SCRIPT, tmp_path)
    made = settings(tmp_path / "home", keys=KEYS)
    graphs = [{"name": "asking", "graph": "server_tests.gateway.own_graphs:asking"}]
    agents = Settings.from_mapping({"agents": graphs}).agents
    with gateway(made.model_copy(update={"agents": agents})) as served:
        done = subprocess.run(
            [NODE, str(tmp_path / SCRIPT.name), served.url, "ada-s-key"],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stdout.strip()) == (0, "ok"), done.stderr
