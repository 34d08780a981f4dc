"""What a folder on disk does beyond what every backend promises."""

import errno
import os
import stat
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from thalweg.errors import PathError
from thalweg_agent.backends.filesystem import FilesystemBackend, file_operation_error
from thalweg_agent.backends.local import disk, places
from thalweg_agent.backends.text import EMPTY_CONTENT_WARNING


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with one of secrets next to it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "nest.txt").write_text("heron")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def backend(root: Path) -> FilesystemBackend:
    """Return the backend of the folder."""
    return FilesystemBackend(root)


def test_links_within_the_folder_are_followed(backend: FilesystemBackend, root: Path) -> None:
    """Relative ones, absolute ones, and ones through each other; a write keeps the link."""
    backend.write("/a/b.txt", "b")
    (root / "relative").symlink_to("a")
    (root / "absolute").symlink_to(root / "relative")
    (root / "a" / "up").symlink_to("../a/b.txt")

    for path in ("/relative/b.txt", "/absolute/b.txt", "/absolute/up"):
        assert backend.read(path).error is None
    assert backend.write("/absolute/up", "new").error is None
    assert (root / "a" / "b.txt").read_text() == "new"
    assert (root / "a" / "up").is_symlink()
    assert backend.write("/relative/c.txt", "c").error is None
    assert (root / "a" / "c.txt").read_text() == "c"


def test_links_are_listed_as_what_they_lead_to(backend: FilesystemBackend, root: Path) -> None:
    """They have their own names; links that lead out are omitted, those in a circle reported."""
    backend.write("/a/b.txt", "four")
    (root / "folder").symlink_to("a")
    (root / "file").symlink_to("a/b.txt")
    (root / "gone").symlink_to("nowhere")
    (root / "out").symlink_to(root.parent / "outside")
    (root / "up").symlink_to("../outside/nest.txt")

    for path in ("/up", "/out", "/out/nest.txt"):
        assert "outside the root" in (backend.read(path).error or "")
        assert backend.download_files([path])[0].error == "invalid_path"
    listed = backend.ls("/")
    assert listed.error is None
    assert [(i["path"], i.get("size")) for i in listed.entries or []] == [
        ("/a/", 0),
        ("/file", 4),
        ("/folder/", 0),
    ]
    (root / "circle").symlink_to("circle")
    circled = backend.ls("/")
    assert circled.error is not None
    assert "'/circle'" in circled.error
    assert str(root) not in circled.error
    assert len(circled.entries or []) == 3


def test_a_search_tells_a_file_once(backend: FilesystemBackend, root: Path) -> None:
    """It has its own path, not that of a link; a search through a link reports the target."""
    backend.write("/a/b.txt", "needle")
    (root / "folder").symlink_to("a")
    (root / "file").symlink_to("a/b.txt")

    for where in (None, "/", "/folder", "/a"):
        assert [m["path"] for m in backend.grep("needle", where).matches or []] == ["/a/b.txt"]
    assert [i["path"] for i in backend.glob("**").matches or []] == ["/a/b.txt", "/file"]


def test_of_a_link_the_link_is_deleted(backend: FilesystemBackend, root: Path) -> None:
    """Wherever it leads: in the folder, out of it, or nowhere."""
    backend.write("/a/b.txt", "b")
    for name, to in (("in", "a"), ("out", "../outside"), ("gone", "nowhere"), ("loop", "loop")):
        (root / name).symlink_to(to)
        assert backend.delete(f"/{name}").error is None
        assert not (root / name).is_symlink()
    assert (root / "a" / "b.txt").exists()
    assert (root.parent / "outside" / "nest.txt").exists()


def test_links_in_a_folder_are_deleted_with_it(backend: FilesystemBackend, root: Path) -> None:
    """Their targets are kept."""
    backend.write("/a/b/c.txt", "c")
    backend.write("/kept/d.txt", "d")
    for name, to in (("in", "../kept"), ("out", root.parent / "outside"), ("loop", "loop")):
        (root / "a" / name).symlink_to(to)

    assert backend.delete("/a").error is None
    assert [path.name for path in root.rglob("*")] == ["kept", "d.txt"]
    assert (root.parent / "outside" / "nest.txt").exists()


