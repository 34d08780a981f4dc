"""The pictures of the documentation: what draws each, and a digest of the figures that it shows.

    python -m scripts.pictures              # compare the digests with the figures of today
    python -m scripts.pictures growth.png   # after its command drew it again: store the digest

A picture is stale when its digest differs from that of its figures.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DIGESTS = DOCS / "assets" / "pictures.json"


@dataclass(frozen=True, slots=True)
class Picture:
    """How a picture is drawn, and the figures that it shows."""

    command: str
    figures: Callable[[], str]

    @property
    def digest(self) -> str:
        """The digest of its figures."""
        return sha256(self.figures().encode()).hexdigest()[:16]


def file_text(path: str) -> str:
    """Return a file of measurements."""
    return (ROOT / path).read_text(encoding="utf-8")


def tables(page: str, heading: str = "") -> str:
    """Return the rows of the tables of a page, or of the section below a heading."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if heading:
        text = re.split(r"^##+ ", text[text.index(f"## {heading}\n") + 3 :], flags=re.MULTILINE)[0]
    return "\n".join(re.findall(r"^\|.*\d.*\|$", text, re.MULTILINE))


def generated_figures(page: str) -> str:
    """Return the figures that a program wrote into a page, between its marks, without words."""
    text = (DOCS / page).read_text(encoding="utf-8")
    written = re.findall(r"<!-- figures: \w+ -->\n(.*?)<!-- end -->", text, re.DOTALL)
    return " ".join(re.findall(r"\d[\d.,]*", "\n".join(written)))


_ARENA: Final = Picture(
    "uv run --group bench --group arena python -m benchmarks.arena",
    partial(generated_figures, "arena.md"),
)
_PAGE: Final = Picture(
    "uv run --group browser python -m scripts.page_pictures",
    partial(file_text, "packages/thalweg-server/tests/server_tests/browser/page_world.py"),
)
_FRONT_ENDS: Final = Picture(
    "THALWEG_PICTURES=docs uv run pytest -m '' -k front_ends packages/thalweg-server"
    " # see the test for the addresses that it needs",
    partial(file_text, "packages/thalweg-server/tests/server_tests/browser/front_end_world.py"),
)
PICTURES: Final[Mapping[str, Picture]] = {
    "agent-chat-ui.png": _FRONT_ENDS,
    "arena-frontier.png": _ARENA,
    "decay.png": Picture(
        "uv run --group bench python -m benchmarks.summaries decay --png docs/decay.png",
        partial(tables, "internals.md", "Decay"),
    ),
    "deep-agents-ui.png": _FRONT_ENDS,
    "endurance.png": Picture(
        "uv run --group bench python -m benchmarks.endurance F --table --draw docs/endurance.png",
        partial(file_text, "benchmarks/measured/endurance.json"),
    ),
    "evals.svg": Picture(
        "thalweg eval --policy thalweg --trigger 0.1 --svg docs/evals.svg",
        partial(tables, "evals.md", "Measured beside peers"),
    ),
    "growth.png": Picture(
        "uv run --group bench python -m benchmarks.figure",
        partial(file_text, "benchmarks/measured/beside.json"),
    ),
    "inspect.png": Picture(
        "uv run --group inspect --group browser python -m scripts.inspect_picture",
        partial(tables, "evals.md", "With Inspect"),
    ),
    "page-changes.png": _PAGE,
    "page-request.png": _PAGE,
    "page-threads.png": _PAGE,
    "report.png": Picture(
        "uv run --group browser python -m scripts.report_picture",
        partial(file_text, "benchmarks/measured/sessions.json"),
    ),
    "scale.png": Picture(
        "uv run --group bench --group arena python -m benchmarks.scale --draw docs/scale.png",
        partial(file_text, "benchmarks/measured/scale.json"),
    ),
}
"""By name."""


def stored() -> dict[str, str]:
    """Return the digests of the figures that the pictures in the folder show."""
    found: dict[str, str] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found


def main(names: list[str]) -> int:
    """Store the digests of some pictures; without a name, print the stale ones."""
    digests = stored() if DIGESTS.exists() else {}
    if names:
        digests |= {name: PICTURES[name].digest for name in names}
        DIGESTS.write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    stale = [name for name, picture in PICTURES.items() if digests.get(name) != picture.digest]
    for name in stale:
        print(f"{name} is stale; draw it: {PICTURES[name].command}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
