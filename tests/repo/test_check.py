"""The check that contributors run while they work: which tests it finds."""

from pathlib import Path

from scripts.check import related_tests


def write(root: Path, path: str, text: str = "") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def test_tests_of_a_changed_module_and_of_its_package_are_related(tmp_path: Path) -> None:
    """A public name is often imported from the package."""
    write(tmp_path, "tests/unit/test_blobs.py", "from thalweg.archive.blobs import pack")
    write(tmp_path, "tests/unit/test_package.py", "from thalweg.archive import open_archive")
    write(tmp_path, "tests/property/test_module.py", "from thalweg.archive import blobs")
    write(tmp_path, "tests/unit/test_lines.py", "from thalweg.archive.lines import Line")
    write(tmp_path, "tests/unit/test_words.py", "import thalweg.engine.words")
    write(tmp_path, "tests/e2e/test_long.py", "from thalweg.archive.blobs import pack")

    assert related_tests(["src/thalweg/archive/blobs.py"], tmp_path) == [
        "tests/property/test_module.py",
        "tests/unit/test_blobs.py",
        "tests/unit/test_package.py",
    ]


def test_a_changed_test_is_related_wherever_it_is(tmp_path: Path) -> None:
    changed = ["tests/e2e/test_long.py", "tests/e2e/killed.py", "docs/a.md", "src/thalweg/py.typed"]
    assert related_tests(changed, tmp_path) == ["tests/e2e/test_long.py"]
