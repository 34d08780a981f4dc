"""Several backends as one tree: which one owns a path, and that no caller sees the seams."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from thalweg.errors import ConfigError
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import (
    BackendProtocol,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg_agent.backends.store import StoreBackend


def store() -> StoreBackend:
    return StoreBackend(store=InMemoryStore())


@pytest.fixture
def memories() -> StoreBackend:
    return store()


@pytest.fixture
def default() -> StoreBackend:
    return store()


@pytest.fixture
def both(default: StoreBackend, memories: StoreBackend) -> CompositeBackend:
    return CompositeBackend(default, {"/memories/": memories})


def paths(infos: list[FileInfo] | None) -> list[str]:
    assert infos is not None
    return [info["path"] for info in infos]


def found(result: GrepResult) -> list[str]:
    assert result.error is None
    return [match["path"] for match in result.matches or []]


@pytest.mark.parametrize(
    ("path", "prefix", "inner"),
    [
        ("/memories/a.md", "/memories/", "/a.md"),
        ("/memories/", "/memories/", "/"),
        ("/memories", "/memories/", "/"),
        ("/memories-old/a.md", None, "/memories-old/a.md"),
        ("/memories.md", None, "/memories.md"),
        ("/x/memories/a.md", None, "/x/memories/a.md"),
        ("/memories/work/a.md", "/memories/work/", "/a.md"),
        ("/memories/workshop/a.md", "/memories/", "/workshop/a.md"),
        ("//memories/./a.md", "/memories/", "/a.md"),
        ("/./memories//work/", "/memories/work/", "/"),
        ("/memories/.a.md", "/memories/", "/.a.md"),
        ("/", None, "/"),
    ],
)
def test_the_longest_prefix_wins_and_ends_where_a_name_ends(
    path: str, prefix: str | None, inner: str
) -> None:
    """Neither a name that is longer nor a path that is untidy gets around it."""
    composite = CompositeBackend(store(), {"/memories": store(), "/memories/work/": store()})

    place = composite.place(path)

    assert (place.prefix, place.path) == (prefix, inner)


@pytest.mark.parametrize("prefix", ["memories/", "", "/a/../b/"])
def test_a_prefix_that_is_no_path_is_refused(prefix: str) -> None:
    """It is refused when it is made, and not at the first file that is misplaced."""
    with pytest.raises(ConfigError, match="not an absolute path"):
        CompositeBackend(store(), {prefix: store()})


def test_a_prefix_is_there_once() -> None:
    """However it is written."""
    with pytest.raises(ConfigError, match="there twice"):
        CompositeBackend(store(), {"/a": store(), "/a/": store()})


def test_results_name_paths_as_they_were_asked_for(
    both: CompositeBackend, memories: StoreBackend
) -> None:
    """Errors do, too: a model has no other names."""
    assert both.write("/memories/a.md", "one two").path == "/memories/a.md"
    assert both.edit("/memories/a.md", "one", "1").path == "/memories/a.md"
    assert memories.read("/a.md").error is None

    assert both.read("/memories/b.md").error == "File '/memories/b.md' not found"
    assert both.edit("/memories/b.md", "x", "y").error == ("Error: File '/memories/b.md' not found")
    assert both.delete("/memories/a.md").path == "/memories/a.md"
    assert both.delete("/memories/a.md").error == "Error: File '/memories/a.md' not found"


def test_what_the_default_keeps_below_a_prefix_is_hidden(
    both: CompositeBackend, default: StoreBackend
) -> None:
    """No one could read what a listing or a search of it shows."""
    default.write("/memories/ghost.md", "needle")
    default.write("/a.md", "needle")
    both.write("/memories/b.md", "needle")

    assert paths(both.ls("/").entries) == ["/a.md", "/memories/"]
    assert found(both.grep("needle")) == ["/a.md", "/memories/b.md"]
    assert paths(both.glob("*.md").matches) == ["/a.md", "/memories/b.md"]
    assert both.grep("needle", max_count=2).truncated is False
    assert len(both.grep("needle", max_count=2).matches or []) == 2
    default.delete("/a.md")
    default.write("/z.md", "needle")
    # The default finds the ghost first, and stops.
    assert found(both.grep("needle", max_count=1)) == ["/z.md"]


def test_a_folder_leads_to_the_backends_below_it() -> None:
    """Step by step, also where the default has nothing."""
    composite = CompositeBackend(store(), {"/a/b/c/": store(), "/a/d/": store()})
    composite.write("/a/b/c/x.md", "needle")

    assert paths(composite.ls("/").entries) == ["/a/"]
    assert paths(composite.ls("/a").entries) == ["/a/b/", "/a/d/"]
    assert paths(composite.ls("/a/b/").entries) == ["/a/b/c/"]
    assert paths(composite.ls("/a/b/c").entries) == ["/a/b/c/x.md"]
    assert found(composite.grep("needle", "/a/b")) == ["/a/b/c/x.md"]
    assert paths(composite.glob("**/x.md", "/a").matches) == ["/a/b/c/x.md"]
    assert paths(composite.glob("b/*/x.md", "/a").matches) == ["/a/b/c/x.md"]
    assert composite.glob("b/*.md", "/a").matches == []


def test_a_listing_survives_a_folder_that_is_there_only_because_of_a_prefix(
    tmp_path: Path,
) -> None:
    """The default reports that it has none; another error of the default is reported."""
    (tmp_path / "file").touch()
    routes: dict[str, BackendProtocol] = {"/a/b/": store(), "/file/b/": store()}
    composite = CompositeBackend(FilesystemBackend(tmp_path), routes)

    assert composite.ls("/a").error is None
    assert paths(composite.ls("/a").entries) == ["/a/b/"]
    assert composite.ls("/c").error == "Path '/c': path_not_found"
    assert composite.ls("/file").error == "Path '/file': not_a_directory"
    assert paths(composite.ls("/file").entries) == ["/file/b/"]


@pytest.mark.parametrize("path", ["/memories", "/memories/", "/", "//memories"])
def test_a_mounted_backend_is_never_deleted_as_a_whole(both: CompositeBackend, path: str) -> None:
    """Nor what it is mounted in; a folder inside of it may be."""
    both.write("/memories/a/b.md", "x")
    both.write("/c.md", "x")

    refused = both.delete(path)

    assert "/memories/" in (refused.error or "")
    assert both.read("/memories/a/b.md").error is None
    assert both.read("/c.md").error is None
    assert both.delete("/memories/a").error is None


def test_a_number_of_matches_is_for_all_backends_together(both: CompositeBackend) -> None:
    """And there are more only if there are."""
    both.write("/a.md", "x\nx")
    both.write("/memories/b.md", "x\nx")

    for most, more in ((1, True), (2, True), (3, True), (4, False), (5, False)):
        result = both.grep("x", max_count=most)
        assert (len(result.matches or []), result.truncated) == (min(most, 4), more)
    both.delete("/memories/b.md")
    assert both.grep("x", max_count=2).truncated is False


class Old(BackendProtocol):
    """A backend of the time when results were bare lists."""

    def ls(self, path: str) -> LsResult:
        """List one file."""
        del path
        listed: list[FileInfo] = [{"path": "/old.md"}]
        return listed  # type: ignore[return-value]  # as it was

    def grep(  # type: ignore[override]  # as it was
        self, pattern: str, path: str | None = None, glob: str | None = None
    ) -> list[GrepMatch] | str:
        """Find three lines; `bad` is an error."""
        del path, glob
        if pattern == "bad":
            return "it cannot be searched"
        return [{"path": "/old.md", "line": line, "text": pattern} for line in (1, 2, 3)]

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find one file, and forget the slash."""
        del pattern, path
        listed: list[FileInfo] = [{"path": "old.md"}]
        return listed  # type: ignore[return-value]  # as it was


