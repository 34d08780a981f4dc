"""The report of a replay: one page that needs nothing but a browser.

Two rules: the page asks the network for nothing, and its policy forbids the browser to; what
a recording says reaches the page as data and is shown as text, whatever it says.
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import TemporaryFile

from thalweg.errors import ConfigError
from thalweg.replay.payload import payload
from thalweg.replay.results import Run

SCRIPTS = ("data.js", "draw.js", "charts.js", "tables.js", "savings.js", "outline.js", "page.js")
"""The script of the page, in the order in which the parts stand."""
_PAGE = files("thalweg.replay") / "page"
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_place(path: Path, recordings: Iterable[Path] = ()) -> None:
    """Check that a report can be written there, before a long replay begins.

    Args:
        path: Where the report shall go.
        recordings: Files that it must not replace.

    Raises:
        ConfigError: It cannot, or it would take the place of something else.
    """
    with _told(path):
        place = path.resolve()
        if place.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if place.exists() and not place.is_file():
            raise OSError(None, "it is no ordinary file")
        if place in {recording.resolve() for recording in recordings}:
            raise OSError(None, "it is one of the recordings")
        with TemporaryFile(dir=place.parent):
            pass


def write_report(runs: Sequence[Run], path: Path) -> None:
    """Write the report of these runs to a file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    check_place(path)
    page = render_report(runs).encode()
    with _told(path):
        _replace(path.resolve(), page)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what, mend = f"--html {path}", "name a file that can be written"
        problem = f"the report cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError(what, problem, mend) from error


def _replace(path: Path, content: bytes) -> None:
    path = path.resolve()
    unfinished = path.with_name(f".thalweg-report.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def render_report(runs: Sequence[Run]) -> str:
    """Make the page: equal runs give an equal page, and nothing in it points elsewhere.

    Example:
        >>> render_report([]).startswith("<!doctype html>")
        True
    """
    style = _part("page.css")
    script = "\n".join(['"use strict";', "(() => {", *map(_part, SCRIPTS), "})();"])
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    return Template(_part("page.html")).substitute(
        policy=policy, style=style, script=script, data=as_data_block(payload(runs))
    )


def _part(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def as_data_block(value: object) -> str:
    r"""Write a value as JSON that may stand in a script element, whatever its texts say.

    Example:
        >>> as_data_block("</script><!--")
        '"\\u003c/script>\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.replace("<", "\\u003c")
