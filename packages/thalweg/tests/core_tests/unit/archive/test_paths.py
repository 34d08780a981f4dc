"""An archive that has to exist is opened, and none is created."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from thalweg.archive import open_archive
from thalweg.archive.paths import open_existing
from thalweg.errors import ConfigError


def test_only_an_existing_archive_is_opened(tmp_path: Path) -> None:
    place = tmp_path / "thalweg.db"
    with pytest.raises(ConfigError, match=r"thalweg\.db: there is no archive"):
        open_existing(place)
    assert not place.exists()

    open_archive(place).close()
    open_existing(place).close()


def test_a_database_without_an_archive_is_refused_and_not_changed(tmp_path: Path) -> None:
    place = tmp_path / "other.db"
    with closing(sqlite3.connect(place)) as other:
        other.execute("CREATE TABLE birds (name TEXT)")
    before = place.read_bytes()

    with pytest.raises(ConfigError, match="the file holds no archive"):
        open_existing(place)
    assert place.read_bytes() == before
