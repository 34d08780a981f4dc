"""Fetching a model: to its end, in parts, again, and never something else."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from tests.unit.server.models.file_server import Files, serving
from tests.unit.server.models.gguf_files import TINY

from thalweg.errors import ConfigError
from thalweg.server.models.local import pulling
from thalweg.server.models.local.folder import ModelFolder
from thalweg.server.models.local.pulling import pull

MODEL = TINY + bytes(range(256)) * 4_000
HASH = sha256(MODEL).hexdigest()


@pytest.fixture
def models(tmp_path: Path) -> ModelFolder:
    return ModelFolder(tmp_path / "home")


def left(models: ModelFolder) -> list[str]:
    return sorted(path.name for path in models.folder.iterdir())


def test_a_model_is_fetched_checked_named_and_noted(models: ModelFolder) -> None:
    seen: list[tuple[int, int | None]] = []
    with serving(Files(MODEL)) as files:
        source = f"{files.url}/m.gguf"
        path, _origin = pull(
            models, "tiny", f"{source}?token=secret", sha256=HASH.upper(),
            progress=lambda done, whole: seen.append((done, whole)),
        )  # fmt: skip

    assert path.read_bytes() == MODEL
    assert seen[-1] == (len(MODEL), len(MODEL))
    assert left(models) == ["tiny.gguf", "tiny.json"]
    note = json.loads((models.folder / "tiny.json").read_text())
    assert (note["source"], note["sha256"], note["is_pinned"]) == (source, HASH, True)
    assert models.find("tiny", where="test") == path.resolve()


def test_a_download_that_was_cut_off_goes_on_where_it_stopped(models: ModelFolder) -> None:
    with serving(Files(MODEL, cut_after=300_000)) as files:
        with pytest.raises(ConfigError, match=r"it ended after 300000 of .*resumes from there"):
            pull(models, "tiny", files.url, sha256=HASH)
        assert models.names() == ()
        pull(models, "tiny", files.url, sha256=HASH)

    assert files.asked == ["", "bytes=300000-"]
    assert models.path("tiny").read_bytes() == MODEL


def test_a_part_that_is_whole_is_verified_and_named(models: ModelFolder) -> None:
    """The process was killed between the last byte and the new name."""
    models.folder.mkdir(parents=True)
    (models.folder / "tiny.gguf.part").write_bytes(MODEL)
    with serving(Files(MODEL)) as files:
        pull(models, "tiny", files.url, sha256=HASH)

    assert models.path("tiny").read_bytes() == MODEL


def test_a_file_that_changed_meanwhile_has_another_hash_and_is_fetched_anew(
    models: ModelFolder,
) -> None:
    with serving(Files(b"GGUF" + b"other" * 100, cut_after=100)) as files:
        with pytest.raises(ConfigError, match="it ended after"):
            pull(models, "tiny", files.url, sha256=HASH)
        files.content = MODEL
        with pytest.raises(ConfigError, match="the download was removed"):
            pull(models, "tiny", files.url, sha256=HASH)
        pull(models, "tiny", files.url, sha256=HASH)

    assert files.asked == ["", "bytes=100-", ""]
    assert models.path("tiny").read_bytes() == MODEL


def test_without_a_hash_nothing_is_resumed(models: ModelFolder) -> None:
    with serving(Files(TINY + b"other", cut_after=100)) as files:
        with pytest.raises(ConfigError, match="with --sha256 it resumes"):
            pull(models, "tiny", files.url)
        files.content = MODEL
        pull(models, "tiny", files.url)

    assert files.asked == ["", ""]
    assert models.path("tiny").read_bytes() == MODEL


def test_what_has_another_hash_is_no_model_and_does_not_stay(models: ModelFolder) -> None:
    with (
        serving(Files(MODEL)) as files,
        pytest.raises(ConfigError, match=f"its SHA-256 is {HASH}, not 0000"),
    ):
        pull(models, "tiny", files.url, sha256="0" * 64)

    assert left(models) == []


def test_a_page_that_says_sorry_is_no_model(models: ModelFolder) -> None:
    page = Files(b"<html>Sign in to go on</html>" * 100, kind="text/html")
    with serving(page) as files, pytest.raises(ConfigError, match="it begins with b'<html>Sign"):
        pull(models, "tiny", files.url)

    assert left(models) == []


def test_a_file_that_only_begins_like_a_model_is_none(models: ModelFolder, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(TINY[:60])
    with pytest.raises(ConfigError, match="not a readable GGUF file"):
        pull(models, "tiny", str(broken))

    assert left(models) == []


def test_plain_http_from_elsewhere_needs_a_hash(models: ModelFolder) -> None:
    with pytest.raises(ConfigError, match=r"it can be modified in transit.*--sha256"):
        pull(models, "tiny", "http://models.example/m.gguf")


def test_without_a_hash_the_note_says_that_none_was_checked(
    models: ModelFolder, tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").write_bytes(MODEL)
    _path, origin = pull(models, "tiny", str(tmp_path / "m.gguf"))

    assert (origin.sha256, origin.is_pinned) == (HASH, False)


def test_a_model_is_not_replaced(models: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(MODEL)
    pull(models, "tiny", str(tmp_path / "m.gguf"), sha256=HASH)
    with pytest.raises(ConfigError, match=r"there is a model 'tiny'.*model remove tiny"):
        pull(models, "tiny", str(tmp_path / "m.gguf"))

    assert pull(models, "tiny", "/nowhere", sha256=HASH)[0] == models.path("tiny")


@pytest.mark.parametrize("name", ["", "../up", "a/b", "c:\\d", ".hidden", "a\0b"])
def test_a_name_stays_in_the_folder(models: ModelFolder, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a model"):
        models.path(name)


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(
    models: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "SPARE", 1 << 60)
    with serving(Files(MODEL)) as files, pytest.raises(ConfigError, match="GB are free"):
        pull(models, "tiny", files.url)

    assert left(models) == []


def test_what_is_removed_is_gone_with_its_note_and_its_rest(
    models: ModelFolder, tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").write_bytes(MODEL)
    pull(models, "tiny", str(tmp_path / "m.gguf"))
    (models.folder / "tiny.gguf.part").write_bytes(b"rest")

    assert models.remove("tiny") == len(MODEL) + 4
    assert left(models) == []
    with pytest.raises(ConfigError, match="no model 'tiny' was downloaded"):
        models.remove("tiny")
