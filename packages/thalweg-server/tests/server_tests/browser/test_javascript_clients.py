"""JavaScript clients against a gateway: LangGraph's, which front ends use, and OpenAI's."""

import shutil
import subprocess
from pathlib import Path

import pytest

from server_tests.gateway.worlds import KEYS, settings
from server_tests.serving import gateway
from thalweg_server.settings import Settings

HERE = Path(__file__).parent
NPM, NODE = shutil.which("npm") or "", shutil.which("node") or ""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (NPM and NODE), reason="npm or node is absent"),
]


@pytest.mark.parametrize(
    ("package", "script"),
    [
        ("@langchain/langgraph-sdk", "langgraph_sdk.mjs"),
        ("@langchain/langgraph-sdk", "thread_protocol.mjs"),
        ("openai", "openai_sdk.mjs"),
    ],
)
def test_a_client_does_what_its_script_says(tmp_path: Path, package: str, script: str) -> None:
    install = [NPM, "install", "--silent", "--no-audit", "--prefix", str(tmp_path), package]
    subprocess.run(install, check=True, timeout=300)
    shutil.copy(HERE / script, tmp_path)
    made = settings(tmp_path / "home", keys=KEYS)
    place = "server_tests.gateway"
    graphs = [
        {"name": "asking", "graph": f"{place}.own_graphs:asking"},
        {"name": "scripted", "graph": f"{place}.protocol_graphs:agent"},
    ]
    agents = Settings.from_mapping({"agents": graphs}).agents
    with gateway(made.model_copy(update={"agents": agents})) as served:
        done = subprocess.run(
            [NODE, str(tmp_path / script), served.url, "ada-s-key"],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stdout.strip()) == (0, "ok"), done.stderr
