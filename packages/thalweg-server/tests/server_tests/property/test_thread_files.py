"""Names, paths and ids read and write nothing outside of their owner's thread.

`THALWEG_ATTACKS` sets how many worlds are attacked, each by about twenty calls.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from core_tests.property.path_strategies import NAMES, NEST, ODD_NAMES, Folders, folders, paths
from thalweg.errors import NoSuchFileError, PathError, UploadRefusedError
from thalweg_server.app.files import ThreadFiles
from thalweg_server.uploads.base import Places
from thalweg_server.uploads.disk import DiskPlaces, open_places
from thalweg_server.uploads.intake import UploadPolicy
from thalweg_server.uploads.names import MAX_NAME_BYTES, folded, safe_name, unlike

ATTACKS = int(os.environ.get("THALWEG_ATTACKS", "60"))
PLAIN = UploadPolicy(convert=False)
ODD = (
    *ODD_NAMES, "uploads", "secret.txt", "..\\secret.txt", "%2e%2e", "%2e%2e%2fsecret.txt",
    "..%c0%af", "\uff0e\uff0e", "\u2025", "\uff0f", "\u2215", "CON", "nul.txt", "a:b", "a ", "a.",
    "x" * 300, "\u202etxt", "c.txt\0.md", "C.TXT", "c\u0301.txt", "hard",
)  # fmt: skip
names = st.one_of(
    st.sampled_from(ODD),
    st.text(max_size=30),
    st.lists(st.sampled_from(ODD), max_size=4).map("/".join),
    st.tuples(st.sampled_from(NAMES), st.sampled_from(ODD)).map("".join),
)
asked = st.one_of(
    paths, names, names.map(lambda name: f"/uploads/{name}"), names.map(lambda name: f"/{name}")
)
ids = st.one_of(st.sampled_from((*ODD, "", "bob", "t1", "ada", ".notes")), st.text(max_size=12))


@given(names)
def test_a_name_has_one_form_or_none(name: str) -> None:
    """It is a name on any file system, its own form, and there is another when it is taken."""
    try:
        kept = safe_name(name)
    except UploadRefusedError:
        return
    assert safe_name(kept) == kept
    assert len(kept.encode()) <= MAX_NAME_BYTES
    assert not set('/\\<>:"|?*\0') & set(kept)
    assert kept not in {".", ".."}
    assert kept[0] not in "-.~ "
    assert kept[-1] not in ". "
    other = unlike(kept, [kept])
    assert folded(other) != folded(kept)
    assert safe_name(other) == other


class World:
    """Files of two owners next to a canary, and links to both in the folder of one's thread."""

    def __init__(self, made: Folders) -> None:
        self.base = Path(os.path.realpath(mkdtemp()))
        self.outside = self.base / "outside"
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(NEST)
        self.places = DiskPlaces(self.base / "home" / "files")
        for owner, thread in (("bob", "t1"), ("ada", "t2")):
            self.places.backend(owner, thread).create("/uploads/c.txt", NEST.encode())
        self.root = self.places.backend("ada", "t1").folder
        (self.root / "uploads").mkdir(parents=True)
        files, links = made
        for path in files:
            self._put(path, lambda at: at.write_text("own"))
        for link, target in links:
            bob = self.places.backend("bob", "t1").folder
            to = target.format(root=self.root, outside=self.outside)
            to = to.replace("../root", str(bob))
            for at in (link, f"uploads/{link}"):
                self._put(at, partial(Path.symlink_to, target=to))
        with suppress(OSError):
            os.link(self.outside / "secret.txt", self.root / "hard")
            os.link(self.outside / "secret.txt", self.root / "uploads" / "hard")

    def _put(self, path: str, put: Callable[[Path], object]) -> None:
        at = self.root / path
        with suppress(OSError):
            at.parent.mkdir(parents=True, exist_ok=True)
            is_inside = Path(os.path.realpath(at.parent)).is_relative_to(self.root)
            if is_inside and not at.is_symlink():
                put(at)

    def beyond(self) -> list[tuple[str, bytes]]:
        """Everything that is not of the one thread."""
        own = (self.root, self.root.with_name(self.root.name + ".notes"))
        return sorted(
            (str(path), path.read_bytes() if path.is_file() else b"")
            for path in self.base.rglob("*")
            if not any(path.is_relative_to(folder) for folder in own)
        )


