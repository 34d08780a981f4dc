"""Measure sessions of Claude Code whose logs state usage, and draw the report of one.

    uv run --group browser python -m scripts.report_picture [FILE]

Writes `benchmarks/measured/sessions.json`, what `thalweg replay` prints about one session and about
all of them, and `docs/report.png`, the report of the one. It needs Chromium (`chromium` on the
path) and the recorded threads: `THALWEG_RECORDED`, or the folder next to the repository.
"""

import io
import json
import os
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from thalweg_recorder.cli.replay import replay

ROOT = Path(__file__).parents[1]
RECORDED = Path(os.environ.get("THALWEG_RECORDED") or ROOT.parent / "shared" / "data" / "recorded")
SESSION = "cc-git-status-broken"
MEASURED = ROOT / "benchmarks" / "measured" / "sessions.json"
POLICIES = "thalweg,thalweg-careful,recorded,deepagents,none"
WIDTH = 1280
"""Pixels."""
_HIDDEN = "#title, #recording-missing, .next, #legend-bar, section:has(#tokens-chart), .cursor"
_MARGIN = 16
"""Pixels below the last chart."""


def replayed_lines(name: str, report: Path) -> list[str]:
    """Replay sessions, write their report, and return the totals, or the rows of one session.

    Args:
        name: File name of the sessions without its ending; `*` matches any.
        report: Where the report is written.
    """
    output = io.StringIO()
    paths = sorted(map(str, (RECORDED / "originals").glob(f"{name}.orig.jsonl.gz")))
    with redirect_stdout(output):
        replay([*paths, "--policy", POLICIES, "--html", str(report)], standalone_mode=False)
    lines = [" ".join(line.split()) for line in output.getvalue().splitlines()]
    rows = re.compile(f"all {len(paths)} threads" if len(paths) > 1 else name)
    verdict = next(place for place, line in enumerate(lines) if line.startswith("The tokens in"))
    return [
        line
        for place, line in enumerate(lines)
        if line and (rows.match(line) or place >= verdict) and str(report) not in line
    ]


def draw(report: Path, picture: Path) -> None:
    """Photograph a report: its verdict, its table and the curves of its cost."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (of the group `browser`)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"))
        page = browser.new_page(bypass_csp=True, viewport={"width": WIDTH, "height": 2 * WIDTH})
        page.goto(report.as_uri())
        page.add_style_tag(content=f"{_HIDDEN} {{display: none !important}}")
        page.evaluate("document.querySelector('.terms').open = true")
        bottom = page.evaluate(
            "document.getElementById('cost-chart').getBoundingClientRect().bottom"
        )
        page.set_viewport_size({"width": WIDTH, "height": int(bottom) + _MARGIN})
        page.screenshot(path=picture)
        browser.close()


def measured(report: Path) -> dict[str, list[str]]:
    """Replay all sessions, then the one whose report is drawn."""
    return {name: replayed_lines(name, report) for name in ("cc-*", SESSION)}


def main(picture: Path) -> None:
    """Write the measured lines and the picture."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        MEASURED.write_text(json.dumps(measured(report), indent=1) + "\n", encoding="utf-8")
        draw(report, picture)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "report.png"))
