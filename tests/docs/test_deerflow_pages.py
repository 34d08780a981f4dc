"""The pages for people who come from DeerFlow: what they name is there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from core_tests.forking import start
from tests.docs.pages import ROOT
from tests.docs.pages import TESTS as PACKAGE_TESTS

FEATURES = (ROOT / "docs" / "deerflow-features.md").read_text(encoding="utf-8")
TESTS: dict[str, str] = {}
"""The tests by the names of their files, of which several folders may have one."""
for folder in (ROOT / "tests", *PACKAGE_TESTS):
    for path in folder.rglob("test_*.py"):
        TESTS[path.name] = TESTS.get(path.name, "") + path.read_text(encoding="utf-8")
DOCUMENTS = ROOT / "examples" / "documents"
WINDOWS = [int(each) for each in os.environ.get("THALWEG_DOCUMENT_WINDOWS", "8000").split(",")]
"""Windows in which the blocks of YAML are observed, a minute each."""
_RECORD = re.compile(r"about [\d,]+")


def run(*arguments: str, folder: Path = DOCUMENTS) -> tuple[int, str]:
    """Run `python examples/documents` in a process; return its code and its output."""
    process = start(
        "tests.docs.document_rows", folder, *arguments, stdout=PIPE, stderr=PIPE, stdin=DEVNULL
    )
    out, err = process.communicate()
    return process.wait(), out + err


def part(name: str) -> str:
    """Return a part of the page that the command writes."""
    return FEATURES.partition(f"<!-- BEGIN {name} -->\n")[2].partition(f"<!-- END {name} -->")[0]


def test_every_test_that_is_named_exists() -> None:
    """A row that names a test which was renamed shows nothing."""
    named = set(re.findall(r"(test_\w+\.py)(?:::(\w+))?", FEATURES))
    assert [file for file, _ in named if file not in TESTS] == []
    assert [
        (file, name) for file, name in named if name and f"def {name}(" not in TESTS[file]
    ] == []


def test_the_page_lists_the_rows_that_there_are() -> None:
    """Each has its command; a row that differs names a setting, or there is none."""
    code, table = run("--table")
    assert (code, table) == (0, part("rows")), "uv run python examples/documents --write"
    rows = re.findall(
        r"^\| (\d+) \| .+ \| `uv run python examples/documents (\d+)` \|$", table, re.MULTILINE
    )
    assert rows == [(str(number), str(number)) for number in range(1, 159)]


@pytest.mark.slow
@pytest.mark.nightly
def test_every_row_is_so() -> None:
    """The rows in one process of their own: a reader's command."""
    command = [sys.executable, str(DOCUMENTS)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    output = ended.stdout + ended.stderr
    assert "158 of 158 rows are so" in output, output
    assert ended.returncode == 0


def test_a_row_that_is_not_so_fails(tmp_path: Path) -> None:
    """An observation that differs from what its row states ends the command with 1."""
    for file in DOCUMENTS.glob("*.py"):
        text = file.read_text(encoding="utf-8").replace("gateway.port, 8001", "gateway.port, 8002")
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    code, output = run("90", folder=tmp_path)
    assert code == 1
    assert "0 of 1 rows are so; others: [90]" in output


def test_a_row_that_is_not_there_is_named() -> None:
    assert run("159") == (2, "no row 159: rows are 1 to 158\n")


@pytest.mark.nightly
def test_the_page_has_the_figures_of_policies() -> None:
    """The size of a record depends on the references in it: it is not compared."""
    code, table = run("--policies")
    assert code == 0
    assert _RECORD.sub("", table) == _RECORD.sub("", part("policies"))


@pytest.mark.nightly
@pytest.mark.parametrize("window", WINDOWS)
def test_each_key_of_the_blocks_of_the_documents_has_its_effect(window: int) -> None:
    """Word for word, and with another value."""
    documents = ROOT.parent / "shared" / "seeds"
    if not documents.is_dir():
        pytest.skip(f"{documents} is not here")
    code, output = run("--blocks", str(documents), str(window))
    assert f"21 blocks, 42 keys, window {window:,}: 42 have their effect" in output, output
    assert code == 0