def test_backends_of_old_are_understood(default: StoreBackend) -> None:
    """Bare lists, an error as a text, no number of matches, no delete."""
    composite = CompositeBackend(default, {"/old/": Old()})

    assert paths(composite.ls("/old").entries) == ["/old/old.md"]
    assert paths(composite.glob("*.md").matches) == ["/old/old.md"]
    assert len(composite.grep("x", max_count=2).matches or []) == 2
    assert composite.grep("x", max_count=2).truncated
    assert not composite.grep("x", max_count=3).truncated
    assert composite.grep("bad").error == "it cannot be searched"
    assert composite.delete("/old/old.md").error == (
        "Error: deletion is not supported for '/old/old.md'."
    )
    assert asyncio.run(composite.adelete("/old/old.md")).error


class Broken(BackendProtocol):
    """A backend that fails, wholly or in part."""

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find something in spite of a problem."""
        del path, glob, max_count
        match: GrepMatch = {"path": "/some.md", "line": 1, "text": pattern}
        return GrepResult(error="a file cannot be read", matches=[match])

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Fail."""
        return GlobResult(error=f"'{path}' cannot be walked for {pattern}")


def test_a_failure_of_one_backend_is_never_a_result_of_the_others(
    default: StoreBackend,
) -> None:
    """What was found in spite of a problem is named like everything else."""
    composite = CompositeBackend(default, {"/broken/": Broken()})
    composite.write("/a.md", "x")

    grepped = composite.grep("x")
    assert grepped.error == "a file cannot be read"
    assert [match["path"] for match in grepped.matches or []] == ["/a.md", "/broken/some.md"]
    globbed = composite.glob("*.md")
    assert (globbed.matches, globbed.error) == (None, "'/broken/' cannot be walked for *.md")