def test_links_in_a_circle_are_told(root: Path) -> None:
    """By every call, in both modes."""
    (root / "loop").symlink_to("loop")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    for virtual in (True, False):
        backend = FilesystemBackend(root, virtual_mode=virtual)
        for path in ("loop", "one"):
            errors = (
                backend.ls(path).error,
                backend.read(path).error,
                backend.write(path, "x").error,
                backend.edit(path, "a", "b").error,
                backend.grep("x", path).error,
                backend.glob("*", path).error,
            )
            assert [(error or "").split(" '")[0] for error in errors] == [
                "Cannot list",
                "Error reading file",
                "Error writing file",
                "Error editing file",
                "Error searching path",
                "Error globbing path",
            ]
            assert backend.upload_files([(path, b"x")])[0].error == "invalid_path"
            assert backend.download_files([path])[0].error == "invalid_path"
    assert (root / "loop").is_symlink()


def test_the_folder_itself_stays(backend: FilesystemBackend, root: Path) -> None:
    """What is in it can be deleted."""
    backend.write("/a.txt", "a")
    whole = FilesystemBackend(root, virtual_mode=False)
    for asked, at in ((backend, "/"), (backend, ""), (whole, str(root)), (whole, str(root.parent))):
        deleted = asked.delete(at)
        assert "root directory cannot be deleted" in (deleted.error or "")
    assert backend.read("/a.txt").error is None


def test_no_folder_swapped_for_a_link_leads_out(backend: FilesystemBackend, root: Path) -> None:
    """Also while it is being walked through: what is outside is neither read nor written."""
    (root / "real").mkdir()
    (root / "real" / "nest.txt").write_text("mine")
    (root / "door").symlink_to("real")
    done = Event()

    def swap() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            (root / "next").symlink_to(("../outside", "real")[turn % 2])
            (root / "next").rename(root / "door")

    with ThreadPoolExecutor(1) as pool:
        swapping = pool.submit(swap)
        seen = set()
        for n in range(200):
            (got,) = backend.download_files(["/door/nest.txt"])
            seen.add(got.content)
            backend.write(f"/door/{n % 7}.txt", "written")
            backend.delete("/door/nest.txt" if n % 20 == 19 else "/door/none.txt")
            (root / "real" / "nest.txt").write_text("mine")
        done.set()
        swapping.result()

    assert seen <= {b"mine", b"", None}
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["nest.txt"]
    assert (root.parent / "outside" / "nest.txt").read_text() == "heron"


@pytest.mark.parametrize("swapped", ["door", "nest.txt"])
def test_what_becomes_a_link_after_it_was_looked_at_is_not_followed(
    backend: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """A folder or a file, between the look and the step."""
    outside = root.parent / "outside"

    def look_and_swap(name: str, folder: int) -> str | None:
        target = look(name, folder)
        if name == swapped:
            at = root / "door" if name == "door" else root / "door" / "nest.txt"
            if not at.is_symlink():
                at.rename(root / f"was-{len(list(root.iterdir()))}")
                at.symlink_to(outside if name == "door" else outside / "nest.txt")
        return target

    look = places._link  # noqa: SLF001  # the moment between two system calls
    monkeypatch.setattr(places, "_link", look_and_swap)
    calls: tuple[Callable[[], object], ...] = (
        lambda: backend.read("/door/nest.txt"),
        lambda: backend.download_files(["/door/nest.txt"]),
        lambda: backend.grep("her", "/door/nest.txt"),
        lambda: backend.write("/door/nest.txt", "written"),
        lambda: backend.edit("/door/nest.txt", "her", "written"),
        lambda: backend.delete("/door/nest.txt"),
        lambda: backend.ls("/door/below"),
    )
    for call in calls:
        if (root / "door").is_symlink():
            (root / "door").unlink()
        (root / "door").mkdir(exist_ok=True)
        (root / "door" / "nest.txt").unlink(missing_ok=True)
        (root / "door" / "nest.txt").write_text("mine")
        assert "heron" not in repr(call())
    assert [path.name for path in outside.iterdir()] == ["nest.txt"]
    assert (outside / "nest.txt").read_text() == "heron"


def test_a_file_keeps_its_rights_when_it_is_written(backend: FilesystemBackend, root: Path) -> None:
    """Also when it is edited; a new one is for everyone to read."""
    backend.write("/run.sh", "echo one")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) & 0o644 == 0o644
    (root / "run.sh").chmod(0o750)

    backend.edit("/run.sh", "one", "two")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750
    backend.write("/run.sh", "echo three")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such rights")
