"""The scripts that measure language and size, and the files that one turn visits."""

from pathlib import Path

import pytest

from scripts.marks import (
    CEILINGS,
    LEAST,
    Source,
    code_lines,
    exceeded,
    identifier_words,
    import_ring,
    language_of_source,
    measure,
    package_messages,
    packages,
    page_sentences,
    read_packages,
    read_source,
)
from scripts.trip import Trip
from thalweg.engine.entries import stored_text

CODE = '''"""What the module is for, where it has one."""

import os  # not code


def say(told):

    # A comment.
    lastAsked = f"""two
lines {told}"""
    return os.path.join(lastAsked, "a")
'''


def module(code: str, name: str = "thalweg.a") -> Source:
    return read_source(Path("thalweg/a.py"), name, code)


def messages(code: str) -> list[str]:
    return package_messages([module(code)]).get("thalweg.a", [])


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def test_code_lines_are_those_without_blanks_comments_docstrings_and_imports() -> None:
    assert code_lines(module(CODE)) == 4


def test_words_of_identifiers_are_parted_at_underscores_and_capitals() -> None:
    code = CODE + "\nclass AskedOnce:\n    def f(self):\n        self.look_up = read\n"
    words = "say told last asked asked once f self look up"
    assert sorted(identifier_words([module(code)])) == sorted(words.split())


def test_the_language_of_source_is_a_rate_of_its_words() -> None:
    marks = language_of_source("src", [module(CODE)])

    assert marks["identifiers of src: idiosyncratic words per 1,000"] == 750
    assert marks["docstrings of src: headless `what` per 1,000"] == pytest.approx(1000 / 9, abs=1)
    assert marks["docstrings of src: `where` for `if` per 1,000"] == pytest.approx(111, abs=1)


def test_modules_that_import_each_other_are_a_ring() -> None:
    a, b = module("from thalweg import b", "thalweg.a"), module("import thalweg.a", "thalweg.b")
    assert set(import_ring([a, b])) == {"thalweg.a", "thalweg.b"}
    assert not import_ring([a, module("import os", "thalweg.b")])


def test_every_ceiling_is_measured_over_all_packages_and_folders(tmp_path: Path) -> None:
    write(tmp_path, "packages/one/src/one/a.py", CODE)
    write(tmp_path, "packages/strict-llm/src/strict_llm/a.py", CODE)
    write(tmp_path, "packages/one/tests/one_tests/test_a.py", '"""Told."""')
    for folder in ("benchmarks", "examples", "scripts", "tests"):
        write(tmp_path, f"{folder}/a.py", '"""A plain sentence."""')
    sources = read_packages(*packages(tmp_path).values())

    marks = measure(tmp_path, sources)

    assert marks["code lines of one"] == marks["code lines in all without strict_llm"] == 4
    assert marks["files in all packages"] == 2
    assert marks["docstrings of tests: idiosyncratic words per 1,000"] == 250
    assert marks["docstrings of scripts: idiosyncratic words per 1,000"] == 0
    assert marks["files visited by one turn"] > 10
    mine = {name for name in CEILINGS if not name.startswith("code lines of ")}
    assert mine | set(LEAST) <= set(marks)


def test_a_mark_above_its_ceiling_or_below_its_least_value_is_reported() -> None:
    good = {name: ceiling for name, (ceiling, _) in CEILINGS.items()} | LEAST
    assert not exceeded(good)
    files, terms = "files in all packages", "docstrings of src: terms of the field per 1,000"
    assert set(exceeded({**good, files: 10_000, terms: 1})) == {files, terms}


def test_each_package_has_a_ceiling() -> None:
    names = {f"code lines of {name}" for name in packages(Path(__file__).parents[2])}
    assert names == {name for name in CEILINGS if name.startswith("code lines of ")}


def test_a_trip_counts_calls_in_packages_alone() -> None:
    with Trip() as trip:
        Path("a").exists()
        stored_text("a")
        stored_text("b")

    (path,) = trip.files
    assert path.endswith("/src/thalweg/engine/entries.py")
    assert trip.files[path] >= 2
    assert trip.changes == 0


def test_errors_and_help_are_messages() -> None:
    assert messages('raise ValueError(f"the file {path} does not exist here")') == [
        "the file {} does not exist here"
    ]
    assert messages('help_ = "Write a report for a browser."') == ["Write a report for a browser."]


def test_docstrings_tables_patterns_and_names_are_not() -> None:
    assert not messages('"""Return one of the things of this module."""')
    assert not messages('WORDS = {"a list of common words", "another list of some words"}')
    assert not messages('WORDS = "a list of words as one text".split()')
    assert not messages('SQL = "SELECT name FROM facts WHERE owner is here"')
    assert not messages('FORM = "tells? (you|me) about the others and more|less than"')
    assert not messages('NAME = "thalweg.engine.window.reading"')


def test_code_in_a_page_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text(
        "Call `tell()`.\n\n```\ntold\n```\nA page tells more.", encoding="utf-8"
    )

    found = page_sentences(tmp_path)["docs/a.md"]

    assert "told" not in " ".join(found)
    assert found[-1].strip() == "A page tells more."