class Counting(BackendProtocol):
    """Records its calls, and answers for the first file alone."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Take one."""
        self.calls.append([path for path, _ in files])
        return [FileUploadResponse(files[0][0])]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return one."""
        self.calls.append(paths)
        return [FileDownloadResponse(paths[0], b"first")]


def test_files_go_to_their_backends_at_once_and_come_back_in_order(
    default: StoreBackend,
) -> None:
    """Each backend is called once; a file without an answer has failed."""
    counting = Counting()
    composite = CompositeBackend(default, {"/c/": counting, "/d/": counting})
    sent = ["/c/1", "/a.md", "/d/2", "/b.md"]

    up = composite.upload_files([(path, path.encode()) for path in sent])
    down = composite.download_files(sent)

    assert [answer.path for answer in up] == sent
    assert [answer.error is None for answer in up] == [True, True, False, True]
    assert [answer.content for answer in down] == [b"first", b"/a.md", None, b"/b.md"]
    assert "returned nothing" in (down[2].error or "")
    assert counting.calls == [["/1", "/2"]] * 2


class Awaited(BackendProtocol):
    """Has awaited calls alone."""

    async def als(self, path: str) -> LsResult:
        """List one file."""
        return LsResult(entries=[{"path": f"{path}a.md"}])

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a word."""
        del offset, limit
        return ReadResult(file_data={"content": file_path, "encoding": "utf-8"})

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Write nothing."""
        del content
        return WriteResult(path=file_path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find one file."""
        del pattern, path
        return GlobResult(matches=[{"path": "/a.md"}])


def test_awaited_calls_are_awaited_all_the_way() -> None:
    """A backend without blocking calls does for an agent that makes none."""
    composite = CompositeBackend(Awaited(), {"/far/": Awaited()})

    async def use() -> None:
        assert paths((await composite.als("/far/")).entries) == ["/far/a.md"]
        read = await composite.aread("/far/b.md")
        assert read.file_data is not None
        assert read.file_data["content"] == "/b.md"
        assert (await composite.awrite("/far/b.md", "x")).path == "/far/b.md"
        assert paths((await composite.aglob("*")).matches) == ["/a.md", "/far/a.md"]

    asyncio.run(use())
    with pytest.raises(NotImplementedError):
        composite.ls("/far/")


def test_commands_run_in_the_default(tmp_path: Path) -> None:
    """They run if it has a shell; otherwise an error is raised."""
    shell = LocalShellBackend(tmp_path, inherit_env=True)
    composite = CompositeBackend(shell, {"/memories/": store()})

    assert composite.execute("echo x", timeout=5).output == "x\n"
    assert asyncio.run(composite.aexecute("echo x")).output == "x\n"
    with pytest.raises(NotImplementedError, match="doesn't support command execution"):
        CompositeBackend(store(), {"/shell/": shell}).execute("echo x")


NAMES = st.sampled_from(["a", "b", ".c", "d.md", ".e.md", "f g"])
FILES = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: "/" + "/".join(names))
SEGMENTS = st.sampled_from(
    ["**", "*", "*.md", "a", "b", ".c", ".*", "?", "[ab]", "[!a]", "{a,b}", "{a/b,.c}", "f g"]
)
GLOBS = st.tuples(
    st.sampled_from(["", "/"]), st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
).map("".join)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[str], list[str], str]:
    """Draw files, prefixes that hold some of them, and a folder to search."""
    drawn = draw(st.sets(FILES, min_size=1, max_size=8))
    # A path is a file or a folder.
    files = sorted(f for f in drawn if not any(other.startswith(f"{f}/") for other in drawn))
    folders = sorted({file[:at] for file in files for at in range(len(file)) if file[at] == "/"})
    prefixes = draw(st.sets(st.sampled_from([*folders, "/empty"]).filter(bool), max_size=3))
    return files, sorted(prefixes), draw(st.sampled_from(folders)) or "/"


@settings(max_examples=150)
@given(tree=trees(), pattern=GLOBS)
def test_nobody_sees_where_one_backend_ends_and_the_next_begins(
    tree: tuple[list[str], list[str], str], pattern: str
) -> None:
    """Any tree on many backends looks as it does on one, to a listing, a glob and a search."""
    files, prefixes, folder = tree
    one = store()
    many = CompositeBackend(store(), {prefix: store() for prefix in prefixes})
    for backend in (one, many):
        for file in files:
            assert backend.write(file, "needle").error is None
    event(f"{len({many.place(file).prefix for file in files})} backends hold files")

    def compare(ask: Callable[[BackendProtocol], list[str]]) -> None:
        assert sorted(ask(many)) == sorted(ask(one))

    compare(lambda backend: paths(backend.glob(pattern, folder).matches))
    compare(lambda backend: found(backend.grep("needle", folder)))
    compare(lambda backend: found(backend.grep("needle", folder, pattern)))
    listed, there = (paths(backend.ls(folder).entries) for backend in (many, one))
    assert [path for path in listed if path != "/empty/"] == there


def test_files_that_were_too_large_to_search_have_their_outer_paths(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("needle" + "x" * (1 << 20))
    disk = FilesystemBackend(tmp_path, max_file_size_mb=1)
    found = CompositeBackend(StoreBackend(store=InMemoryStore()), {"/disk/": disk}).grep("needle")
    assert [info["path"] for info in found.skipped] == ["/disk/large.txt"]
