"""The files of a thread keep every promise of a backend, on disk and in PostgreSQL."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_tests.contract.suites.backends import BackendContract
from core_tests.postgres import Served
from thalweg.errors import PathError, StorageError
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_server.uploads.base import Places, ThreadBackend
from thalweg_server.uploads.disk import DiskPlaces
from thalweg_server.uploads.postgres import CHUNK_BYTES, PostgresPlaces


def test_files_that_another_process_deletes_meanwhile_do_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rmtree` of Python 3.12 and older stops at a file that is gone."""
    places = DiskPlaces(tmp_path)
    for n in range(6):
        places.backend("ada", "t1").create(f"/uploads/{n}.txt", b"x")
    deleted: list[str] = []

    def unlink(path: str, *, dir_fd: int | None = None) -> None:
        os_unlink(path, dir_fd=dir_fd)
        deleted.append(path)
        if len(deleted) == 1:
            raise FileNotFoundError(path)

    os_unlink = os.unlink
    monkeypatch.setattr(os, "unlink", unlink)
    places.forget("ada", "t1")

    assert len(deleted) == 6
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("thread", ["t1", None])
def test_a_folder_that_cannot_be_deleted_is_reported_with_the_folder_of_all_files(
    tmp_path: Path, thread: str | None
) -> None:
    """Only a folder is deleted, not the target of a link."""
    places = DiskPlaces(tmp_path / "files")
    folder = places.backend("ada", "t1").folder
    folder = folder if thread else folder.parent
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path)
    with pytest.raises(StorageError) as refused:
        places.forget("ada", thread)
    assert refused.value.place == "files"


class PlacesContract(BackendContract):
    """The requirements of a gateway in addition to those of an agent."""

    @pytest.fixture
    def places(self) -> Places:
        """Return fresh, empty places."""
        raise NotImplementedError

    @pytest.fixture
    def backend(self, places: Places) -> BackendProtocol:
        """Return the files of one thread."""
        return places.backend("ada", "t1")

    @pytest.fixture
    def thread(self, places: Places) -> ThreadBackend:
        """Return the files of one thread."""
        return places.backend("ada", "t1")

    @pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES - 7])
    def test_any_range_of_a_file_is_that_of_its_bytes(
        self, thread: ThreadBackend, size: int
    ) -> None:
        """Wherever it begins and ends, past the end too."""
        content = bytes(n * 31 % 251 for n in range(size))
        assert thread.create("/film.mp4", content)
        edges = sorted({0, 1, size // 2, CHUNK_BYTES - 1, CHUNK_BYTES, size - 1, size, size + 9})
        for start in edges:
            for stop in edges:
                assert thread.read_range("/film.mp4", start, stop) == content[start:stop]

    def test_a_thread_without_files_has_an_empty_folder(self, backend: BackendProtocol) -> None:
        """An agent looks there first; an error would tell it that something is wrong."""
        listed = backend.ls("/")

        assert (listed.error, listed.entries) == (None, [])

    def test_a_file_is_created_once(self, thread: ThreadBackend) -> None:
        """By one of many who try at once; the others change nothing."""
        start = threading.Barrier(8)

        def create(n: int) -> bool:
            start.wait()
            return thread.create("/uploads/a.txt", b"%d" % n)

        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(create, range(8)))

        assert made.count(True) == 1
        assert thread.read_range("/uploads/a.txt", 0, 9) == b"%d" % made.index(True)
        assert not thread.create("/uploads/a.txt", b"late")

    def test_a_note_is_void_when_its_file_changes(self, thread: ThreadBackend) -> None:
        """A note is void if its file changes or is deleted; other folders' are not returned."""
        for name in ("a", "b", "c", "deep/d"):
            thread.create(f"/uploads/{name}", b"as it was")
            thread.annotate(f"/uploads/{name}", f"note of {name}")
        thread.write("/uploads/b", "changed, and longer")
        thread.delete("/uploads/c")

        assert thread.notes("/uploads") == {"/uploads/a": "note of a"}
        thread.create("/uploads/c", b"as it was")
        assert thread.notes("/uploads") == {"/uploads/a": "note of a"}

    def test_a_version_changes_with_the_content(self, thread: ThreadBackend) -> None:
        """And with nothing else."""
        thread.create("/a.txt", b"one")
        first = thread.stat("/a.txt")
        assert first is not None
        assert (first.path, first.size) == ("/a.txt", 3)
        assert thread.stat("/a.txt") == first
        thread.edit("/a.txt", "one", "two")
        second = thread.stat("/a.txt")
        assert second is not None
        assert second.version != first.version

    def test_what_is_no_file_is_none(self, thread: ThreadBackend) -> None:
        """Nothing, and a folder; a path that climbs is refused."""
        thread.create("/folder/a.txt", b"x")
        for path in ("/nowhere", "/folder", "/", "/folder/a.txt/below"):
            assert thread.stat(path) is None
            assert thread.read_range(path, 0, 10) is None
        for path in ("/../x", "/a/../../x", "/nul\0"):
            with pytest.raises(PathError):
                thread.stat(path)
            with pytest.raises(PathError):
                thread.create(path, b"x")

    def test_all_files_are_listed_by_their_paths(self, thread: ThreadBackend) -> None:
        """In all folders, and no more than asked for."""
        for path in ("/b/c", "/a", "/b/a"):
            thread.create(path, b"x")
        assert [kept.path for kept in thread.files(10)] == ["/a", "/b/a", "/b/c"]
        assert len(thread.files(2)) == 2

    def test_two_owners_with_one_thread_id_never_meet(self, places: Places) -> None:
        """Nor two threads of one owner, nor ids that are alike to look at or to a file system."""
        whose = [("ada", "t"), ("bob", "t"), ("ada", "T"), ("Ada", "t"), ("ada/t", ""),
                 ("ada", "../bob"), ("..", "t"), ("ada\0", "t"), ("\ud800", "t"), ("ad\u0430", "t"),
                 ("a" * 5_000, "t"), ("ada", "t" * 5_000), ("", "ada/t")]  # fmt: skip
        for n, (owner, thread) in enumerate(whose):
            assert places.backend(owner, thread).create("/mine", b"%d" % n)
        for n, (owner, thread) in enumerate(whose):
            files = places.backend(owner, thread)
            assert files.read_range("/mine", 0, 9) == b"%d" % n
            assert [kept.path for kept in files.files(10)] == ["/mine"]

    def test_a_thread_is_forgotten_and_no_other(self, places: Places) -> None:
        """With all its notes; twice is once."""
        for thread in ("t1", "t2"):
            places.backend("ada", thread).create("/uploads/a", b"x")
            places.backend("ada", thread).annotate("/uploads/a", "note")
        places.forget("ada", "t1")
        places.forget("ada", "t1")

        assert places.backend("ada", "t1").files(10) == []
        places.backend("ada", "t1").create("/uploads/a", b"x")
        assert places.backend("ada", "t1").notes("/uploads") == {}
        assert places.backend("ada", "t2").notes("/uploads") == {"/uploads/a": "note"}


class TestDisk(PlacesContract):
    """In a folder."""

    @pytest.fixture
    def places(self, tmp_path: Path) -> Places:
        """Return fresh, empty places."""
        return DiskPlaces(tmp_path / "files")


class TestPostgres(PlacesContract):
    """In a database."""

    @pytest.fixture
    def places(self, emptied: Served) -> Iterator[Places]:
        """Return fresh, empty places."""
        places = PostgresPlaces(emptied.url)
        yield places
        places.close()
