"""`thalweg mcp` under the protocol's own conformance suite and inspector, as npm has them."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_cli import environment
from tests.e2e.test_recorder_mcp import TOOLS, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PACKAGES = (
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/inspector-cli@0.15.0",  # the inspector without its pages
)
NODE = 22
"""The suite does not start with Node 20, which Debian has."""
SCENARIOS = {
    "server-initialize": 1,
    "ping": 1,
    "tools-list": 1,
    "tools-call-error": 1,
    "server-sse-multiple-streams": 2,
    "resources-list": 1,
    "prompts-list": 1,
    "dns-rebinding-protection": 2,
}
"""Checks by scenario. The others call tools, resources and prompts of a reference server by their
names, or use capabilities that ours does not declare (logging, completion, subscriptions)."""
_NODES = "node-*-*"
"""The package with Node itself, which is called by platform and processor."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages; `THALWEG_MCP_TOOLS` names one that is kept."""
    kept = os.environ.get("THALWEG_MCP_TOOLS")
    place = Path(kept) if kept else tmp_path_factory.mktemp("npm")
    modules = place / "node_modules"
    if any(modules.glob(f"{_NODES}/bin/node")):
        return modules
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm is not installed")
    named = [node, "-p", "`node-${process.platform}-${process.arch}`"]
    of_here = subprocess.run(named, capture_output=True, text=True, check=True).stdout.strip()
    packages = (*PACKAGES, f"{of_here}@{NODE}")
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"npm could not install the packages: {done.stderr[-300:]}")
    return modules


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["mcp", "--http", "--port", str(port), "--archive", str(tmp_path / "a.db")]
    process = subprocess.Popen([sys.executable, "-m", "thalweg", *command], env=environment())
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def _run(tools: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (node,) = tools.glob(f"{_NODES}/bin/node")
    program = tools / "@modelcontextprotocol" / script
    return subprocess.run(
        [str(node), str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment(),
    )


def test_the_conformance_suite_passes_over_http(tools: Path, server: str) -> None:
    done = _run(tools, "conformance/dist/index.js", "server", "--url", server)
    found = re.findall(r"([\w-]+): (\d+) passed, (\d+) failed", done.stdout)
    counts = {name: (int(passed), int(failed)) for name, passed, failed in found}
    assert {name: counts.get(name) for name in SCENARIOS} == {
        name: (checks, 0) for name, checks in SCENARIOS.items()
    }


@pytest.mark.parametrize(
    ("method", "field", "names"),
    [("tools/list", "tools", TOOLS), ("resources/list", "resources", {"threads"})],
)
def test_the_inspector_reads_it_over_stdio(
    tools: Path, tmp_path: Path, method: str, field: str, names: set[str]
) -> None:
    served = [sys.executable, "-m", "thalweg", "mcp"]
    place = ["--archive", str(tmp_path / "a.db")]
    done = _run(tools, "inspector-cli/build/cli.js", "--cli", *served, *place, "--method", method)
    assert {one["name"] for one in json.loads(done.stdout)[field]} == names, done.stderr
