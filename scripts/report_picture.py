"""Draw `docs/report.png`: the report on the bundled sample, down to the curves of its cost.

    uv run --group browser python -m scripts.report_picture [FILE]

It needs Chromium (`chromium` on the path).
"""

import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from thalweg_recorder.cli.replay import replay
from thalweg_recorder.replay.sample import sample_path

WIDTH = 1280
"""Pixels."""
POLICIES = "thalweg,deepagents,langchain,none"


def draw(picture: Path) -> None:
    """Replay the sample under four policies and photograph the report."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        arguments = [str(sample_path()), "--policy", POLICIES, "--html", str(report)]
        replay(arguments, standalone_mode=False)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=which("chromium"))
            page = browser.new_page(viewport={"width": WIDTH, "height": 2 * WIDTH})
            page.goto(report.as_uri())
            end = page.evaluate(
                "document.getElementById('cost-chart').getBoundingClientRect().bottom"
            )
            page.set_viewport_size({"width": WIDTH, "height": int(end)})
            page.screenshot(path=picture)
            browser.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/report.png"))
