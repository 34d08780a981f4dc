"""`thalweg model` as people run it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.server.models.gguf_files import TINY
from thalweg.cli.app import app
from thalweg.errors import ConfigError


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path / "home"))
    path = tmp_path / "tiny.gguf"
    path.write_bytes(TINY)
    return path


def said(*words: str) -> str:
    result = CliRunner().invoke(app, ["model", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_a_model_is_pulled_listed_and_removed(tiny: Path) -> None:
    assert "no model was pulled" in said("list")

    pulled = said("pull", "small", "--from", str(tiny))
    assert "small: Tiny, Q4_K_M, 0.00 GB, context 2,048, does not call tools well" in pulled
    assert "no hash was given; it is " in pulled
    assert "thalweg chat --model local:small" in pulled
    assert "local:small  Tiny, Q4_K_M" in said("list")

    listed = json.loads(said("list", "--json"))["models"]
    assert [(one["name"], one["context"]) for one in listed] == [("small", 2_048)]
    assert "removed small" in said("remove", "small", "--yes")
    assert "no model was pulled" in said("list")


def test_nothing_is_removed_unasked(tiny: Path) -> None:
    said("pull", "small", "--from", str(tiny))
    with pytest.raises(ConfigError, match="nobody is there to be asked"):
        said("remove", "small")

    assert "local:small" in said("list")


def test_a_file_that_was_broken_later_is_listed_as_such(tiny: Path, tmp_path: Path) -> None:
    said("pull", "small", "--from", str(tiny))
    (tmp_path / "home" / "models" / "small.gguf").write_bytes(b"GGUF")

    assert "small  it is no GGUF file that can be read" in said("list")
