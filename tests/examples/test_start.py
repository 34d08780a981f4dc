"""The examples to start from print the output next to them; the notebook holds its own output.

`python -m tests.examples.test_start` writes the outputs again.
"""

import io
import json
import runpy
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

START = Path(__file__).parents[2] / "examples" / "start"
NOTEBOOK = START / "notebook.ipynb"
PROGRAMS = sorted(START.glob("*.py"))


def printed(program: Path) -> str:
    """Run a program in an empty folder, and return what it prints."""
    output, arguments = io.StringIO(), sys.argv
    sys.argv = [str(program)]
    try:
        with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(output):
            runpy.run_path(str(program), run_name="__main__")
    finally:
        sys.argv = arguments
    return output.getvalue()


def executed(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the cells of a notebook, and return them with what they print."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    with TemporaryDirectory() as folder, chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                cells.append(cell)
                continue
            number, output = number + 1, io.StringIO()
            with redirect_stdout(output):
                exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)  # noqa: S102 (our own notebook)
            text = output.getvalue().splitlines(keepends=True)
            stream = {"name": "stdout", "output_type": "stream", "text": text}
            cells.append(cell | {"execution_count": number, "outputs": [stream] if text else []})
    return cells


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_prints_what_is_in_its_out_file(program: Path) -> None:
    assert printed(program) == program.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_one_line_changes_the_model(program: Path) -> None:
    """The script is used in that line alone, and its replacement is in the docstring."""
    text = program.read_text(encoding="utf-8")
    assert text.count("MODEL = ScriptedModel(script=script)") == 1
    assert 'MODEL = "anthropic:' in text


def test_the_notebook_prints_what_it_holds() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert executed(notebook) == notebook["cells"]
    assert any(cell.get("outputs") for cell in notebook["cells"])


if __name__ == "__main__":
    for one in PROGRAMS:
        one.with_suffix(".out").write_text(printed(one), encoding="utf-8")
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    document["cells"] = executed(document)
    NOTEBOOK.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
