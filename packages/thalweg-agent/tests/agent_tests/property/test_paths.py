"""No path leads out of a folder, for any path and any folder content; globs obey laws."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from core_tests.property.path_strategies import (
    LINKS,
    NAMES,
    NEST,
    ODD_NAMES,
    Folders,
    folders,
    insides,
    paths,
    patterns,
    trees,
)
from thalweg.errors import InvalidGlobPatternError, PathError
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local.places import FolderPath, beneath, resolved
from thalweg_agent.backends.paths import MAX_NAME_BYTES, MAX_PATH_BYTES, validate_path
from thalweg_agent.backends.protocol import BackendProtocol, FileData
from thalweg_agent.backends.searches.globs import compile_grep_include_glob
from thalweg_agent.backends.searches.matches import glob_matches_from_files, grep_matches_from_files


@given(paths)
def test_a_path_has_one_form_or_none(path: str) -> None:
    """Absolute, nothing empty in it, nothing that climbs, and its own form."""
    try:
        form = validate_path(path)
    except PathError:
        return
    names = form.split("/")
    assert names[0] == ""
    assert form == "/" or not {"", ".", ".."} & set(names[1:])
    assert not {"\\", "\0"} & set(form)
    assert len(form.encode()) <= MAX_PATH_BYTES + 1
    assert max(len(name.encode()) for name in names) <= MAX_NAME_BYTES
    assert validate_path(form) == form


@given(st.lists(st.sampled_from(ODD_NAMES), max_size=6), st.sampled_from("/\\"))
def test_a_path_that_climbs_is_refused(names: list[str], separator: str) -> None:
    """It is refused however far down it descends first, and with any separator."""
    path = separator.join(names)
    if ".." in names or path.startswith("~"):
        with pytest.raises(PathError, match="traversal"):
            validate_path(path)


class Yard:
    """A random folder next to one with secrets."""

    def __init__(self, made: Folders) -> None:
        base = Path(os.path.realpath(mkdtemp()))
        self.base, self.root, self.outside = base, base / "root", base / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(NEST)
        (self.outside / NEST).mkdir()
        (self.outside / NEST / "c.txt").write_text(NEST)
        (base / "c.txt").write_text(NEST)
        files, links = made
        for path in files:
            self._put(path, partial(Path.write_text, data=f"in {path}"))
        for link, target in links:
            to = target.format(root=self.root, outside=self.outside)
            self._put(link, partial(Path.symlink_to, target=to))

    def _put(self, path: str, put: Callable[[Path], object]) -> None:
        at = self.root / path
        with suppress(OSError):
            at.parent.mkdir(parents=True, exist_ok=True)
            # Nothing is made through a link: it would be made outside.
            if Path(os.path.realpath(at.parent)).is_relative_to(self.root) and not at.is_symlink():
                put(at)

    def beyond(self) -> list[tuple[str, bytes]]:
        """Everything that is not in the root."""
        return sorted(
            (str(path), path.read_bytes() if path.is_file() else b"")
            for path in self.base.rglob("*")
            if not path.is_relative_to(self.root) or path == self.root
        )


def with_yard(made: Folders, act: Callable[[Yard], None]) -> None:
    """Act in a yard of its own, and look that nothing beyond the root changed."""
    yard = Yard(made)
    try:
        before = yard.beyond()
        act(yard)
        assert yard.beyond() == before
    finally:
        rmtree(yard.base)


Ways = Callable[..., AbstractContextManager[FolderPath]]


@pytest.fixture(params=[True, False], ids=["walked", "by name"], scope="module")
def walks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Find places by walking, and by name as platforms must that cannot walk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thalweg_agent.backends.filesystem.CAN_WALK", request.param)
        yield


@pytest.mark.usefixtures("walks")
@given(folders, st.lists(paths, min_size=1, max_size=4))
def test_nothing_outside_the_root_is_read_or_named(made: Folders, asked: list[str]) -> None:
    """By any call, through any links; nothing is raised."""

    def act(yard: Yard) -> None:
        backend = FilesystemBackend(yard.root)
        for path in asked:
            told = (
                backend.read(path),
                backend.download_files([path]),
                backend.ls(path),
                backend.grep("", path),
                backend.glob("**", path),
                backend.glob(path or "*"),
            )
            assert NEST not in repr(told).replace(repr(path)[1:-1], "")
            assert str(yard.base) not in repr(told).replace(repr(path)[1:-1], "")
            event("read" if told[0].error is None else "refused")

    with_yard(made, act)


@pytest.mark.usefixtures("walks")
@given(folders, st.lists(paths, min_size=1, max_size=4))
def test_nothing_outside_the_root_is_changed(made: Folders, asked: list[str]) -> None:
    """No call changes it, through any links; nothing is raised, and the root itself is kept."""

    def act(yard: Yard) -> None:
        backend = FilesystemBackend(yard.root)
        for path in asked:
            wrote = backend.write(path, "written")
            backend.edit(path, "s", "x", replace_all=True)
            backend.upload_files([(path, b"up")])
            event("written" if wrote.error is None else "refused")
            if wrote.error is None:
                assert backend.download_files([path])[0].content == b"up"
            backend.delete(path)
            assert yard.root.is_dir()

    with_yard(made, act)


@given(folders, insides)
def test_what_is_found_is_what_the_system_finds(made: Folders, path: str) -> None:
    """A path that leads the system to a file in the root is read as that file."""

    def act(yard: Yard) -> None:
        real = Path(os.path.realpath(yard.root / path))
        (got,) = FilesystemBackend(yard.root).download_files([path])
        if got.content is not None:
            assert real.is_relative_to(yard.root)
            assert got.content == real.read_bytes()
        elif got.error == "file_not_found":
            assert not (real.is_relative_to(yard.root) and real.is_file())

    with_yard(made, act)


@given(folders, st.lists(st.sampled_from((*NAMES, *LINKS)), min_size=1, max_size=4))
def test_both_ways_of_finding_agree_where_links_stay_inside(
    made: Folders, names: list[str]
) -> None:
    """A walk refuses a path that leads out and back; otherwise they lead to the same place."""

    def act(yard: Yard) -> None:
        path = "/" + "/".join(names)
        walked, named = (_shown(way, str(yard.root), path) for way in (beneath, resolved))
        event(f"{walked is not None} {named is not None}")
        if walked is not None and (yard.root / walked[1:]).exists():
            assert walked == named

    with_yard(made, act)


def _shown(way: Ways, root: str, path: str) -> str | None:
    try:
        with way(root, path) as place:
            return place.shown
    except (PathError, OSError):
        return None


def matcher(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern; one that is refused matches nothing."""
    try:
        return compile_grep_include_glob(pattern)
    except InvalidGlobPatternError:
        return lambda _: False


