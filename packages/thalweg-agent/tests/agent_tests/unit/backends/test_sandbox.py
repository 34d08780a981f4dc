"""A sandbox by `execute` alone: no name and no content reaches a shell, no answer is misread."""

import ast
import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_tests.sandboxes import FolderSandbox
from thalweg_agent.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from thalweg_agent.backends.remote import script
from thalweg_agent.backends.remote.results import TRUNCATION_MSG, as_ls
from thalweg_agent.backends.sandbox import BaseSandbox, errand
from thalweg_agent.backends.text import edit_text

NASTY = (
    '/it\'s; $(touch pwned) `touch pwned` "x" & | > pwned.txt',
    "/-rf",
    "/--help/-n",
    "/new\nline\r.txt",
    "/#!{}[]*?~",
    "/ blanks at both ends ",
    "/日本 𝔘.md",
)


@pytest.fixture
def sandbox(tmp_path: Path) -> FolderSandbox:
    return FolderSandbox(tmp_path)


@pytest.mark.parametrize("path", NASTY)
def test_no_name_and_no_content_is_read_by_a_shell(sandbox: FolderSandbox, path: str) -> None:
    """Every method means the file of that name, and nothing else happens."""
    words = "'; touch pwned; echo $HOME `id` \"\\\n-n"

    assert sandbox.write(path, words).error is None
    read = sandbox.read(path)
    assert read.file_data is not None
    assert read.file_data["content"] == words
    assert sandbox.edit(path, words, f"{words} {words}").occurrences == 1
    matches = sandbox.grep('; touch pwned; echo $HOME `id` "\\').matches
    assert {match["path"] for match in matches or []} == {path}
    assert [info["path"] for info in sandbox.glob("**").matches or []] == [path]
    parent = path.rsplit("/", 1)[0] or "/"
    assert [info["path"] for info in sandbox.ls(parent).entries or []] == [path]
    assert sandbox.delete(path).error is None
    assert not list(Path(sandbox.root).glob("**/pwned*"))
    assert sandbox.glob("**").matches == []


