"""Other users of the machine cannot read any file of Thalweg's, under any umask."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_tests.contract.suites.archive import said
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.thread_export import write_to
from thalweg.database.private_files import is_open_to_others, make_private_file, make_private_folder
from thalweg_memory import Scope, open_memory
from thalweg_server.app import open_app
from thalweg_server.settings import Settings
from thalweg_server.uploads.disk import open_places


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Set the umask of this process for a test."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Map every path below a folder to its mode, in octal."""
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in folder.rglob("*")
    }


@pytest.mark.usefixtures("umask")
def test_databases_files_and_exports_are_private(tmp_path: Path) -> None:
    """Every file has 0600 and every folder 0700 while the databases are open."""
    home = tmp_path / "srv" / ".thalweg"
    make_private_folder(home)
    places = open_places(url=None, home=home)
    with open_archive(home / "thalweg.db") as archive, open_memory(home / "thalweg.db") as memory:
        archive.append(ThreadKey("ada", "t1"), [said("hello")])
        memory.version(Scope("ada"))
        files = places.backend("ada", "t1")
        assert files.write("/notes/deep/a.md", "one").error is None
        assert files.edit("/notes/deep/a.md", "one", "two").error is None
        assert files.create("/b.md", b"three")
        files.annotate("/b.md", "a note")
        write_to(home / "t1.jsonl", ["{}"], archive=None)
        found = modes(tmp_path)

    wanted = {path: "0o700" if (tmp_path / path).is_dir() else "0o600" for path in found}
    assert any(path.endswith("-wal") for path in found)
    assert found == wanted


def test_what_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """A folder and a file that someone shared remain shared."""
    tmp_path.chmod(0o755)
    place = tmp_path / "shared.db"
    place.touch(mode=0o644)
    place.chmod(0o644)
    make_private_folder(tmp_path)
    make_private_file(place)

    assert is_open_to_others(tmp_path)
    assert is_open_to_others(place)


@pytest.mark.parametrize(("mode", "is_told"), [(0o755, True), (0o700, False)])
def test_a_data_folder_that_others_can_read_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, *, is_told: bool
) -> None:
    """A folder that an older version made keeps its mode; its user learns of it at each start."""
    tmp_path.chmod(mode)

    async def open_and_close() -> None:
        async with open_app(Settings(), home=tmp_path):
            pass

    asyncio.run(open_and_close())
    assert ("chmod -R go=" in caplog.text) is is_told


def test_a_hard_link_to_the_file_of_another_is_not_read(tmp_path: Path) -> None:
    """A command may have linked a file from outside; no method of the agent's files opens it."""
    places = open_places(url=None, home=tmp_path)
    theirs, mine = places.backend("bob", "t1"), places.backend("ada", "t1")
    assert theirs.write("/secret.txt", "swordfish").error is None
    assert mine.write("/own.txt", "mine").error is None
    folder = next(path.parent for path in tmp_path.rglob("own.txt"))
    os.link(next(tmp_path.rglob("secret.txt")), folder / "linked.txt")

    assert "hard link" in str(mine.read("/linked.txt").error)
    assert "hard link" in str(mine.edit("/linked.txt", "swordfish", "x").error)
    assert mine.download_files(["/linked.txt"])[0].content is None
    assert mine.grep("swordfish").matches == []