def test_a_write_protected_file_is_not_replaced(tmp_path: Path) -> None:
    """In a folder that may be written; as a user whom rights hold for."""
    (tmp_path / "locked.txt").write_text("before")
    (tmp_path / "locked.txt").chmod(0o444)
    tmp_path.chmod(0o777)
    for above in list(tmp_path.parents)[:3]:
        above.chmod(above.stat().st_mode | 0o111)

    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            backend = FilesystemBackend(tmp_path)
            written = backend.write("/locked.txt", "after").error or ""
            edited = backend.edit("/locked.txt", "before", "after").error or ""
            code = 0 if "denied" in written and "denied" in edited else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (tmp_path / "locked.txt").read_text() == "before"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can")
def test_a_file_that_root_writes_keeps_its_owner(backend: FilesystemBackend, root: Path) -> None:
    backend.write("/a.txt", "one")
    os.chown(root / "a.txt", 1234, 1235)
    backend.write("/a.txt", "two")
    status = (root / "a.txt").stat()
    assert (status.st_uid, status.st_gid) == (1234, 1235)


@pytest.mark.skipif(not hasattr(os, "fchown"), reason="Windows has no owners")
def test_a_file_whose_owner_cannot_be_kept_is_written(
    backend: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner without an id in a user namespace gives EINVAL; a system may have no `fchown`."""

    def fail(*_: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    backend.write("/a.txt", "one")
    (root / "a.txt").chmod(0o640)
    monkeypatch.setattr(os, "fchown", fail)
    assert backend.write("/a.txt", "two").error is None
    monkeypatch.delattr(os, "fchown")
    assert backend.write("/a.txt", "three").error is None
    assert (root / "a.txt").read_text() == "three"
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o640


def test_whoever_reads_sees_a_whole_file(backend: FilesystemBackend) -> None:
    """The old one or the new one, and no third thing in the folder."""
    texts = {"one": "a" * 300_000, "two": "b" * 300_000}
    backend.write("/a.txt", texts["one"])

    def write(n: int) -> None:
        backend.write("/a.txt", texts["one" if n % 2 else "two"])

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write, n) for n in range(60)]
        while not all(run.done() for run in writing):
            (got,) = backend.download_files(["/a.txt"])
            assert got.content is not None
            assert got.content.decode() in texts.values()
            assert [i["path"] for i in backend.ls("/").entries or []] == ["/a.txt"]


def test_a_write_that_fails_leaves_what_was_there(backend: FilesystemBackend, root: Path) -> None:
    """It fails if a folder has its path, or a file is in the place of a folder."""
    backend.write("/a/b.txt", "b")

    assert backend.write("/a", "x").error == "Error writing file '/a': Is a directory"
    assert backend.write("/a/b.txt/c.txt", "x").error is not None
    assert backend.write("/", "x").error is not None
    assert backend.upload_files([("/a", b"x"), ("/a/b.txt/c", b"x")])[0].error == "is_directory"
    assert sorted(path.name for path in root.rglob("*")) == ["a", "b.txt"]
    assert (root / "a" / "b.txt").read_text() == "b"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_open_to_us_is_written_in_a_folder_that_is_not(
    backend: FilesystemBackend, root: Path
) -> None:
    """It is written in place, as nothing can be put next to it."""
    backend.write("/a/b.txt", "b")
    (root / "a").chmod(0o555)

    assert backend.write("/a/b.txt", "new").error is None
    assert "Permission denied" in (backend.write("/a/c.txt", "c").error or "")
    (root / "a").chmod(0o755)
    assert backend.read("/a/b.txt").error is None


def test_turns_are_taken_however_a_file_is_named(root: Path) -> None:
    """By two backends, in both modes, and through a link."""
    (root / "a").mkdir()
    (root / "link").symlink_to("a")
    virtual, whole = FilesystemBackend(root), FilesystemBackend(root, virtual_mode=False)
    names = [f"<{n}>" for n in range(30)]
    virtual.write("/a/b.txt", "".join(names))
    ways: tuple[Callable[[str], object], ...] = (
        lambda name: virtual.edit("/a/b.txt", name, "x"),
        lambda name: virtual.edit("/link/b.txt", name, "x"),
        lambda name: whole.edit("link/b.txt", name, "x"),
    )

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(ways[n % 3], name) for n, name in enumerate(names)]
    assert [getattr(run.result(), "error", "") for run in running] == [None] * 30
    assert (root / "a" / "b.txt").read_text() == "x" * 30


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_no_file(backend: FilesystemBackend, root: Path) -> None:
    """A pipe does not block a read or a search."""
    os.mkfifo(root / "pipe")

    assert "not found" in (backend.read("/pipe").error or "")
    assert backend.grep("x").matches == []
    assert backend.glob("*").matches == []
    assert backend.ls("/").entries == []
    assert backend.write("/pipe", "x").error is not None


def test_a_file_that_is_not_text_is_told_with_its_name(
    backend: FilesystemBackend, root: Path
) -> None:
    """By `read` and `edit`; a search reads what it can of it."""
    (root / "latin.txt").write_bytes("grün needle".encode("latin-1"))

    assert "'/latin.txt'" in (backend.read("/latin.txt").error or "")
    assert "'/latin.txt'" in (backend.edit("/latin.txt", "a", "b").error or "")
    assert [m["text"] for m in backend.grep("needle").matches or []] == ["gr\ufffdn needle"]


def test_an_empty_file_is_told_in_words(backend: FilesystemBackend) -> None:
    """As its content, for a model to read."""
    backend.write("/empty.txt", " \n")

    read = backend.read("/empty.txt")
    assert read.file_data == {"content": EMPTY_CONTENT_WARNING, "encoding": "utf-8"}


def test_a_film_is_read_as_bytes_unless_it_is_too_large(
    backend: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of a kind that models do not take."""
    for name in ("a.mkv", "a.mp4"):
        (root / name).write_bytes(b"\x80abc")
        read = backend.read(f"/{name}")
        assert read.file_data == {"content": "gGFiYw==", "encoding": "base64"}
    monkeypatch.setattr("thalweg_agent.backends.filesystem.MAX_VIDEO_INPUT_BYTES", 3)
    assert backend.read("/a.mkv").error == "Video file exceeds maximum input size of 3 bytes"


@pytest.mark.parametrize("name", ["large.txt", "large.pdf"])
def test_a_file_of_any_size_is_not_read_whole(
    backend: FilesystemBackend, root: Path, name: str
) -> None:
    """No edit, and no document that no model accepts."""
    with (root / name).open("wb") as file:
        file.truncate(1 << 27)
    assert "large" in (backend.edit(f"/{name}", "a", "b").error or "")
    if name.endswith("pdf"):
        assert "exceeds maximum" in (backend.read(f"/{name}").error or "")


def test_a_search_passes_over_what_is_binary_or_too_large(root: Path) -> None:
    """And over nothing else: hidden and ignored files are searched."""
    (root / ".gitignore").write_text("ignored.txt")
    for name in ("ignored.txt", ".hidden", "plain.txt", "large.txt", "binary.txt"):
        (root / name).write_text("needle" + "x" * 2 * (name == "large.txt") * 1_048_576)
    (root / "binary.txt").write_bytes(b"needle\0")

    found = FilesystemBackend(root, max_file_size_mb=1).grep("needle")
    assert found.error is None
    assert [m["path"] for m in found.matches or []] == ["/.hidden", "/ignored.txt", "/plain.txt"]
    assert [info["path"] for info in found.skipped] == ["/large.txt"]


def test_lines_beside_a_match_come_with_it_if_asked_for(backend: FilesystemBackend) -> None:
    """From the same file, and none that matches itself."""
    backend.write("/a.txt", "one\nneedle 2\nneedle 3\nfour\nfive")

    found = backend.grep("needle", context_lines=1).matches
    assert found == [
        {
            "path": "/a.txt",
            "line": 2,
            "text": "needle 2",
            "context_before": [{"line": 1, "text": "one"}],
            "context_after": [],
        },
        {
            "path": "/a.txt",
            "line": 3,
            "text": "needle 3",
            "context_before": [],
            "context_after": [{"line": 4, "text": "four"}],
        },
    ]
    with pytest.raises(ValueError, match="non-negative"):
        backend.grep("needle", context_lines=-1)


@pytest.mark.parametrize("asked", ["glob", "grep"])
def test_a_search_out_of_time_tells_what_it_has(
    backend: FilesystemBackend, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """And that there may be more."""
    for name in "abcde":
        backend.write(f"/{name}.txt", "x")
    ticks = iter(range(100))
    monkeypatch.setattr("thalweg_agent.backends.filesystem.time.monotonic", lambda: next(ticks))
    monkeypatch.setattr("thalweg_agent.backends.filesystem.DEFAULT_GREP_TIMEOUT", 3)
    monkeypatch.setattr("thalweg_agent.backends.filesystem._DEFAULT_GLOB_TIMEOUT", 3)

    calls: dict[str, Callable[[], object]] = {
        "glob": lambda: backend.glob("*"),
        "grep": lambda: backend.grep("x"),
    }
    found = calls[asked]()
    assert getattr(found, "truncated", None) is True
    assert 0 < len(getattr(found, "matches", None) or []) < 5


def test_no_error_names_the_machines_paths(backend: FilesystemBackend, root: Path) -> None:
    """Virtual paths are all that a model learns."""
    (root / "out").symlink_to("../outside")
    (root / "loop").symlink_to("loop")
    backend.write("/file", "x")
    for path in ("/out/nest.txt", "/loop", "/file/x", "/nowhere", "/" + "n" * 255):
        told = (
            backend.read(path),
            backend.write(path, "\ud800"),
            backend.edit(path, "a", "b"),
            backend.ls(path),
            backend.grep("x", path),
            backend.glob("*", path),
            backend.delete(path),
        )
        assert str(root) not in repr(told)
        assert "heron" not in repr(told)


def test_rules_about_paths_can_ask_where_a_path_leads(
    backend: FilesystemBackend, root: Path
) -> None:
    """Through links, to the end and also to what is not there yet."""
    (root / "a").mkdir()
    (root / "link").symlink_to("a")
    (root / "out").symlink_to("../outside")

    assert backend.real_path("/link/new/.x") == "/a/new/.x"
    assert backend.real_path("/") == "/"
    with pytest.raises(PathError, match="outside"):
        backend.real_path("/out/nest.txt")
    whole = FilesystemBackend(root, virtual_mode=False)
    assert whole.real_path("out/nest.txt") == str(root.parent / "outside" / "nest.txt")


def test_without_virtual_mode_paths_are_those_of_the_machine(root: Path) -> None:
    """Relative ones from the folder; results have them absolute."""
    backend = FilesystemBackend(root, virtual_mode=False)

    assert backend.write("a/b.py", "needle").path == "a/b.py"
    assert backend.read("../outside/nest.txt").error is None
    at = str(root / "a" / "b.py")
    for folder in (None, "/", "a", str(root)):
        assert [i["path"] for i in backend.glob("*.py", folder).matches or []] == [at]
    for folder in (None, "a", str(root)):
        assert [m["path"] for m in backend.grep("needle", folder).matches or []] == [at]
    assert [i["path"] for i in backend.ls("a").entries or []] == [at]


def test_a_link_searched_by_its_own_name_keeps_it(root: Path) -> None:
    """Without virtual mode."""
    (root.parent / "link").symlink_to(root)
    (root / "a.txt").write_text("needle")

    found = FilesystemBackend(root.parent, virtual_mode=False).grep(
        "needle", str(root.parent / "link")
    )
    assert [m["path"] for m in found.matches or []] == [str(root.parent / "link" / "a.txt")]


def test_deep_folders_are_walked_to_their_end(backend: FilesystemBackend, root: Path) -> None:
    """Deeper than a process may have files open, and than a path may be long."""
    names = ["d" * 100] * 60
    at = os.open(root, os.O_RDONLY)
    for name in names:
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("end.txt", os.O_CREAT, dir_fd=at))
    os.close(at)

    found = backend.glob("end.txt")
    assert (found.error, found.truncated) == (None, False)
    assert [i["path"] for i in found.matches or []] == ["/" + "/".join([*names, "end.txt"])]
    assert backend.delete("/" + names[0]).error is None


def test_a_folder_moved_while_it_is_deleted_takes_nothing_with_it(
    backend: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is moved to is not deleted, though the way up leads there."""
    outside = root.parent / "outside"
    for path in ("a/b/c", "a/kept"):
        (root / path).mkdir(parents=True)
    (outside / "kept").mkdir()

    def unlink_and_move(folder: int) -> list[str]:
        names = unlink(folder)
        if names == ["c"]:
            (root / "a" / "b").rename(outside / "b")
        return sorted(names, reverse=True)

    unlink = disk._files_unlinked  # noqa: SLF001  # the moment between two system calls
    monkeypatch.setattr(disk, "_files_unlinked", unlink_and_move)

    assert "busy" in (backend.delete("/a").error or "")
    assert sorted(path.name for path in outside.iterdir()) == ["b", "kept", "nest.txt"]


def test_folders_deeper_than_calls_may_be_nested_are_made_and_deleted(
    backend: FilesystemBackend, root: Path
) -> None:
    """Down to the last."""
    names = ["n"] * 1_050
    path = "/".join(["", *names, "x"])

    assert backend.write(path, "deep").error is None
    assert backend.read(path).error is None
    assert backend.delete("/n").error is None
    assert list(root.iterdir()) == []


def test_a_root_that_is_not_there_yet_is_made_by_the_first_write(tmp_path: Path) -> None:
    """Until then it is empty."""
    backend = FilesystemBackend(tmp_path / "new" / "root")

    assert "not found" in (backend.read("/a.txt").error or "")
    assert backend.glob("*").matches == []
    assert backend.write("/a.txt", "a").error is None
    assert backend.read("/a.txt").error is None


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    """It is what it leads to."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    backend = FilesystemBackend(tmp_path / "link")

    assert backend.write("/a.txt", "a").error is None
    assert [i["path"] for i in backend.ls("/").entries or []] == ["/a.txt"]


def test_errors_of_the_system_have_names() -> None:
    """Those that a model can do something about."""
    assert file_operation_error(PermissionError()) == "permission_denied"
    assert file_operation_error(IsADirectoryError()) == "is_directory"
    assert file_operation_error(PathError("/x", "x")) == "invalid_path"
    assert file_operation_error(OSError("disk full")) is None


@pytest.mark.parametrize("offset", range(7))
@pytest.mark.parametrize("limit", range(7))
def test_a_window_of_a_large_file_is_that_of_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offset: int, limit: int
) -> None:
    """But for the number of lines, which is not counted."""
    (tmp_path / "log.txt").write_bytes(b"one\r\ntwo\rthree\n\nfive")
    backend = FilesystemBackend(tmp_path)
    small = backend.read("/log.txt", offset, limit)
    monkeypatch.setattr("thalweg_agent.backends.filesystem.WHOLE_BYTES", 0)
    large = backend.read("/log.txt", offset, limit)
    assert replace(large, total_lines=None) == replace(small, total_lines=None)
    assert large.total_lines == (None if large.next_offset else small.total_lines)


def test_a_page_of_a_large_file_does_not_read_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"a line of a log\n" * (1 << 21))
    tracemalloc.start()
    try:
        page = FilesystemBackend(tmp_path).read("/log.txt", 10, 2)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert page.file_data is not None
    assert page.file_data["content"] == "a line of a log\n" * 2
    assert (page.start_line, page.end_line, page.next_offset) == (11, 12, 12)
    assert most < 1 << 20