def test_a_module_of_the_project_never_stands_in_for_one_of_python(
    sandbox: FolderSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python3 -c` looks for modules in the folder it starts in."""
    for name in ("json", "base64", "zlib", "re", "shutil", "tempfile"):
        sandbox.write(f"/{name}.py", "raise SystemExit('mine')")
        sandbox.write(f"/lib/{name}.py", "raise SystemExit('mine')")
    monkeypatch.setenv("PYTHONPATH", f"{sandbox.root}/lib")

    assert len(sandbox.ls("/").entries or []) == 7
    assert sandbox.edit("/json.py", "mine", "yours").error is None


@pytest.mark.parametrize("size", [10, 24_000, 26_000, 400_000])
def test_an_edit_may_be_of_any_size(sandbox: FolderSandbox, size: int) -> None:
    """What is too long for a command is uploaded, and nothing of it remains."""
    old, new = "ü" * (size // 2), "n" * size
    sandbox.write("/a.txt", f"before {old} after\n")

    edited = sandbox.edit("/a.txt", old, new)

    assert (edited.error, edited.occurrences) == (None, 1)
    assert Path(sandbox.root, "a.txt").read_text(encoding="utf-8") == f"before {new} after\n"
    assert [path.name for path in Path(sandbox.root).rglob("*")] == ["a.txt"]
    assert max(map(len, sandbox.commands)) < 120_000


def test_a_large_edit_that_fails_leaves_nothing_behind(sandbox: FolderSandbox) -> None:
    """Nothing is in the file or next to it."""
    sandbox.write("/a.txt", "small")

    assert "not found" in (sandbox.edit("/a.txt", "x" * 60_000, "y").error or "")
    assert "not found" in (sandbox.edit("/none.txt", "x" * 60_000, "y").error or "")
    sandbox.python = "no-such-python"
    assert "unexpected server response" in (sandbox.edit("/a.txt", "x" * 60_000, "y").error or "")
    assert [path.name for path in Path(sandbox.root).rglob("*") if path.is_file()] == ["a.txt"]


def test_a_sandbox_without_python_says_so(sandbox: FolderSandbox) -> None:
    """Nothing is taken for an empty folder."""
    sandbox.write("/a.txt", "x")
    sandbox.python = "no-such-python"

    for error in (
        sandbox.ls("/").error,
        sandbox.read("/a.txt").error,
        sandbox.edit("/a.txt", "x", "y").error,
        sandbox.glob("*").error,
        sandbox.grep("x").error,
    ):
        assert "no-such-python" in (error or "")


def test_a_page_stops_at_a_line_and_reading_on_gives_the_rest(sandbox: FolderSandbox) -> None:
    """However little comes back at once."""
    sandbox.max_output_bytes = 2_000
    lines = [f"line {n} {'x' * (n % 90)}\n" for n in range(400)]
    sandbox.write("/a.txt", "".join(lines))
    seen, offset, pages = "", 0, 0
    while True:
        read = sandbox.read("/a.txt", offset)
        assert read.file_data is not None
        assert len(read.file_data["content"]) <= 1_200
        assert read.total_lines == 400
        seen, pages = seen + read.file_data["content"], pages + 1
        if read.next_offset is None:
            break
        offset = read.next_offset

    assert seen == "".join(lines)
    assert pages > 10


def test_a_line_that_is_too_long_for_a_page_says_so_and_is_passed(sandbox: FolderSandbox) -> None:
    """The lines after it are not lost with it."""
    sandbox.max_output_bytes = 2_000
    sandbox.write("/a.txt", "ü" * 5_000 + "\nlast\n")

    first = sandbox.read("/a.txt")
    assert first.file_data is not None
    assert first.file_data["content"] == "ü" * 600 + TRUNCATION_MSG
    assert first.next_offset == 1
    last = sandbox.read("/a.txt", 1)
    assert last.file_data is not None
    assert last.file_data["content"] == "last\n"


def test_bytes_are_read_if_there_is_room_for_them(sandbox: FolderSandbox) -> None:
    """This holds even if the name suggests text."""
    sandbox.upload_files([("/a.txt", b"\xff\xfe\x00"), ("/big.png", b"\x89" * 600_000)])

    read = sandbox.read("/a.txt")
    assert read.file_data == {"content": "//4A", "encoding": "base64"}
    assert "exceeds maximum preview size" in (sandbox.read("/big.png").error or "")
    assert "not_a_file" in (sandbox.read("/").error or "")


def test_a_search_and_a_glob_are_bounded_and_say_so(sandbox: FolderSandbox) -> None:
    """A minified file or a huge tree does not come back whole."""
    sandbox.max_output_bytes = 4_000
    sandbox.write("/min.js", ("needle " * 200 + "\n") * 50)

    found = sandbox.grep("needle")
    assert found.truncated
    assert sum(len(match["text"]) for match in found.matches or []) <= 4_000
    assert sandbox.grep("needle " * 200 + "!").matches == []
    assert "too long" in (sandbox.grep("x" * 200_000).error or "")
    assert "pattern_too_broad" in (sandbox.glob("{a,b}" * 9 + "/" + "x" * 300).error or "")


def test_a_name_has_the_letters_that_the_disk_has(sandbox: FolderSandbox, tmp_path: Path) -> None:
    """A model writes `é` as one character, and some systems as two; no second file is made."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    (tmp_path / decomposed).mkdir()
    (tmp_path / decomposed / f"{decomposed}.txt").write_text("one\n")
    if os.path.lexists(tmp_path / composed):
        pytest.skip("this disk has one name for both")
    path = f"/{composed}/{composed}.txt"

    assert sandbox.edit(path, "one", "two").error is None
    read = sandbox.read(path)
    assert read.file_data is not None
    assert read.file_data["content"] == "two\n"
    assert sandbox.write(path, "three\n").error is None
    assert sandbox.write(f"/{composed}/new.txt", "three\n").error is None
    assert len(sandbox.grep("three", f"/{composed}").matches or []) == 2
    assert len(sandbox.ls(f"/{composed}").entries or []) == 2
    assert sandbox.delete(path).error is None
    assert [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*")] == [
        decomposed,
        f"{decomposed}/new.txt",
    ]


class RenamingSandbox(FolderSandbox):
    """Shows its folder under another name in the output of commands."""

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run it, and rename the folder in its output."""
        ran = super().execute(command, timeout=timeout)
        return replace(ran, output=ran.output.replace(self.home, "/elsewhere"))


def test_a_renamed_path_in_the_output_is_ignored(tmp_path: Path) -> None:
    """The file is written at the requested path."""
    assert RenamingSandbox(tmp_path).write("/caf\u00e9.txt", "x").error is None
    assert [file.name for file in tmp_path.iterdir()] == ["caf\u00e9.txt"]


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"a\\b.txt"])
def test_an_invalid_name_is_found_as_it_is_listed(
    sandbox: FolderSandbox, tmp_path: Path, name: bytes
) -> None:
    """A backslash, and bytes that are no UTF-8."""
    (tmp_path / os.fsdecode(name)).write_text("heron")
    (listed,) = sandbox.ls("/").entries or []
    assert sandbox.edit(listed["path"], "heron", "egret").error is None
    assert (tmp_path / os.fsdecode(name)).read_text() == "egret"


class SmallSandbox(FolderSandbox):
    """A sandbox whose commands may use little memory."""

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run it with 600,000 KiB of address space."""
        return super().execute(f"ulimit -v 600000; {command}", timeout=timeout)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS enforces no `ulimit -v`")
def test_files_larger_than_the_memory_are_handled(tmp_path: Path) -> None:
    """A page of it is read, an edit is refused, and a search names it and finds the others."""
    sandbox = SmallSandbox(tmp_path)
    sandbox.write("/small.txt", "heron")
    with (tmp_path / "large.txt").open("wb") as file:
        file.write(b"a heron\n")
        file.truncate(1 << 30)

    page = sandbox.read("/large.txt", limit=1)
    assert page.file_data is not None
    assert page.file_data["content"] == "a heron\n"
    long_line = sandbox.read("/large.txt", offset=1)
    assert long_line.file_data is not None
    assert long_line.file_data["content"].endswith("such as `cut -c`.]")
    assert "too large" in (sandbox.edit("/large.txt", "heron", "egret").error or "")
    found = sandbox.grep("heron")
    assert found.error is None
    assert [match["path"] for match in found.matches or []] == ["/small.txt"]
    assert found.skipped == [{"path": "/large.txt"}]


def test_a_search_passes_over_what_no_one_wrote_unless_it_is_asked(sandbox: FolderSandbox) -> None:
    """The packs of a repository are most of its bytes, and no text."""
    sandbox.grep_exclude_dirs = (".git", "node_modules")
    for path in ("/a.js", "/.git/config", "/x/node_modules/b.js"):
        sandbox.write(path, "needle")

    assert [m["path"] for m in sandbox.grep("needle").matches or []] == ["/a.js"]
    asked = sandbox.grep("needle", "/.git")
    assert [m["path"] for m in asked.matches or []] == ["/.git/config"]


def test_links_lead_no_search_out_of_its_folder(sandbox: FolderSandbox, tmp_path: Path) -> None:
    """And a delete takes the link, not what it leads to."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle", encoding="utf-8")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file.txt").symlink_to(outside / "secret.txt")
    os.mkfifo(tmp_path / "pipe.txt")

    assert sandbox.grep("needle").matches == []
    assert sandbox.glob("**/*.txt").matches == []
    assert sandbox.delete("/link").error is None
    assert (outside / "secret.txt").exists()


def test_the_root_is_not_deleted(sandbox: FolderSandbox) -> None:
    """However it is written."""
    sandbox.write("/a.txt", "x")

    for path in ("/", "//", "/./", ""):
        assert "root" in (sandbox.delete(path).error or "")
    assert sandbox.read("/a.txt").error is None


def test_a_write_over_a_folder_is_refused(sandbox: FolderSandbox) -> None:
    """Before anything is uploaded."""
    sandbox.write("/d/a.txt", "x")

    assert "directory" in (sandbox.write("/d", "x").error or "")
    assert sandbox.write("/d/a.txt/b.txt", "x").error


LINES = st.text(st.sampled_from("ab\n\r \u2028"), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=LINES, old=LINES.filter(bool), new=LINES, everywhere=st.booleans())
@example(text="a\r\n", old="\n\n", new="b", everywhere=True)
@example(text="a\r\nb\nc\n", old="b\nc", new="b\nc\nd", everywhere=False)
def test_an_edit_over_there_does_what_an_edit_here_does(
    text: str, old: str, new: str, *, everywhere: bool
) -> None:
    """One meaning of an edit, though the program brings its own."""
    here = edit_text(text, old, new, replace_all=everywhere)

    there, count = script.edit(text, old, new, everywhere=everywhere)

    assert there == (None if isinstance(here, str) else here[0])
    assert isinstance(here, str) or count == here[1]


def test_edits_of_different_processes_are_all_there(tmp_path: Path) -> None:
    """Nothing here holds them apart but the program over there."""
    file = tmp_path / "a.txt"
    file.write_text("\n".join(f"<{n}>" for n in range(12)), encoding="utf-8")
    commands = [
        errand("python3", "edit", str(file), f"<{n}>", f"<{n}> done", "one") for n in range(12)
    ]
    started = [
        subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE) for command in commands
    ]

    assert [json.loads(process.communicate()[0]) for process in started] == [{"count": 1}] * 12
    assert file.read_text(encoding="utf-8") == "\n".join(f"<{n}> done" for n in range(12))


def test_a_whole_machine_may_be_a_sandbox(sandbox: FolderSandbox) -> None:
    """As in a container of its own, `/` is `/`; a search without a path begins at home."""
    home, sandbox.root = sandbox.root, "/"
    sandbox.home = home
    path = f"{home}/d/a.txt"

    assert sandbox.write(path, "needle").path == path
    assert sandbox.edit(path, "needle", "needle " * 9_000).error is None
    assert [info["path"] for info in sandbox.ls(f"{home}/d").entries or []] == [path]
    assert [match["path"] for match in sandbox.grep("needle").matches or []] == [path]
    assert [info["path"] for info in sandbox.glob("*.txt").matches or []] == [path]
    assert [info["path"] for info in sandbox.glob("d/*.txt", home).matches or []] == [path]
    assert sandbox.delete(f"{home}/d").error is None
    assert not list(Path("/tmp").glob(".thalweg_edit_*"))  # noqa: S108  # where they were


def test_the_program_needs_no_new_python() -> None:
    """Sandboxes are older than their hosts: it compiles as Python 3.8 does."""
    source = Path(script.__file__).read_text(encoding="utf-8")

    ast.parse(source, feature_version=(3, 8))
    imported = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported <= set(sys.stdlib_module_names)


class Scripted(BaseSandbox):
    """Returns the answers that it was made with."""

    def __init__(self, *answers: ExecuteResponse) -> None:
        self.answers = list(answers)

    @property
    def id(self) -> str:
        """Name it."""
        return "scripted"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Return the next answer."""
        del command, timeout
        return self.answers.pop(0)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Take nothing."""
        del files
        return []

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Return nothing."""
        del paths
        return []


def test_an_answer_that_cannot_be_read_is_never_an_empty_result() -> None:
    """A model would conclude that there is nothing."""
    for output in ("Traceback: boom", "[1, 2]", '{"strange": 1}', "7"):
        answer = ExecuteResponse(output, 0)
        assert Scripted(answer).ls("/").error
        assert "unexpected" in (Scripted(answer).read("/a").error or "")
        assert "unexpected" in (Scripted(answer).edit("/a", "x", "y").error or "")
        assert "unexpected" in (Scripted(answer).glob("*").error or "")
        assert Scripted(answer).grep("x").error
    failed = ExecuteResponse("OCI runtime exec failed", 126)
    assert Scripted(failed).grep("x", "/d").error == "Path '/d': OCI runtime exec failed"
    assert "exit code 137" in (Scripted(ExecuteResponse("", 137)).glob("*").error or "")
    assert "no response" in (Scripted(ExecuteResponse("", 0)).write("/a", "x").error or "")
    contradiction = json.dumps({"content": "x", "start_line": 3, "end_line": 1})
    assert "1 <= start_line" in (Scripted(ExecuteResponse(contradiction, 0)).read("/a").error or "")


def test_output_that_was_cut_on_its_way_is_told_as_cut() -> None:
    """The torn line at its end is nobody's file."""
    whole = json.dumps({"path": "/a.py", "line": 1, "text": "x"})
    torn = ExecuteResponse(f'{whole}\n{{"path": "/b', 0, truncated=True)

    globbed = Scripted(torn).glob("*")
    assert [info["path"] for info in globbed.matches or []] == ["/a.py"]
    assert (globbed.truncated, globbed.truncation_reason) == (True, "transport")
    grepped = Scripted(torn).grep("x")
    assert (len(grepped.matches or []), grepped.truncated) == (1, True)


def test_matches_as_grep_prints_them_are_understood() -> None:
    """For who overrides what a search runs."""
    printed = ExecuteResponse("/a:b.py\x0012:x: y\n/c\x003:\nstrange", 0)

    assert Scripted(printed).grep("x").matches == [
        {"path": "/a:b.py", "line": 12, "text": "x: y"},
        {"path": "/c", "line": 3, "text": ""},
    ]


class Awaited(FolderSandbox):
    """Has an awaited `execute`, and another that must not be called."""

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Refuse."""
        del timeout
        raise AssertionError(command)

    async def aexecute(
        self,
        command: str,
        *,
        timeout: int | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteResponse:
        """Run it all the same."""
        await asyncio.sleep(0)
        return super().execute(command, timeout=timeout)


def test_awaited_calls_are_awaited_all_the_way(tmp_path: Path) -> None:
    """An asynchronous client remains asynchronous."""

    async def use() -> None:
        sandbox = Awaited(tmp_path)
        assert (await sandbox.awrite("/a.txt", "one")).error is None
        assert (await sandbox.aedit("/a.txt", "one", "x" * 60_000)).error is None
        assert (await sandbox.aread("/a.txt")).error is None
        assert len((await sandbox.als("/")).entries or []) == 1
        assert len((await sandbox.agrep("xxx")).matches or []) == 1
        assert len((await sandbox.aglob("*")).matches or []) == 1
        done = await sandbox.aexecute_with_offload("echo x", "/out", max_inline_bytes=5)
        assert done.response.output == "x\n"
        assert (await sandbox.adelete("/a.txt")).error is None

    asyncio.run(use())


def test_a_listing_that_was_cut_and_a_command_that_was_killed_are_reported() -> None:
    """Neither looks like a whole folder or an empty one."""
    cut = as_ls(ExecuteResponse('{"path": "/a"}', 0, truncated=True), "/", str)
    killed = as_ls(ExecuteResponse("", 137), "/", str)

    assert [one["path"] for one in cut.entries or []] == ["/a"]
    assert "only the first 1 entries" in (cut.error or "")
    assert "exit code 137" in (killed.error or "")
    for end in ("", '{"path": "/b', "Killed"):
        half = as_ls(ExecuteResponse('{"path": "/a"}\n' + end, 137), "/", str)
        assert [one["path"] for one in half.entries or []] == ["/a"]
        assert "only the first 1 entries" in (half.error or "")
    missing = as_ls(ExecuteResponse("sh: python3: not found", 127), "/", str)
    assert "python3: not found" in (missing.error or "")
    assert as_ls(ExecuteResponse("", 0), "/", str).error is None


class Accepting(Scripted):
    """Accepts every upload."""

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Report that each was taken."""
        return [FileUploadResponse(path) for path, _ in files]


def test_a_transport_without_exit_codes_is_no_failure() -> None:
    unknown = ExecuteResponse(output="", exit_code=None)
    assert Accepting(unknown).write("/a.txt", "text").error is None
    assert Scripted(unknown).delete("/a.txt").error is None


def test_new_lines_end_as_the_line_in_which_they_are_put() -> None:
    mixed = "one\r\ntwo\nthree\nfour"
    assert edit_text(mixed, "two", "2\n2") == ("one\r\n2\n2\nthree\nfour", 1)
    assert edit_text(mixed, "one", "1\n1") == ("1\r\n1\r\ntwo\nthree\nfour", 1)
    assert edit_text(mixed, "four", "4\n4") == ("one\r\ntwo\nthree\n4\r\n4", 1)


def test_an_edit_of_many_matches_in_one_line_ends() -> None:
    """Its cost grows with the file, not with its square."""
    line, edited = "ab" * 60_000 + "\r\n", "b\r\nb" * 60_000 + "\r\n"
    assert edit_text(line, "a", "b\n", replace_all=True) == (edited, 60_000)
    assert script.edit(line, "a", "b\n", everywhere=True) == (edited, 60_000)
    assert script.edit("a", "a", "b\n", everywhere=True) == ("b\n", 1)


def test_a_deletion_of_nothing_is_not_found_without_exit_codes(tmp_path: Path) -> None:
    """The output of the command decides."""

    class Codeless(FolderSandbox):
        def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
            return replace(super().execute(command, timeout=timeout), exit_code=None)

    (tmp_path / "a.txt").touch()
    assert Codeless(tmp_path).delete("/none.txt").error == "Error: '/none.txt' not found"
    assert Codeless(tmp_path).delete("/a.txt").error is None
