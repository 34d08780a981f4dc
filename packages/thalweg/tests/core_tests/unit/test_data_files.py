"""A row of a shipped table that is there twice is an error."""

import tomllib
from pathlib import Path

import pytest

import thalweg
from thalweg.engine.data_files import keys_by_word, read_table, unique_words

TABLES = sorted(
    path.relative_to(Path(thalweg.__file__).parent)
    for path in Path(thalweg.__file__).parent.rglob("*.toml")
)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_shipped_table_is_read(table: Path) -> None:
    package = ".".join(("thalweg", *table.parent.parts))
    assert read_table(package, table.name)


@pytest.mark.parametrize("text", ["a = 1\na = 1", "[a]\nb = 1\n[a]\nb = 2"])
def test_a_row_with_a_name_that_exists_is_an_error(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tables_of_a_test"
    folder.mkdir()
    folder.joinpath("__init__.py").touch()
    folder.joinpath("some.toml").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(tomllib.TOMLDecodeError):
        read_table("tables_of_a_test", "some.toml")


def test_a_word_that_is_listed_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="'b' is listed twice; remove one"):
        unique_words(["a", "b", "b"])
    with pytest.raises(ValueError, match="'b' is listed twice; remove one"):
        keys_by_word([("x", ["a", "b"]), ("y", ["b"])])
