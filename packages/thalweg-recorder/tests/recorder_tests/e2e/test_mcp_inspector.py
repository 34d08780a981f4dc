"""`thalweg record mcp` under the protocol's own inspector, from npm."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recorder_tests.e2e.test_cli import environment
from recorder_tests.e2e.test_recorder_mcp import TOOLS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PACKAGES = ("@modelcontextprotocol/inspector-cli@0.15.0",)  # the inspector without its pages
NODE = 22
"""The oldest that it is tried with; Debian has 20, and Playwright brings one of its own."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Node, and a folder with the packages."""

    node: Path
    modules: Path


def recent_node() -> Path | None:
    """Find a Node that is new enough, on the path or in Playwright."""
    found = [Path(on_path)] if (on_path := shutil.which("node")) else []
    if (playwright := find_spec("playwright")) and playwright.origin:
        found.append(Path(playwright.origin).parent / "driver" / "node")
    for node in filter(Path.exists, found):
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        if re.match(r"v(\d+)", said.stdout) and int(said.stdout[1:].partition(".")[0]) >= NODE:
            return node
    return None


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    """Return the packages; `THALWEG_MCP_TOOLS` names a folder in which they are kept."""
    memory = Path("/dev/shm")  # noqa: S108 (7,000 small files)
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > _ROOM
    with TemporaryDirectory(dir=memory if has_room else None) as made:
        yield _installed(Path(os.environ.get("THALWEG_MCP_TOOLS") or made))


_ROOM = 1 << 29
"""Bytes that the packages may take."""


def _installed(place: Path) -> Tools:
    modules, node = place / "node_modules", recent_node()
    packages = PACKAGES if node else (*PACKAGES, f"node@{NODE}")
    tools = Tools(node or modules / "node" / "bin" / "node", modules)
    if tools.node.exists() and (modules / PACKAGES[-1].rpartition("@")[0]).is_dir():
        return tools
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    command = [
        npm,
        "install",
        "--prefer-offline",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(place),
    ]
    done = subprocess.run([*command, *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm could not install the packages: {done.stderr[-300:]}")
    return tools


def _run(tools: Tools, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = tools.modules / "@modelcontextprotocol" / script
    return subprocess.run(
        [tools.node, program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment(),
    )


@pytest.mark.parametrize(
    ("method", "field", "names"),
    [("tools/list", "tools", TOOLS), ("resources/list", "resources", {"threads"})],
)
def test_the_inspector_reads_it_over_stdio(
    tools: Tools, tmp_path: Path, method: str, field: str, names: set[str]
) -> None:
    served = [sys.executable, "-m", "thalweg", "record", "mcp"]
    place = ["--archive", str(tmp_path / "a.db")]
    done = _run(tools, "inspector-cli/build/cli.js", "--cli", *served, *place, "--method", method)
    assert {one["name"] for one in json.loads(done.stdout)[field]} == names, done.stderr
