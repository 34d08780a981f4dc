"""A page in one file: markup, style, script and data, under a policy that allows just these.

What every page has lies in `shared`: the frame of the document, the look, and of the script how
elements, numbers and charts are made. A report brings its own markup, style and script in a
folder of its own; both scripts are one, in which the shared parts stand first.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

_SHARED = files("thalweg.pages") / "shared"
_SCRIPTS = ("words.js", "draw.js", "axes.js", "paper.js")
"""The shared script, in the order in which the parts stand."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def render_page(title: str, folder: Traversable, scripts: Sequence[str], data: object) -> str:
    """Make a page: equal data gives an equal page, and nothing in it points elsewhere.

    Args:
        title: Of the document, until its script names it better.
        folder: Holds the report's own `page.html` (what stands in the body), `page.css` and
            scripts.
        scripts: Names of its own scripts, in the order in which they stand.
        data: What the page shows, as values of JSON.
    """
    own = [_read(folder, name) for name in scripts]
    shared = [_read(_SHARED, name) for name in _SCRIPTS]
    style = _read(_SHARED, "page.css") + _read(folder, "page.css")
    script = "\n".join(['"use strict";', "(() => {", *shared, *own, "})();"])
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    return Template(_read(_SHARED, "page.html")).substitute(
        title=title,
        policy=policy,
        style=style,
        body=_read(folder, "page.html"),
        script=script,
        data=as_data_block(data),
    )


def _read(folder: Traversable, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


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