@given(patterns, trees)
def test_a_glob_without_folders_looks_at_names_alone(pattern: str, tree: list[str]) -> None:
    """At any depth; a `/` before it or `**/` narrows it and never widens it."""
    assume(pattern and "/" not in pattern)
    anywhere = matcher(pattern)
    for path in tree:
        assert anywhere(path) == anywhere(path.rsplit("/", 1)[-1])
        assert anywhere(path) or not matcher(f"/{pattern}")(path)
        assert anywhere(path) or not matcher(f"**/{pattern}")(path)


@given(trees)
def test_a_path_without_signs_is_its_own_glob(tree: list[str]) -> None:
    """And matches no other."""
    for path in tree:
        if "/" in path and not set(path) & set("*?[{"):
            found = [other for other in tree if compile_grep_include_glob(path)(other)]
            assert set(found) == {path}


@given(patterns, trees)
def test_a_glob_means_the_same_on_disk_and_in_memory(pattern: str, tree: list[str]) -> None:
    """For `glob`, and for which files `grep` searches."""
    base = mkdtemp()
    try:
        disk = FilesystemBackend(base)
        files: dict[str, FileData] = {}
        for path in tree:
            if disk.write(f"/{path}", path).error is None:
                files[f"/{path}"] = FileData(content=path, encoding="utf-8")
        _agree(disk, files, pattern)
    finally:
        rmtree(base)


def _agree(disk: BackendProtocol, files: dict[str, FileData], pattern: str) -> None:
    on_disk, in_memory = disk.glob(pattern), glob_matches_from_files(files, pattern)
    event("matched" if on_disk.matches else "refused" if on_disk.error else "nothing")
    assert on_disk.error == in_memory.error
    assert {info["path"] for info in on_disk.matches or []} == {
        info["path"] for info in in_memory.matches or []
    }
    for folder in ("/", "/a"):
        grepped = disk.grep("", folder, pattern)
        alike = grep_matches_from_files(files, "", folder, pattern)
        assert grepped.error == alike.error
        assert {m["path"] for m in grepped.matches or []} == {
            m["path"] for m in alike.matches or []
        }
