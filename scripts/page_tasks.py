"""Count the clicks and the seconds of four tasks on the web page, as somebody new would do them.

    uv run --group browser python -m scripts.page_tasks [LOG…]

Each task begins on the first screen of `thalweg ui` in Chromium, over the threads and the memory
of the tests and over logs of coding agents (by default Claude Code's of
`../shared/data/recorded`, if they are there). A click is a real one, on what the page shows
without scrolling in the list; the seconds are those of the machine, without reading.
"""

import gzip
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Locator, Page, expect, sync_playwright

from scripts.page_pictures import launch, served_page  # puts the tests on the path
from server_tests.browser import page_world
from thalweg.archive import open_archive
from thalweg_recorder.importing import import_sessions

LOGS = Path(__file__).parents[1] / "../shared/data/recorded/originals"
MOST_LOGS = 6


class Visitor:
    """Someone at the first screen who counts clicks."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._address = address
        self.clicks = 0

    def arrive(self) -> None:
        """Open the first screen, and wait for its list."""
        self.clicks = 0
        self.page.goto("about:blank")
        self.page.goto(self._address)
        expect(self.page.locator("tbody tr").first).to_be_visible()

    def click(self, target: Locator) -> None:
        """Click something that is visible, and count it."""
        target.click()
        self.clicks += 1


def lost_request(visitor: Visitor) -> str:
    """Find the words of a request that an agent lost."""
    page = visitor.page
    visitor.click(page.locator("tbody a", has_text=re.compile(r"requests? lost")).first)
    first = page.locator("#lost li").first
    expect(first).to_be_visible()
    return first.inner_text().partition("\n")[0]


def cost(visitor: Visitor) -> str:
    """Find what a session cost, and what for."""
    page = visitor.page
    row = page.locator("tbody tr", has_text=re.compile(r"requests? lost")).first
    visitor.click(row.locator(".cost a"))
    expect(page.locator(".figures")).to_contain_text("Dearest call")
    return page.locator(".answer").inner_text()


def bring_back(visitor: Visitor) -> str:
    """Return to an agent the messages that a compaction removed."""
    page = visitor.page
    row = page.locator("tbody tr", has_text=page_world.CUTOVER)
    visitor.click(row.get_by_role("link", name=re.compile("change")))
    visitor.click(page.get_by_role("button", name="Undo", exact=True).first)
    status = page.get_by_role("status").filter(has_text="Undone")
    expect(status).to_be_visible()
    return status.inner_text()


def forget(visitor: Visitor) -> str:
    """See what is remembered, and delete one fact."""
    page = visitor.page
    visitor.click(page.get_by_role("link", name="Memory"))
    fact = page.locator(".facts li", has_text=page_world.FACT)
    visitor.click(fact.get_by_role("button", name="Forget"))
    visitor.click(page.get_by_role("button", name="Forget it"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("deleted")
    return dialog.locator("p").first.inner_text()


TASKS: dict[str, Callable[[Visitor], str]] = {
    "Which request of mine did the agent lose?": lost_request,
    "What did this session cost, and why?": cost,
    "Bring back what was removed": bring_back,
    "What does it remember about me? Forget one thing": forget,
}
MOST_CLICKS = 3


def logs() -> Sequence[Path]:
    """Return the logs of the command line, or those of the recorded sessions."""
    return [*map(Path, sys.argv[1:])] or sorted(LOGS.glob("cc-*.jsonl.gz"))[:MOST_LOGS]


def fill(home: Path) -> int:
    """Write the threads into the folder of a gateway; return the number of imported logs."""
    page_world.make_archive(home)
    folder = home.parent / "logs"
    folder.mkdir()
    for log in logs():
        text = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
        (folder / log.name.removesuffix(".gz")).write_bytes(text)
    with open_archive(home / "thalweg.db") as archive:
        return sum(not one.error for one in import_sessions(archive, folder.iterdir()))


def main() -> int:
    """Print the table; return 1 if a task takes more clicks than it should."""
    with TemporaryDirectory() as place:
        home = Path(place) / "home"
        count = fill(home)
        print(
            f"| task ({count} imported sessions) | clicks | seconds | found |\n|---|---:|---:|---|"
        )
        over = False
        with served_page(home) as address, sync_playwright() as playwright:
            browser = launch(playwright)
            visitor = Visitor(browser.new_page(viewport={"width": 1280, "height": 860}), address)
            for name, task in TASKS.items():
                visitor.arrive()
                start = time.perf_counter()
                found = task(visitor)
                seconds = time.perf_counter() - start
                print(f"| {name} | {visitor.clicks} | {seconds:.1f} | {found[:90]} |")
                over |= visitor.clicks > MOST_CLICKS
            browser.close()
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
