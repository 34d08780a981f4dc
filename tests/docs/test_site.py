"""The built site: every link leads to a page and an anchor, every public name is in the reference.

The site is built once, as `mkdocs build --strict` does, in this process: most of what it imports is
imported here. Links to other hosts are not followed.
"""

import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from scripts.reference_pages import PACKAGES, public_names
from tests.docs.pages import ROOT, blocks

EXAMPLES = "\n".join(path.read_text("utf-8") for path in (ROOT / "examples").rglob("*.py"))


class Links(HTMLParser):
    """Collects the anchors and the links of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.anchors, self.links = {""}, set[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, names, addresses and sources."""
        del tag
        found = {name: value for name, value in attrs if value is not None}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.links |= {found[name] for name in ("href", "src") if name in found}


@dataclass(frozen=True, slots=True)
class Site:
    """A built site."""

    folder: Path
    source: Callable[[str], Any]
    """Returns what the reference read of a name."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Build the site."""
    pytest.importorskip("mkdocs", reason="the group `docs` is not installed")
    build, config = import_module("mkdocs.commands.build"), import_module("mkdocs.config")
    folder = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings(), chdir(ROOT):
        warnings.simplefilter("ignore")
        settings = config.load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(folder))
        reference, handlers = settings.plugins["mkdocstrings"], list[Any]()
        settings.plugins.events["env"].append(
            lambda _, **__: handlers.append(reference.get_handler("python"))  # before it is dropped
        )
        settings.plugins.on_startup(command="build", dirty=False)
        build.build(settings)
        settings.plugins.on_shutdown()
    (handler,) = handlers
    return Site(folder, lambda name: handler.collect(name, handler.get_options({})))


def dead_links(pages: Mapping[Path, Links]) -> list[str]:
    """Return the links inside of the site that lead to no file or to no anchor."""
    dead = []
    for page, found in pages.items():
        for link in sorted(found.links):
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            anchors = pages[target].anchors if target in pages else {""}
            if not target.exists() or unquote(address.fragment) not in anchors:
                dead.append(f"{page.name}: {link}")
    return dead


def test_each_kind_of_page_has_a_dozen_at_most() -> None:
    """The navigation has the front page and four kinds; the settings have tags of Python."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    kinds = re.split(r"^  - ", text[text.index("\nnav:") :], flags=re.MULTILINE)[1:]
    pages = {
        kind.partition(":")[0]: len(re.findall(r"\.md$", kind, re.MULTILINE)) for kind in kinds
    }
    assert list(pages) == ["Thalweg", "Tutorial", "How to", "Reference", "Explanation"]
    assert max(pages.values()) <= 12
    assert sum(pages.values()) >= 30, "the pages of the navigation were not found"


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_no_link_of_the_site_is_dead(site: Site) -> None:
    """`404.html` names its files from the root of a server, and is not walked."""
    files = [page.resolve() for page in site.folder.rglob("*.html") if page.name != "404.html"]
    pages = {page: Links(page.read_text(encoding="utf-8")) for page in files}
    assert len(pages) > len(PACKAGES)
    assert dead_links(pages) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h2 id="x">X</h2><a href="#y">Y</a><a href="b.html">B</a>')
    page = (tmp_path / "a.html").resolve()
    found = dead_links({page: Links(page.read_text())})
    assert found == ["a.html: #y", "a.html: b.html"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_docstring(package: str, site: Site) -> None:
    """The reference omits a name without one."""
    names = (f"{package}.{name}" for name in public_names(import_module(package)))
    assert [name for name in names if not site.source(name).docstring] == []


def test_every_name_that_the_pages_import_is_in_the_reference() -> None:
    code = "\n".join([EXAMPLES, *(block.code for block in blocks("python"))])
    imports = r"^from (thalweg[\w.]*) import \(?([^()#]+?)\)?$"
    missing = {
        f"{package}.{name}"
        for package, names in re.findall(imports, code, re.MULTILINE)
        for name in re.findall(r"\w+", names)
        if package not in PACKAGES or name not in public_names(import_module(package))
    }
    assert missing == set()


def test_every_public_name_is_rendered(site: Site) -> None:
    """By its own address, or as a link to where it is rendered."""
    for package in PACKAGES:
        text = (site.folder / "api" / f"{package}.html").read_text(encoding="utf-8")
        page = Links(text)
        targets = page.anchors | {link.partition("#")[2] for link in page.links}
        shown = {target.rpartition(".")[2] for target in targets}
        shown |= set(re.findall(r"<code>(\w+)</code> is <a", text))  # another name of a class
        assert [n for n in public_names(import_module(package)) if n not in shown] == [], package


@pytest.mark.slow
@pytest.mark.nightly
def test_the_search_works_from_the_folder(site: Site) -> None:
    """In a real browser without a network; no page asks for another address, or is too wide."""
    api = pytest.importorskip("playwright.sync_api", reason="the package playwright is absent")
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        pytest.skip(f"there is no {chromium}")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(offline=True, viewport={"width": 390, "height": 844}).new_page()
        complaints, asked = list[str](), list[str]()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        for name in ("configuration", "cli", "coming-from"):
            page.goto((site.folder / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto((site.folder / "index.html").as_uri())
        page.locator("input[name=query]").fill("breakpoints")
        hit = page.locator(".md-search-result__item a[href*='models.html']").first
        hit.wait_for()
        browser.close()
    assert complaints == []
    assert [url for url in asked if url.startswith("http")] == []