def test_of_a_line_that_would_fill_the_memory_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.json").write_text("a\n" + "x" * 50 + "\nb\n")
    monkeypatch.setattr("thalweg_agent.backends.filesystem.WHOLE_BYTES", 20)
    monkeypatch.setattr("thalweg_agent.backends.text.WHOLE_BYTES", 20)
    read = FilesystemBackend(tmp_path).read
    pages = [read("/one.json", offset, 1) for offset in range(3)]
    contents = [page.file_data["content"] for page in pages if page.file_data]
    assert contents == ["a\n", "x" * 20, "b\n"]
    assert [page.end_line for page in pages] == [1, 2, 3]


def test_a_large_file_that_is_no_text_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    monkeypatch.setattr("thalweg_agent.backends.filesystem.WHOLE_BYTES", 0)
    assert "Error reading file" in (FilesystemBackend(tmp_path).read("/a.txt").error or "")


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_a_file_of_another_system_is_found_by_its_letters(
    backend: FilesystemBackend, root: Path
) -> None:
    """A Mac writes `é` as two characters, a model as one; no second file is made."""
    (root / DECOMPOSED).mkdir()
    (root / DECOMPOSED / f"{DECOMPOSED}.txt").write_text("one\n")
    if os.path.lexists(root / COMPOSED):
        pytest.skip("this disk has one name for both")
    path = f"/{COMPOSED}/{COMPOSED}.txt"

    assert backend.edit(path, "one", "two").error is None
    assert backend.write(f"/{COMPOSED}/new.txt", "x").error is None
    assert backend.read(path).file_data == {"content": "two\n", "encoding": "utf-8"}
    assert [one.name for one in root.iterdir()] == [DECOMPOSED]
    assert backend.real_path(path) == f"/{DECOMPOSED}/{DECOMPOSED}.txt"
    assert backend.delete(path).error is None
    assert [one.name for one in (root / DECOMPOSED).iterdir()] == ["new.txt"]


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"a\\b.txt"])
def test_a_name_that_no_path_has_is_found_as_it_is_listed(
    backend: FilesystemBackend, root: Path, name: bytes
) -> None:
    """A backslash, and bytes that are no UTF-8; rules about paths hold for such a file."""
    link = root / os.fsdecode(b"link-" + name)
    link.symlink_to("nest.txt")
    (root / "nest.txt").write_text("heron")
    assert len(backend.ls("/").entries or []) == len(backend.glob("*").matches or []) == 2
    link.unlink()
    (root / "nest.txt").rename(root / os.fsdecode(name))
    (listed,) = backend.ls("/").entries or []
    path = listed["path"]

    assert [info["path"] for info in backend.glob("*").matches or []] == [path]
    assert [match["path"] for match in backend.grep("heron").matches or []] == [path]
    assert backend.real_path(path) == path
    assert backend.edit(path, "heron", "egret").error is None
    assert backend.write(path, "crane").error is None
    assert backend.download_files([path])[0].content == b"crane"
    assert [one.name for one in root.iterdir()] == [os.fsdecode(name)]
    assert backend.delete(path).error is None
    assert not [*root.iterdir()]


def test_of_two_files_with_the_same_letters_each_has_its_name(
    backend: FilesystemBackend, root: Path
) -> None:
    for name in (COMPOSED, DECOMPOSED):
        (root / name).write_text(name)
    if len([*root.iterdir()]) == 1:
        pytest.skip("this disk has one name for both")
    for name in (COMPOSED, DECOMPOSED):
        read = backend.read(f"/{name}").file_data
        assert read is not None
        assert read["content"] == name


def test_letters_lead_to_nothing_outside(backend: FilesystemBackend, root: Path) -> None:
    (root.parent / "outside" / DECOMPOSED).write_text("secret")
    (root / "out").symlink_to(root.parent / "outside")
    assert "outside the root" in (backend.read(f"/out/{COMPOSED}").error or "")
    with pytest.raises(PathError):
        backend.real_path(f"/out/{COMPOSED}")