async def _outcome(asked_for: Awaitable[object]) -> object:
    """What came of it; every other error than these is one of ours."""
    try:
        return await asked_for
    except (NoSuchFileError, UploadRefusedError, PathError) as refused:
        return type(refused).__name__


@settings(max_examples=ATTACKS)
@given(folders, st.lists(names, max_size=3), st.lists(asked, min_size=1, max_size=4))
def test_nothing_leads_out_of_a_thread(
    made: Folders, sent: list[str], looked_for: list[str]
) -> None:
    """Neither names, nor paths, nor links that a command has put there."""
    world = World(made)

    async def attack() -> None:
        files = ThreadFiles("ada", world.places, policy=PLAIN)
        told = [await _outcome(files.upload("t1", name, b"sent")) for name in sent]
        for path in looked_for:
            told += [
                await _outcome(files.read("t1", path)),
                await _outcome(files.read("t1", path, 0, 3)),
                await _outcome(files.stat("t1", path)),
                await _outcome(files.delete_upload("t1", path)),
            ]
        told += [await files.uploads("t1"), await files.artifacts("t1")]
        for one in told:
            if isinstance(one, bytes):
                assert NEST.encode() not in one
                assert NEST[:3].encode() != one
                event("read")
            assert str(world.base) not in str(one)

    try:
        before = world.beyond()
        asyncio.run(attack())
        assert world.beyond() == before
        world.places.forget("ada", "t1")
        assert world.beyond() == before
    finally:
        rmtree(world.base)


@pytest.fixture(scope="module", params=["disk", "postgres"])
def places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Places]:
    """Places that all worlds share: their threads keep apart by their ids."""
    url = request.getfixturevalue("postgres_server") if request.param == "postgres" else None
    places = open_places(url=url, home=tmp_path_factory.mktemp("home"))
    yield places
    places.close()


Write = tuple[str, str, str]
writes = st.lists(st.tuples(ids, ids, asked), min_size=1, max_size=6)


@given(writes)
def test_a_file_is_in_the_thread_it_was_written_to_and_no_other(
    places: Places, written: list[Write]
) -> None:
    """A file is in its own thread only, for any ids of owners and threads."""
    expected: dict[Write, bytes] = {}
    whose = {(owner, thread) for owner, thread, _ in written}
    for n, (owner, thread, path) in enumerate(written):
        backend = places.backend(owner, thread)
        with suppress(PathError):
            if backend.create(path, b"%d" % n):
                kept = backend.stat(path)
                assert kept is not None
                expected[owner, thread, kept.path] = b"%d" % n
    for owner, thread in whose:
        backend = places.backend(owner, thread)
        there = {
            (owner, thread, kept.path): backend.read_range(kept.path, 0, 99)
            for kept in backend.files(99)
        }
        mine = {key: value for key, value in expected.items() if key[:2] == (owner, thread)}
        assert there == mine
        places.forget(owner, thread)


def test_a_folder_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    """However often it is, while files are sent and read."""
    places = DiskPlaces(tmp_path / "files")
    folder = places.backend("ada", "t1").folder
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text(NEST)
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "a.txt").write_text("own")
    (folder / "link").symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for one in ("real", "link"):
                with suppress(OSError):
                    (folder / one).rename(folder / "uploads")
                    (folder / "uploads").rename(folder / one)
                time.sleep(0)

    async def attack() -> list[object]:
        files = ThreadFiles("ada", places, policy=PLAIN)
        told: list[object] = []
        for n in range(min(ATTACKS, 300)):
            told.append(await _outcome(files.upload("t1", f"{n}.txt", b"sent")))
            told.append(await _outcome(files.read("t1", "/uploads/a.txt")))
            told.append(await _outcome(files.delete_upload("t1", "a.txt")))
        return told

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        told = asyncio.run(attack())
    finally:
        done.set()
        swapper.join()

    assert NEST.encode() not in told
    assert [path.name for path in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == NEST
