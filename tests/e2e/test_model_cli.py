"""`thalweg model` as people run it."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.server.models.gguf_files import TINY
from thalweg.cli.model.commands import model
from thalweg.errors import ConfigError
from thalweg.server.models.local.catalogue import CATALOGUE


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path / "home"))
    path = tmp_path / "tiny.gguf"
    path.write_bytes(TINY)
    return path


def said(*words: str) -> str:
    result = CliRunner().invoke(model, [*words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_a_model_is_pulled_listed_and_removed(tiny: Path) -> None:
    assert "no model was pulled" in said("list")

    pulled = said("pull", "small", "--from", str(tiny))
    assert "small: Tiny, 0.00 GB, context 2,048, does not call tools well" in pulled
    assert "no hash was passed; it is " in pulled
    assert "thalweg chat --model local:small" in pulled
    assert "local:small  Tiny, 0.00" in said("list")

    listed = json.loads(said("list", "--json"))["models"]
    assert [(one["name"], one["context"]) for one in listed] == [("small", 2_048)]
    assert "removed small" in said("remove", "small", "--yes")
    assert "no model was pulled" in said("list")


def test_nothing_is_removed_unasked(tiny: Path) -> None:
    said("pull", "small", "--from", str(tiny))
    with pytest.raises(ConfigError, match="there is no terminal to ask in"):
        said("remove", "small")

    assert "local:small" in said("list")


def test_a_file_that_was_broken_later_is_listed_as_such(tiny: Path, tmp_path: Path) -> None:
    said("pull", "small", "--from", str(tiny))
    (tmp_path / "home" / "models" / "small.gguf").write_bytes(b"GGUF")

    assert "small  it is not a readable GGUF file" in said("list")


def test_every_row_of_the_catalogue_can_be_fetched_and_checked() -> None:
    for one in CATALOGUE.values():
        assert re.fullmatch(r"https://\S+\.gguf", one.url)
        assert re.fullmatch(r"[0-9a-f]{64}", one.sha256)
        assert one.window >= 8_192
        assert one.license
    sizes = [one.size for one in CATALOGUE.values()]
    assert sizes == sorted(sizes)

    told = said("list", "--available")
    assert all(name in told for name in CATALOGUE)
    assert len(json.loads(said("list", "--available", "--json"))["models"]) == len(CATALOGUE)


@pytest.fixture
def address(tiny: Path) -> Iterator[str]:
    """The folder of the tiny model on a server of this machine."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(tiny.parent))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_model_of_the_catalogue_is_pulled_by_its_name(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(next(iter(CATALOGUE.values())), name="little", url=f"{address}/tiny.gguf")
    right = replace(row, sha256=hashlib.sha256(TINY).hexdigest())
    monkeypatch.setitem(CATALOGUE, "little", row)
    with pytest.raises(ConfigError, match="its SHA-256 is"):
        said("pull", "little")
    monkeypatch.setitem(CATALOGUE, "little", right)

    assert "its hash is the expected one" in said("pull", "little")
    assert "pulled" in said("list", "--available")


def test_a_name_that_the_catalogue_lacks_is_answered_with_those_it_has() -> None:
    with pytest.raises(ConfigError, match="did you mean 'qwen3-4b'"):
        said("pull", "qwen3-4")
