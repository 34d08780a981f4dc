"""Runs an example in this process, on our package or on the one whose names it has."""

import re
import runpy
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
STAGE = "scripted"
"""The module that the examples share; it is unchanged with any package that they run on."""
MARK = "Only in Thalweg."
"""The mark of an example whose API is ours alone."""
_IMPORT = re.compile(r"^from thalweg_agent(?=[. ])", re.MULTILINE)
_PASSING = re.compile(r"tmp\w{8}|\d+\.\d+s")
"""What is another in every run: folders and times."""


@dataclass(frozen=True)
class Run:
    """What came of an example."""

    output: str
    requests: list[Any]

    def said(self) -> list[list[tuple[str, str, list[tuple[str, Any]]]]]:
        """List the messages of every request, without the system prompt: that is each one's own."""
        return [
            [
                (
                    m.type,
                    _PASSING.sub("…", str(m.text)),
                    [(c["name"], c["args"]) for c in getattr(m, "tool_calls", [])],
                )
                for m in request.messages
                if m.type != "system"
            ]
            for request in self.requests
        ]


def examples(*, ours_alone: bool | None = None) -> list[str]:
    """List the examples by name; those of ours alone, those with a peer's API, or all."""
    return sorted(
        path.stem
        for path in EXAMPLES.glob("*.py")
        if path.stem != STAGE and ours_alone in {None, is_ours_alone(path.stem)}
    )


def is_ours_alone(name: str) -> bool:
    """Return whether an example is marked as running nowhere else."""
    return MARK in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


def run(name: str, folder: Path, package: str = "thalweg_agent") -> Run:
    """Run an example as `python examples/NAME.py` does, its imports changed to another's."""
    path = folder / f"{name}.py"
    source = (EXAMPLES / path.name).read_text(encoding="utf-8")
    path.write_text(_IMPORT.sub(f"from {package}", source), encoding="utf-8")
    output, arguments, known = StringIO(), sys.argv, sys.modules.pop(STAGE, None)
    sys.argv, sys.path[:0] = [str(path)], [str(EXAMPLES)]
    try:
        with redirect_stdout(output), warnings.catch_warnings():
            if package != "thalweg_agent":
                warnings.simplefilter("ignore")
            runpy.run_path(str(path), run_name="__main__")
        return Run(output.getvalue(), sys.modules[STAGE].REQUESTS)
    finally:
        sys.argv = arguments
        sys.path.remove(str(EXAMPLES))
        sys.modules.pop(STAGE, None)
        if known:
            sys.modules[STAGE] = known
