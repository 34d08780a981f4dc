"""Draw the pictures of the web page in `docs`: its screens over two recorded threads.

    uv run --group browser python -m scripts.page_pictures [FOLDER]

The threads are those of the tests: an agent that Thalweg compacted, and an imported session of
a coding agent. With FOLDER every screen is drawn there, at 1280, 1920 and 390 pixels, light and
dark, to be looked at. It needs Chromium (`chromium` on the path).
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Playwright, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(path) for path in ROOT.glob("packages/*/tests")]

from server_tests.browser import page_world  # noqa: E402 (below the tests' folders)

DOCS = {"threads": "page-threads", "request": "page-request", "changes": "page-changes"}
"""The screens in `docs`, by their names."""
WIDTHS = (1280, 1920, 390)


def draw(browser: Browser, address: str, folder: Path | None) -> None:
    """Photograph the screens: those of `docs`, or all of them into a folder."""
    url, _, token = address.partition("#")
    screens = {
        "threads": "/",
        "conversation": "/thread/cutover",
        "request": "/thread/cutover/request",
        "changes": "/thread/cutover/changes",
        "recorded-changes": f"/thread/{page_world.RECORDED}/changes",
        "recorded-request": f"/thread/{page_world.RECORDED}/request?call=1",
        "memory": "/memory",
        "gateway": "/gateway",
    }
    for width in WIDTHS if folder else WIDTHS[:1]:
        for scheme in ("light", "dark") if folder else ("light",):
            page = browser.new_page(
                viewport={"width": width, "height": 844 if width < WIDTHS[0] else 860},
                color_scheme=scheme,
            )
            page.goto(f"{url}#{token}")
            page.locator("h1").wait_for()
            for name, screen in screens.items():
                if folder is None and name not in DOCS:
                    continue
                page.goto(f"{url}#{screen}")
                page.locator("h1").wait_for()
                page.locator(".loading, [aria-busy]").first.wait_for(state="detached")
                target = f"{folder}/{name}-{width}-{scheme}.png"
                page.screenshot(path=target if folder else ROOT / f"docs/{DOCS[name]}.png")
            page.close()


@contextmanager
def served_page(home: Path) -> Iterator[str]:
    """Serve a folder with `thalweg ui`; yield the address with the token."""
    command = [sys.executable, "-m", "thalweg", "ui", str(home), "--port", "0", "--no-open"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert served.stdout is not None  # noqa: S101 (a pipe)
        yield served.stdout.readline().split()[-1]
    finally:
        served.terminate()
        served.wait()


def launch(playwright: Playwright) -> Browser:
    """Start the Chromium on the path."""
    return playwright.chromium.launch(executable_path=which("chromium"))


def main(folder: Path | None) -> None:
    """Serve the sessions with `thalweg ui`, and draw."""
    with TemporaryDirectory() as place:
        home = Path(place) / "home"
        page_world.make_archive(home)
        with served_page(home) as address, sync_playwright() as playwright:
            browser = launch(playwright)
            draw(browser, address, folder)
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
