"""What every backend promises."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from agent_tests.contract.suites.backend_methods import BackendMethods
from thalweg_agent.backends.protocol import BackendProtocol, supports_delete

TREE = {
    "/a.py": "a",
    "/readme.md": "docs",
    "/sub/b.py": "b",
    "/sub/deep/c.py": "c",
    "/.env.py": "dot",
    "/.git/hook.py": "in a dot folder",
    "/.github/workflows/ci.yml": "name: ci",
    "/odd [x]/{y}.txt": "odd",
}
"""Files whose paths show what a glob matches."""
_SEEN = ("/a.py", "/sub/b.py", "/sub/deep/c.py")
GLOBS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("*.py", "", (*_SEEN, "/.git/hook.py")),
    ("**/*.py", "", _SEEN),
    ("/*.py", "", ("/a.py",)),
    ("/**/*.py", "", _SEEN),
    ("sub/*.py", "", ("/sub/b.py",)),
    ("sub/**", "", ("/sub/b.py", "/sub/deep/c.py")),
    ("sub/**/*.py", "", ("/sub/b.py", "/sub/deep/c.py")),
    ("sub/**/c.py", "", ("/sub/deep/c.py",)),
    ("*.py", "/sub", ("/sub/b.py", "/sub/deep/c.py")),
    ("/*.py", "/sub", ("/sub/b.py",)),
    ("deep/*.py", "/sub", ("/sub/deep/c.py",)),
    ("sub/*.py", "/sub", ()),
    ("a.py/**", "", ()),
    ("sub", "", ()),
    ("*.yml", "", ("/.github/workflows/ci.yml",)),
    ("**/*.yml", "", ()),
    (".github/**/*.yml", "", ("/.github/workflows/ci.yml",)),
    (".*.py", "", ("/.env.py",)),
    ("*.{py,md}", "", (*_SEEN, "/readme.md", "/.git/hook.py")),
    ("{a,{b,c}}.py", "", _SEEN),
    ("?.py", "", _SEEN),
    ("[ab].py", "", ("/a.py", "/sub/b.py")),
    ("[!a].py", "", ("/sub/b.py", "/sub/deep/c.py")),
    ("[^a].py", "", ("/sub/b.py", "/sub/deep/c.py")),
    ("!a.py", "", ()),
    ("odd [[]x]/*", "", ("/odd [x]/{y}.txt",)),
    ("A.PY", "", ()),
    ("[a-", "", ()),
)
"""Pattern, folder, and what of `TREE` it finds."""
BAD_GLOBS = ("../*.py", "sub/../*.py", "..", "{a,b}" * 12)
BAD_PATHS = (
    "/../outside.txt",
    "/sub/../../outside.txt",
    "../outside.txt",
    "/..",
    "~/outside.txt",
    "/nul\0.txt",
    "/half\ud83d.txt",
    "/" + "n" * 300,
    "/" + "n/" * 2_100 + "n",
)
"""Paths that no backend touches."""


class BackendContract:
    """The promises of a backend, as tests; each runs with blocking and with awaited calls.

    Subclass it and define a `backend` fixture: a fresh, empty backend.
    """

    home = ""
    """Put before every path, for a backend that keeps files only below some folder."""

    confined = True
    """Whether paths that climb are refused; a backend of a whole machine may let them."""

    @pytest.fixture(params=[False, True], ids=["blocking", "awaited"])
    def files(self, backend: BackendProtocol, request: pytest.FixtureRequest) -> BackendMethods:
        """Return the backend by one kind of its methods."""
        return BackendMethods(backend, bool(request.param), self.home)

    @pytest.fixture
    def tree(self, files: BackendMethods) -> BackendMethods:
        """Return a backend with the files of `TREE`."""
        for path, content in TREE.items():
            assert files.write(path, content).error is None
        return files

    def test_reads_back_what_was_written(self, files: BackendMethods) -> None:
        """Folders are made as needed; the path comes back with the result."""
        written = files.write("/notes/of/today.md", "one\ntwo\n")

        assert (written.error, files.bare(written.path)) == (None, "/notes/of/today.md")
        read = files.read("/notes/of/today.md")
        assert read.error is None
        assert read.file_data is not None
        assert (read.file_data["content"], read.file_data["encoding"]) == ("one\ntwo\n", "utf-8")
        assert (read.start_line, read.end_line, read.total_lines) == (1, 2, 2)
        assert read.next_offset is None

    def test_the_last_write_wins(self, files: BackendMethods) -> None:
        """A second write replaces the first; nothing of a longer text remains."""
        files.write("/a.md", "first and longer")

        assert files.write("/a.md", "second").error is None
        assert files.content("/a.md") == "second"

    @pytest.mark.parametrize("content", ["", "\n", "no end", "ends\n", "ü 𝔘 日本\n", "tab\t\x0b\n"])
    def test_text_comes_back_to_the_character(self, files: BackendMethods, content: str) -> None:
        """With or without an end of the last line, in any script."""
        files.write("/ö 日本/a [1] {b} *.txt", content)

        assert files.content("/ö 日本/a [1] {b} *.txt") == content

    def test_a_window_of_lines_says_where_it_stands(self, files: BackendMethods) -> None:
        """Reading on at `next_offset` returns every line once."""
        files.write("/a.txt", "".join(f"line {n}\n" for n in range(1, 8)))
        seen, offset = "", 0
        while True:
            read = files.read("/a.txt", offset, 3)
            assert read.file_data is not None
            assert read.start_line == offset + 1
            assert read.total_lines == 7
            seen += read.file_data["content"]
            if read.next_offset is None:
                break
            offset = read.next_offset

        assert seen == files.content("/a.txt")
        assert read.end_line == 7

    def test_a_window_that_cannot_be_is_told_and_not_raised(self, files: BackendMethods) -> None:
        """Before the beginning, past the end, or of no lines."""
        files.write("/a.txt", "one\ntwo\nthree")

        before = files.read("/a.txt", -5, 1)
        assert (before.start_line, before.end_line, before.next_offset) == (1, 1, 1)
        past = files.read("/a.txt", 3, 1)
        assert past.error == "Line offset 3 exceeds file length (3 lines)"
        for limit in (0, -3):
            none = files.read("/a.txt", 0, limit)
            assert (none.error, none.no_lines_requested) == (None, True)
            assert none.start_line is none.total_lines is None

    def test_a_file_of_nothing_says_nothing_of_lines(self, files: BackendMethods) -> None:
        """For any requested window."""
        for content in ("", " \n\n"):
            files.write("/empty.txt", content)
            for limit in (10, 0):
                read = files.read("/empty.txt", 0, limit)
                assert (read.error, read.start_line, read.total_lines) == (None, None, None)
                assert read.file_data is not None

    def test_a_line_ends_where_an_editor_ends_it(self, files: BackendMethods) -> None:
        r"""At `\n`, `\r\n` or `\r`, which are shown as `\n`, and at nothing else."""
        files.upload([("/a.txt", b"one\r\ntwo\x0cstill\xe2\x80\xa8two\rthree")])

        read = files.read("/a.txt", 1, 1)
        assert read.file_data is not None
        assert read.file_data["content"] == "two\x0cstill\u2028two\n"
        assert read.total_lines == 3
        assert [m["line"] for m in files.grep("three").matches or []] == [3]

    def test_a_missing_file_is_told_by_every_call(self, files: BackendMethods) -> None:
        """Also if a file is in the place of a folder."""
        files.write("/file.txt", "x")
        for path in ("/nowhere.txt", "/no/where.txt", "/file.txt/below.txt"):
            assert "not found" in (files.read(path).error or "")
            edited = files.edit(path, "a", "b")
            assert "not found" in (edited.error or "")
            assert (edited.path, edited.occurrences) == (None, None)
            (downloaded,) = files.download(path)
            assert downloaded.error in {"file_not_found", "invalid_path"}
            assert downloaded.content is None
            assert files.grep("x", path).matches == []
            assert not files.glob("*", path).matches

    def test_an_edit_replaces_the_one_place_that_was_meant(self, files: BackendMethods) -> None:
        """To the character, and no pattern."""
        files.write("/a.py", "x = f(a.b)\ny = f(axb)\n")

        edited = files.edit("/a.py", "f(a.b)", r"g(\1)")

        assert (edited.error, edited.occurrences) == (None, 1)
        assert files.bare(edited.path) == "/a.py"
        assert files.content("/a.py") == "x = g(\\1)\ny = f(axb)\n"

    def test_an_edit_that_could_mean_more_than_one_place_is_refused(
        self, files: BackendMethods
    ) -> None:
        """Unless all are meant; a refused edit changes nothing."""
        files.write("/a.txt", "one two one")

        refused = files.edit("/a.txt", "one", "1")
        assert refused.error is not None
        assert "appears 2 times" in refused.error
        assert "replace_all" in refused.error
        assert files.content("/a.txt") == "one two one"
        assert files.edit("/a.txt", "one", "1", replace_all=True).occurrences == 2
        assert files.content("/a.txt") == "1 two 1"

    def test_an_edit_of_what_is_not_there_says_why(self, files: BackendMethods) -> None:
        """Nothing to look for, not found, or an end that the last line does not have."""
        files.write("/a.txt", "last line")

        assert "cannot be empty" in (files.edit("/a.txt", "", "x").error or "")
        assert files.edit("/a.txt", "lost", "x").error == (
            "Error: String not found in file: 'lost'"
        )
        assert "ends with a newline" in (files.edit("/a.txt", "last line\n", "x\n").error or "")
        assert files.content("/a.txt") == "last line"

    def test_an_edit_leaves_the_ends_of_other_lines_alone(self, files: BackendMethods) -> None:
        r"""A model sees `\n` and writes `\n`; the file keeps what it had."""
        files.upload([("/dos.txt", b"one\r\ntwo\r\nthree\r\n")])

        assert files.edit("/dos.txt", "one\ntwo\n", "1\n2\n").error is None
        assert files.content("/dos.txt") == "1\r\n2\r\nthree\r\n"

    def test_edits_at_once_are_all_there(self, files: BackendMethods) -> None:
        """None is lost, however many there are of one file."""
        names = [f"<{n}>" for n in range(16)]
        files.write("/a.txt", "\n".join(names))

        def edit(name: str) -> str | None:
            return files.edit("/a.txt", name, f"{name} done").error

        with ThreadPoolExecutor(8) as pool:
            running = [pool.submit(copy_context().run, edit, name) for name in names]
            assert [run.result() for run in running] == [None] * len(names)
        assert files.content("/a.txt") == "\n".join(f"{name} done" for name in names)

    def test_a_listing_has_what_is_in_a_folder_and_not_below(self, tree: BackendMethods) -> None:
        """Folders end in `/`; all paths are absolute; the order is that of the paths."""
        for path in ("/", ""):
            listed = tree.ls(path)
            assert listed.error is None
            assert listed.entries is not None
            paths = [info["path"] for info in listed.entries]
            assert paths == sorted(paths)
            assert tree.told(listed.entries) == sorted(
                ["/.env.py", "/.git/", "/.github/", "/a.py", "/odd [x]/", "/readme.md", "/sub/"]
            )
            assert {p for p in paths if p.endswith("/")} == {
                info["path"] for info in listed.entries if info.get("is_dir")
            }
        assert tree.told(tree.ls("/sub").entries) == ["/sub/b.py", "/sub/deep/"]
        assert tree.told(tree.ls("/sub/").entries) == ["/sub/b.py", "/sub/deep/"]
        assert not tree.ls("/nowhere").entries

    def test_what_is_deleted_is_gone_with_everything_in_it(self, tree: BackendMethods) -> None:
        """And nothing next to it, however similar its name."""
        tree.write("/subway.txt", "stays")

        assert tree.delete("/a.py").error is None
        deleted = tree.delete("/sub")
        assert (deleted.error, tree.bare(deleted.path)) == (None, "/sub")
        assert "not found" in (tree.read("/sub/deep/c.py").error or "")
        assert tree.told(tree.glob("*.py").matches) == ["/.git/hook.py"]
        assert tree.content("/subway.txt") == "stays"
        for path in ("/sub", "/a.py", "/nowhere/x"):
            again = tree.delete(path)
            assert again.path is None
            assert "not found" in (again.error or "")

    @pytest.mark.parametrize(("pattern", "folder", "found"), GLOBS)
    def test_a_glob_means_one_thing(
        self, tree: BackendMethods, pattern: str, folder: str, found: tuple[str, ...]
    ) -> None:
        """Among files by their paths, and for which files are searched."""
        globbed = tree.glob(pattern, folder)

        assert (globbed.error, globbed.truncated) == (None, False)
        assert tree.told(globbed.matches) == sorted(found)
        assert not any(info.get("is_dir") for info in globbed.matches or [])
        grepped = tree.grep("", folder, pattern)
        assert grepped.error is None
        assert sorted(tree.bare(m["path"]) for m in grepped.matches or []) == sorted(found)

    @pytest.mark.parametrize("pattern", BAD_GLOBS)
    def test_a_glob_that_cannot_be_is_told_and_not_raised(
        self, tree: BackendMethods, pattern: str
    ) -> None:
        """It climbs, or its braces make too many."""
        globbed = tree.glob(pattern)
        assert globbed.error
        assert globbed.matches is None
        grepped = tree.grep("a", "", pattern)
        assert grepped.error
        assert not grepped.matches

    def test_a_search_is_for_the_text_itself(self, files: BackendMethods) -> None:
        """Nothing in it has a meaning; lines count from 1 and come without their ends."""
        files.write("/a.txt", "a.b\naxb\r\n(.*)\n\nlast a.b")
        files.write("/sub/b.txt", "a.b")

        found = files.grep("a.b")
        assert found.error is None
        assert [(files.bare(m["path"]), m["line"], m["text"]) for m in found.matches or []] == [
            ("/a.txt", 1, "a.b"),
            ("/a.txt", 5, "last a.b"),
            ("/sub/b.txt", 1, "a.b"),
        ]
        assert [m["text"] for m in files.grep("axb").matches or []] == ["axb"]
        assert [m["line"] for m in files.grep("(.*)").matches or []] == [3]
        assert files.grep("a.b", "/sub").matches == [
            {"path": f"{files.home}/sub/b.txt", "line": 1, "text": "a.b"}
        ]
        assert len(files.grep("a.b", "/a.txt").matches or []) == 2
        assert files.grep("nothing").matches == []
        assert files.grep("a.b\naxb").matches == []

    def test_a_search_stops_at_the_number_asked_for(self, files: BackendMethods) -> None:
        """Over all files; the result is marked as truncated only if there are more."""
        files.write("/a.txt", "x\nx\n")
        files.write("/b.txt", "x\nx\n")

        for most, more in ((1, True), (3, True), (4, False), (9, False)):
            found = files.grep("x", max_count=most)
            assert found.matches is not None
            assert (len(found.matches), found.truncated) == (min(most, 4), more)
        assert not files.grep("x").truncated

    def test_bytes_go_up_and_down_unchanged(self, files: BackendMethods) -> None:
        """Text or not, empty or not, in the order of the call."""
        sent = [
            ("/b/all.bin", bytes(range(256))),
            ("/b/text.txt", "grün\r\n".encode()),
            ("/b/none", b""),
            ("/b/photo.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 20),
        ]
        uploaded = files.upload(sent)

        assert [(files.bare(f.path), f.error) for f in uploaded] == [(p, None) for p, _ in sent]
        paths = [path for path, _ in sent]
        got = files.download(*reversed(paths))
        assert [(files.bare(f.path), f.content, f.error) for f in got] == [
            (path, content, None) for path, content in reversed(sent)
        ]
        read = files.read("/b/photo.png", 0, 1)
        assert read.file_data is not None
        assert read.file_data["encoding"] == "base64"
        assert files.told(files.glob("*", "/b").matches) == sorted(paths)

    def test_bytes_are_searched_and_edited_as_text_only_if_they_are(
        self, files: BackendMethods
    ) -> None:
        """Other files are reported or skipped, and do not change."""
        raw = b"needle \xff\0\xfe"
        files.upload([("/a.bin", raw)])

        assert files.grep("needle").matches == []
        assert files.edit("/a.bin", "needle", "x").error
        assert files.download("/a.bin")[0].content == raw

    def test_one_bad_file_does_not_spoil_the_others(self, files: BackendMethods) -> None:
        """Each has an answer of its own."""
        sent = [("/a.txt", b"1"), ("/nul\0", b"2"), ("/c.txt", b"3")]

        assert [f.error for f in files.upload(sent)] == [None, "invalid_path", None]
        got = files.download("/a.txt", "/nul\0", "/nowhere", "/c.txt")
        assert [f.content for f in got] == [b"1", None, None, b"3"]
        assert [f.error for f in got][1:3] == ["invalid_path", "file_not_found"]

    @pytest.mark.parametrize("path", BAD_PATHS)
    def test_a_bad_path_is_refused_and_not_raised(self, files: BackendMethods, path: str) -> None:
        """By every call; nothing is written anywhere."""
        if not self.confined and (".." in path or path.startswith("~")):
            pytest.skip("this backend lets paths climb")
        files.write("/kept.txt", "kept")

        assert files.write(path, "x").error
        assert files.read(path).error
        assert files.edit(path, "x", "y").error
        assert files.ls(path).error
        assert files.upload([(path, b"x")])[0].error == "invalid_path"
        assert files.download(path)[0].error == "invalid_path"
        assert not files.grep("kept", path).matches
        assert not files.glob("*", path).matches
        if supports_delete(files.backend):
            assert files.delete(path).error
        assert files.told(files.glob("**").matches) == ["/kept.txt"]

    def test_a_folder_of_everything_is_no_file(self, files: BackendMethods) -> None:
        """Once written, it could not be deleted."""
        if self.home:
            pytest.skip("it keeps files below a folder")
        assert files.write("/", "x").error
        assert files.edit("/", "x", "y").error
        assert files.read("/").error

    def test_text_that_no_file_can_hold_is_never_raised(self, files: BackendMethods) -> None:
        """A lone surrogate may be refused; existing content is kept."""
        files.write("/a.txt", "was")

        if files.write("/a.txt", "half \ud83d").error:
            assert files.content("/a.txt") == "was"
        files.edit("/a.txt", "was", "\ud83d")
        files.grep("\ud83d")
