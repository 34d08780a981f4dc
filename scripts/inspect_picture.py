"""Run probes in Inspect against a loopback server, and photograph the log in Inspect's viewer.

    uv run --group inspect --group browser python -m scripts.inspect_picture [FOLDER]

The server speaks OpenAI's Chat Completions protocol under its rules; the scripted `searcher`
answers. The logs are written to FOLDER, a temporary one by default; their rates and differences are
printed, and `docs/inspect.png` shows the log of our middleware in `inspect view`. It needs Chromium
(`chromium` on the path), and takes five minutes.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from shutil import which
from socket import socket
from tempfile import TemporaryDirectory
from unittest.mock import patch

from inspect_ai import eval as run_eval
from inspect_ai.model import get_model

from strict_llm import StrictProvider
from thalweg_evals import PROBES, Conversation, World
from thalweg_evals.inspect_tasks import main as compare
from thalweg_evals.inspect_tasks import probes
from thalweg_evals.scripted import WINDOW

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(path) for path in ROOT.glob("packages/*/tests")]

from evals_tests.test_inspect import answering  # noqa: E402 (below the tests' folders)

POLICIES = ("thalweg-middleware", "langchain")
CASES = ("needle", "objective/1", "clarification", "constraint/1", "premature", "artifacts")
"""The short ones."""
TRIGGER = 0.1
PICTURE = ROOT / "docs" / "inspect.png"
WIDTH, HEIGHT = 1280, 900
"""Pixels."""


@contextmanager
def answered(provider: StrictProvider) -> Iterator[None]:
    """Let the server answer as the scripted model of the world that was built last."""

    def building(name: str, case: str, dice: Random, talk: Conversation) -> World:
        world = plain[name].build(case, dice, talk)
        provider.answer = answering(world)
        return world

    plain = dict(PROBES)
    changed = {
        name: replace(one, build=lambda *given, name=name: building(name, *given))
        for name, one in plain.items()
    }
    with patch.dict(PROBES, changed):
        yield


def evaluate(folder: Path) -> list[Path]:
    """Run the probes for each policy, one sample at a time; return the logs."""
    with StrictProvider(window=WINDOW) as provider, answered(provider):
        model = get_model(
            "openai/gpt-4o", base_url=provider.openai_url, api_key="x", responses_api=False
        )
        tasks = [probes(policy, probe=list(CASES), trigger=TRIGGER) for policy in POLICIES]
        logs = run_eval(tasks, model, log_dir=str(folder), max_samples=1, display="plain")
        print("requests by status:", dict(Counter(one.status for one in provider.requests)))
    return [Path(log.location) for log in logs]


def draw(folder: Path, log: Path) -> None:
    """Open a log in Inspect's viewer and photograph the table of its samples."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (of the group `browser`)

    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(folder)]
    with (
        subprocess.Popen([*command, "--port", str(port)]) as server,  # noqa: S603 (of above)
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=which("chromium"))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for _ in range(60):
            page.wait_for_timeout(1_000)
            try:
                page.goto(f"http://127.0.0.1:{port}/#/logs/{log.name}")
                break
            except Exception:  # noqa: BLE001, S112 (the server starts)
                continue
        page.get_by_text("needle/once").first.wait_for(timeout=120_000)
        page.screenshot(path=PICTURE)
        browser.close()
        server.terminate()


def main(folder: Path) -> None:
    """Run, compare and photograph."""
    logs = evaluate(folder)
    compare([str(one) for one in logs])
    draw(folder, logs[0])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory(prefix="inspect-") as temporary:
            main(Path(temporary))
