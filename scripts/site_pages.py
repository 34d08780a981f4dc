"""Pages of the documentation site that are not files in `docs/`; a hook of MkDocs (`mkdocs.yml`).

The architecture, the changelog and the pages of examples and benchmarks are shown as
they are in the repository. The pages of the command line and of the Python API are generated.
"""

import re
from os.path import relpath
from pathlib import Path

from command_help import cli_page  # MkDocs has this folder on the path
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference_pages import api_pages  # the same

ROOT = Path(__file__).parents[1]
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Files of the repository, and the pages that show them."""
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]"
    r"\((?!https?:|#|mailto:)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    texts = {page: (ROOT / source).read_text("utf-8") for source, page in PAGES.items()}
    texts |= {"cli.md": cli_page(), **api_pages()}
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(
    markdown: str,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001 (MkDocs names its arguments)
    files: Files,
) -> str:
    """Point links at the site's pages; a link to another file becomes its text."""
    source = next((s for s, p in PAGES.items() if p == page.file.src_uri), None)
    folder = (ROOT / (source or f"docs/{page.file.src_uri}")).parent
    known = {file.src_uri for file in files}

    def linked(found: re.Match[str]) -> str:
        path = (folder / found["path"]).resolve()
        if not path.is_relative_to(ROOT):
            return found[0]
        name = path.relative_to(ROOT).as_posix()
        if f"{name}/README.md" in PAGES:
            name = f"{name}/README.md"
        address = PAGES.get(name, name.removeprefix("docs/"))
        if address not in known:
            return found[0] if found["image"] else found["text"]
        address = relpath(address, Path(page.file.src_uri).parent)
        return f"{found['image']}[{found['text']}]({address}{found['anchor'] or ''})"

    return _LINK.sub(linked, markdown)
