"""What the file tools answer, over a folder on disk."""

from pathlib import Path
from typing import Any

import pytest

from agent_tests.unit.agent.tools.calls import WAYS, Shelf, Way, call
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import (
    FileDownloadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg_agent.middleware.filesystem import (
    EMPTY_CONTENT_WARNING,
    GLOB_TRUNCATION_NOTE,
    GLOB_UNREADABLE_NOTE,
    GREP_TRUNCATION_NOTE,
    FilesystemMiddleware,
)
from thalweg_agent.tools import viewing


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    """Call a tool the blocking and the awaited way."""
    found: Way = request.param
    return found


@pytest.fixture
def tools(tmp_path: Path) -> FilesystemMiddleware:
    """Return tools over a folder with a few files."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("import os\nprint(os.name)\n")
    (tmp_path / "notes.md").write_text("one\ntwo\nthree\n")
    return FilesystemMiddleware(backend=FilesystemBackend(tmp_path, virtual_mode=True))


def test_a_folder_is_listed(tools: FilesystemMiddleware, way: Way) -> None:
    """Paths are absolute, folders have a trailing slash."""
    assert call(tools, "ls", way=way, path="/").content == "['/notes.md', '/src/']"


def test_a_file_is_written_edited_read_and_deleted(tools: FilesystemMiddleware, way: Way) -> None:
    """Each answer states what was done, to which path."""
    told = [
        call(tools, "write_file", way=way, file_path="new/a.txt", content="x = 1\n").content,
        call(
            tools, "edit_file", way=way, file_path="/new/a.txt", old_string="1", new_string="2"
        ).content,
        call(tools, "read_file", way=way, file_path="/new/a.txt").content,
        call(tools, "delete", way=way, file_path="/new").content,
        call(tools, "read_file", way=way, file_path="/new/a.txt").content,
    ]

    assert told == [
        "Updated file /new/a.txt",
        "Successfully replaced 1 instance(s) of the string in '/new/a.txt'",
        "@@ lines 1-1 of 1 @@\nx = 2",
        "Deleted /new",
        "Error: File '/new/a.txt' not found",
    ]


def test_a_file_is_read_by_pages(tools: FilesystemMiddleware, way: Way) -> None:
    """The status line states where the next one begins."""
    first = call(tools, "read_file", way=way, file_path="/notes.md", limit=2)
    second = call(tools, "read_file", way=way, file_path="/notes.md", offset=2)

    assert first.content == "@@ lines 1-2 of 3 | next offset 2 @@\none\ntwo"
    assert second.content == "@@ lines 3-3 of 3 @@\nthree"


def test_an_odd_window_is_explained(tools: FilesystemMiddleware, way: Way) -> None:
    """The request is impossible, and the answer states what was done, or what to do."""
    before = call(tools, "read_file", way=way, file_path="/notes.md", offset=-5, limit=1)
    nothing = call(tools, "read_file", way=way, file_path="/notes.md", limit=0)
    past = call(tools, "read_file", way=way, file_path="/notes.md", char_offset=4)
    none = call(tools, "read_file", way=way, file_path="/notes.md", char_limit=0)

    assert str(before.content).startswith("[Requested offset -5 is before the start of the file")
    assert "no lines were read because `limit` was 0" in str(nothing.content)
    assert past.status == none.status == "error"
    assert "past the end of line 1, which has 3 characters" in str(past.content)
    assert "char_limit must be 1 or more, got 0" in str(none.content)


def test_an_empty_file_is_told_from_a_missing_one(tools: FilesystemMiddleware, way: Way) -> None:
    """By a reminder, which is no error."""
    call(tools, "write_file", way=way, file_path="/empty", content="")

    assert call(tools, "read_file", way=way, file_path="/empty").content == EMPTY_CONTENT_WARNING
    assert call(tools, "read_file", way=way, file_path="/none").status == "error"


def test_a_page_that_is_too_long_ends_between_lines(way: Way) -> None:
    """It states where to read on."""
    text = "".join(f"line {n} {'x' * 60}\n" for n in range(100))
    tools = FilesystemMiddleware(backend=Shelf({"/f": text}), tool_token_limit_before_evict=200)

    told = str(call(tools, "read_file", way=way, file_path="/f").content)

    notice, status, *shown = told.split("\n")
    assert "[Output was truncated due to size limits. Read on in /f" in notice
    assert (
        status
        == f"@@ lines 1-{len(shown)} of 100 | next offset {len(shown)} | truncated due to size @@"
    )
    assert len(told) <= 800
    assert len(told) + 70 > 800


@pytest.mark.parametrize("can_download", [True, False])
def test_a_line_too_long_for_the_way_from_a_sandbox_is_read_to_its_end(
    way: Way, *, can_download: bool
) -> None:
    """Where the file itself can be fetched; else the model sees that something is missing."""

    class Remote(Shelf):
        def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
            read = super().read(file_path, offset, limit)
            assert read.file_data is not None
            read.file_data["content"] = (
                read.file_data["content"][:100] + "\n\n[Output was truncated due to size limits. …]"
            )
            return read

        def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
            if not can_download:
                raise NotImplementedError
            return [FileDownloadResponse(p, self.files[p].encode()) for p in paths]

    text = "".join(f"{n:04}," for n in range(2_000))
    tools = FilesystemMiddleware(backend=Remote({"/long.json": text}))

    told = call(
        tools,
        "read_file",
        way=way,
        file_path="/long.json",
        char_offset=9_000 if can_download else 0,
    )

    body = str(told.content).partition(" @@\n")[2]
    assert body == text[9_000:] if can_download else "[Output was truncated" in body


def test_an_image_is_an_image(tmp_path: Path, way: Way) -> None:
    """And so is a document a document: standard blocks, which every provider's client takes."""
    tools = FilesystemMiddleware(backend=FilesystemBackend(tmp_path, virtual_mode=True))
    for name in ("a.png", "b.pdf", "c.mp3"):
        (tmp_path / name).write_bytes(b"\x89bytes")

    told = {
        n: call(tools, "read_file", way=way, file_path=n) for n in ("/a.png", "/b.pdf", "/c.mp3")
    }

    assert [answer.content for answer in told.values()] == [
        [{"type": kind, "base64": "iWJ5dGVz", "mime_type": mime_type}]
        for kind, mime_type in (
            ("image", "image/png"),
            ("file", "application/pdf"),
            ("audio", "audio/mpeg"),
        )
    ]
    assert told["/a.png"].additional_kwargs == {
        "read_file_path": "/a.png",
        "read_file_media_type": "image/png",
    }


def test_bytes_that_are_nothing_known_are_told_of(tmp_path: Path, way: Way) -> None:
    """No provider takes them, so the request that brings them would be refused."""

    class Kept(Shelf):
        def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
            del file_path, offset, limit
            return ReadResult(file_data={"content": "//4AAQ==" * 4, "encoding": "base64"})

    (tmp_path / "core.blob7").write_bytes(b"\xff\xfe\x00\x01" * 30)
    disk = FilesystemMiddleware(backend=FilesystemBackend(tmp_path, virtual_mode=True))
    kept = FilesystemMiddleware(backend=Kept())

    undecodable = call(disk, "read_file", way=way, file_path="/core.blob7")
    bytes_ = call(kept, "read_file", way=way, file_path="/core.blob7")

    assert undecodable.status == "error"
    assert "The file is not text, image or document. If there is an" in str(undecodable.content)
    assert bytes_.status == "success"
    assert str(bytes_.content).startswith("/core.blob7 is a binary file of 24 bytes")


def test_a_medium_that_is_too_large_is_refused(
    tmp_path: Path, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its size, before it fills the context and is refused by every provider."""
    monkeypatch.setattr(viewing, "MAX_MEDIA_BYTES", 1_000)
    (tmp_path / "a.png").write_bytes(b"\x89" * 1_200)
    tools = FilesystemMiddleware(backend=FilesystemBackend(tmp_path, virtual_mode=True))

    told = call(tools, "read_file", way=way, file_path="/a.png")

    assert told.status == "error"
    assert str(told.content).startswith("Error: /a.png has 1200 bytes, and at most 1000 can be")


def test_a_path_that_climbs_never_reaches_the_backend(
    tools: FilesystemMiddleware, way: Way
) -> None:
    """Every tool refuses it."""
    climbing = {
        "ls": {"path": "/src/../.."},
        "read_file": {"file_path": "../etc/passwd"},
        "write_file": {"file_path": "/a/..\\..\\b", "content": "x"},
        "edit_file": {"file_path": "~/x", "old_string": "a", "new_string": "b"},
        "delete": {"file_path": "/.."},
        "glob": {"pattern": "*", "path": "/.."},
        "grep": {"pattern": "x", "path": "/.."},
    }

    told = {name: call(tools, name, way=way, **args) for name, args in climbing.items()}

    assert {answer.status for answer in told.values()} == {"error"}
    assert all("Path traversal not allowed" in str(answer.content) for answer in told.values())


def test_files_are_found_by_path_and_by_text(tools: FilesystemMiddleware, way: Way) -> None:
    """In the shapes that the model asks for."""
    assert call(tools, "glob", way=way, pattern="*.py").content == "['/src/main.py']"
    assert call(tools, "glob", way=way, pattern="*.rs").content == "No files found"
    assert call(tools, "grep", way=way, pattern="os").content == "/src/main.py"
    counted = call(tools, "grep", way=way, pattern="os", output_mode="count")
    assert counted.content == "/src/main.py: 2"
    shown = call(tools, "grep", way=way, pattern="two", output_mode="content")
    assert shown.content == "/notes.md:\n  2: two"
    assert call(tools, "grep", way=way, pattern="zebra").content == "No matches found"
    hinted = call(tools, "grep", way=way, pattern="one|two")
    assert "literal text, not regex" in str(hinted.content)


def test_a_match_in_a_very_long_line_is_shown_where_it_is(way: Way) -> None:
    """With the place, so that the line can be read on from there."""

    class Searched(Shelf):
        def grep(self, *args: object, **named: object) -> GrepResult:
            del args, named
            text = "x" * 100_000 + "needle" + "y" * 100_000
            return GrepResult(matches=[{"path": "/min.js", "line": 3, "text": text}])

    tools = FilesystemMiddleware(backend=Searched())

    told = str(call(tools, "grep", way=way, pattern="needle", output_mode="content").content)

    assert "needle" in told
    assert len(told) < 2_500
    assert "from character 99500 of 200006 in this line" in told
    assert "offset 2" in told


def test_a_search_that_stopped_early_says_so(way: Way) -> None:
    """It states whether another pattern would help."""

    class Partial(Shelf):
        reason: Any = "budget"

        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            del pattern, path
            return GlobResult(
                matches=[{"path": "/a"}], truncated=True, truncation_reason=self.reason
            )

        def grep(self, *args: object, **named: object) -> GrepResult:
            del args, named
            return GrepResult(matches=[{"path": "/a", "line": 1, "text": "x"}], truncated=True)

    class Unreadable(Partial):
        reason = "unreadable"

    tools, walled = (FilesystemMiddleware(backend=b) for b in (Partial(), Unreadable()))

    assert call(tools, "glob", way=way, pattern="*").content == f"['/a']\n\n{GLOB_TRUNCATION_NOTE}"
    assert GLOB_UNREADABLE_NOTE in str(call(walled, "glob", way=way, pattern="*").content)
    assert call(tools, "grep", way=way, pattern="x").content == f"/a\n\n{GREP_TRUNCATION_NOTE}"


def test_what_was_found_before_an_error_is_shown(way: Way) -> None:
    """The answer is an error all the same."""

    class Broken(Shelf):
        def grep(self, *args: object, **named: object) -> GrepResult:
            del args, named
            found = GrepResult(matches=[{"path": "/a", "line": 1, "text": "x"}])
            return GrepResult(error="2 files could not be read", matches=found.matches)

        def ls(self, path: str) -> LsResult:
            del path
            return LsResult(error="/b cannot be looked at", entries=[{"path": "/a"}])

    tools = FilesystemMiddleware(backend=Broken())

    told, listed = call(tools, "grep", way=way, pattern="x"), call(tools, "ls", way=way, path="/")

    assert told.status == listed.status == "error"
    assert told.content == "2 files could not be read\n\nPartial matches:\n/a"
    assert listed.content == ("Error: /b cannot be looked at\n\nThe rest of the folder:\n['/a']")


def test_matches_are_bounded_by_the_call_or_else_by_the_agent(
    tools: FilesystemMiddleware, tmp_path: Path, way: Way
) -> None:
    """A backend of the time before there was a bound is cut, too."""

    class Old(Shelf):
        def grep(  # type: ignore[override]
            self, pattern: str, path: str | None = None, glob: str | None = None
        ) -> GrepResult:
            del pattern, path, glob
            return GrepResult(matches=[{"path": f"/{n}", "line": 1, "text": "x"} for n in range(9)])

    backend = FilesystemBackend(tmp_path, virtual_mode=True)
    one = FilesystemMiddleware(backend=backend, grep_max_count=1)
    old = FilesystemMiddleware(backend=Old(), grep_max_count=2)

    assert call(one, "grep", way=way, pattern="o", output_mode="count").content == (
        f"/notes.md: 1\n\n{GREP_TRUNCATION_NOTE}"
    )
    more = call(one, "grep", way=way, pattern="o", output_mode="count", max_count=50)
    assert GREP_TRUNCATION_NOTE not in str(more.content)
    assert call(old, "grep", way=way, pattern="x").content == f"/0\n/1\n\n{GREP_TRUNCATION_NOTE}"
    assert call(tools, "grep", way=way, pattern="o").status == "success"


def test_a_long_listing_is_cut(way: Way) -> None:
    """It is cut at a limit, and a text reports it."""

    class Wide(Shelf):
        def ls(self, path: str) -> LsResult:
            del path
            return LsResult(entries=[{"path": f"/{n:05}-{'x' * 50}"} for n in range(5_000)])

    told = str(call(FilesystemMiddleware(backend=Wide()), "ls", way=way, path="/").content)

    assert len(told) <= 80_000
    assert told.endswith("[results truncated, try being more specific with your parameters]']")


def test_what_a_backend_raises_is_told_to_the_model(way: Way) -> None:
    """A run does not die of a disk that is full, or of a method that is not there."""

    class Full(Shelf):
        def write(self, file_path: str, content: str) -> WriteResult:
            del file_path, content
            raise OSError(28, "No space left on device")

        def glob(self, pattern: str, path: str | None = None) -> GlobResult:
            del pattern, path
            raise ValueError("odd")

    tools = FilesystemMiddleware(backend=Full())

    full = call(tools, "write_file", way=way, file_path="/a", content="x")
    odd = call(tools, "glob", way=way, pattern="*")
    missing = call(tools, "ls", way=way, path="/")

    assert full.content == "Error: write_file failed: [Errno 28] No space left on device"
    assert odd.content == "Error: glob failed: odd"
    assert missing.content == "Error: this backend cannot ls. Use another tool."
    assert {full.status, odd.status, missing.status} == {"error"}


def test_a_search_names_files_that_are_too_large_for_it(tmp_path: Path, way: Way) -> None:
    """Else a model would conclude that the text is not there."""
    (tmp_path / "large.log").write_text("needle" + "x" * (1 << 20))
    small = FilesystemBackend(tmp_path, max_file_size_mb=1)
    answer = call(FilesystemMiddleware(backend=small), "grep", way=way, pattern="needle")
    assert answer.status == "success"
    assert str(answer.content).startswith("No matches found\n\nNote: too large to be searched")
    assert "/large.log" in str(answer.content)
