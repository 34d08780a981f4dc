"""A page in one file: markup, style, script and data, under a policy that allows only these.

The folder `shared` has what every page uses: the document frame, the style, and the script
functions for elements, numbers and charts. A report has its own markup, style and script in a
folder of its own; both scripts are concatenated, the shared parts first.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

_SHARED = files("thalweg_recorder.pages") / "shared"
_SCRIPTS = ("words.js", "draw.js", "axes.js", "paper.js")
"""The parts of the shared script, in order."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def render_page(title: str, folder: Traversable, scripts: Sequence[str], data: object) -> str:
    """Render a page: equal data renders an equal page, and it references no other resource.

    Args:
        title: Title of the document, until its script sets another.
        folder: Has the report's own `page.html` (the content of the body), `page.css` and
            scripts.
        scripts: Names of its own scripts, in order.
        data: Content of the page, as JSON values.
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
    r"""Serialize a value as JSON that is safe inside a script element.

    Example:
        >>> as_data_block("</script><!--")
        '"\\u003c/script>\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.replace("<", "\\u003c")
