"""The script that measures the language of docstrings, pages and messages."""

import ast
from pathlib import Path

from scripts.marks import Source, package_messages, page_sentences


def messages(code: str) -> list[str]:
    source = Source(Path("thalweg/a.py"), "thalweg.a", code, ast.parse(code))
    return package_messages([source]).get("thalweg.a", [])


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
