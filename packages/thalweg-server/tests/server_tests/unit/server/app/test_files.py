"""The files of one owner's threads, on disk and in PostgreSQL."""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_tests.documents import WORDS, docx, pdf, png
from thalweg.errors import NoSuchFileError, StorageError, UploadRefusedError
from thalweg_server.app import files as files_module
from thalweg_server.app.files import ThreadFiles
from thalweg_server.uploads.base import Places
from thalweg_server.uploads.converting import Converter
from thalweg_server.uploads.disk import DiskPlaces, open_places
from thalweg_server.uploads.intake import UploadPolicy

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio alone: processes are its own."""
    return "asyncio"


@pytest.fixture(params=["disk", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """Return fresh, empty places."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    places = open_places(url=url, home=tmp_path)
    yield places
    places.close()


@pytest.fixture
def files(places: Places) -> ThreadFiles:
    """Return the files of one owner."""
    return ThreadFiles("ada", places)


async def test_an_upload_is_where_the_agent_sees_it(files: ThreadFiles) -> None:
    """An upload's text is next to it."""
    content = pdf()
    upload = await files.upload("t1", "report.pdf", content)

    assert (upload.name, upload.path) == ("report.pdf", "/uploads/report.pdf")
    assert (upload.size, upload.media_type) == (len(content), "application/pdf")
    assert upload.sha256 == hashlib.sha256(content).hexdigest()
    assert upload.text_path == "/uploads/report.pdf.md"
    assert upload.note == ""
    backend = files.backend("t1")
    assert WORDS in (backend.read("/uploads/report.pdf.md").file_data or {"content": ""})["content"]
    assert (await backend.adownload_files([upload.path]))[0].content == content
    assert await files.uploads("t1") == (upload,)
    assert await files.uploads("t2") == ()


async def test_a_name_that_is_taken_gets_a_number(files: ThreadFiles) -> None:
    """The file and its text get a number; the existing file is kept, and the sender is notified."""
    first = await files.upload("t1", "a.pdf", pdf())
    second = await files.upload("t1", "A.pdf", pdf("other words"))

    assert second.path == "/uploads/A (2).pdf"
    assert second.text_path == "/uploads/A (2).pdf.md"
    assert "stored as 'A (2).pdf'" in second.note
    assert await files.read("t1", first.path) == pdf()
    assert set(await files.uploads("t1")) == {first, second}


async def test_many_uploads_of_one_name_at_once_are_all_kept(files: ThreadFiles) -> None:
    """None writes over another."""
    sent = [f"text {n}".encode() for n in range(8)]
    uploads = await asyncio.gather(*(files.upload("t1", "a.txt", one) for one in sent))

    assert len({upload.path for upload in uploads}) == 8
    for upload, one in zip(uploads, sent, strict=True):
        assert await files.read("t1", upload.path) == one


async def test_a_refused_upload_leaves_nothing(files: ThreadFiles) -> None:
    """Neither file nor note."""
    for name, content in (("a.pdf", b"MZ\x90\0"), ("../a.txt", b"x"), ("a.txt", b"")):
        with pytest.raises(UploadRefusedError):
            await files.upload("t1", name, content)
    assert files.backend("t1").files(10) == []


async def test_a_file_above_the_limit_is_refused(places: Places) -> None:
    """By its size alone."""
    files = ThreadFiles("ada", places, policy=UploadPolicy(max_file_bytes=1_000))
    await files.upload("t1", "a.txt", b"x" * 1_000)
    with pytest.raises(UploadRefusedError, match="larger than 1,000 bytes"):
        await files.upload("t1", "a.txt", b"x" * 1_001)


async def test_a_thread_takes_so_many_files_and_bytes(places: Places) -> None:
    """Of one thread; what the agent wrote counts as bytes, and texts do not count as files."""
    policy = UploadPolicy(max_files=2, max_thread_bytes=5_000)
    files = ThreadFiles("ada", places, policy=policy)
    await files.upload("t1", "a.docx", docx())
    await files.upload("t1", "b.txt", b"x")
    with pytest.raises(UploadRefusedError, match="2 uploads already"):
        await files.upload("t1", "c.txt", b"x")
    await files.delete_upload("t1", "b.txt")
    files.backend("t1").write("/made.txt", "y" * 4_500)
    with pytest.raises(UploadRefusedError, match="the limit is 5,000"):
        await files.upload("t1", "c.txt", b"x" * 500)
    await files.upload("t2", "c.txt", b"x" * 500)


async def test_deleting_an_upload_deletes_its_text(files: ThreadFiles) -> None:
    """And nothing else; its name is free again."""
    await files.upload("t1", "a.docx", docx())
    await files.upload("t1", "b.docx", docx())
    await files.delete_upload("t1", "a.docx")

    assert [kept.path for kept in files.backend("t1").files(10)] == [
        "/uploads/b.docx",
        "/uploads/b.docx.md",
    ]
    with pytest.raises(NoSuchFileError):
        await files.delete_upload("t1", "a.docx")
    with pytest.raises(NoSuchFileError):
        await files.delete_upload("t1", "b.docx.md")
    assert (await files.upload("t1", "a.docx", docx())).path == "/uploads/a.docx"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../made.md", "x/../../made.md", "a\0", "/made.md"]
)
async def test_only_uploads_are_deleted(files: ThreadFiles, name: str) -> None:
    """The name of a file outside of the uploads is refused."""
    files.backend("t1").write("/made.md", "mine")
    files.backend("t1").write("/uploads/x/made.md", "mine")
    with pytest.raises(NoSuchFileError):
        await files.delete_upload("t1", name)
    assert len(files.backend("t1").files(10)) == 2


async def test_what_the_agent_changed_is_told_as_it_is_now(files: ThreadFiles) -> None:
    """A changed file is listed with its new checksum; a deleted file is missing."""
    await files.upload("t1", "a.docx", docx())
    await files.upload("t1", "b.txt", b"x")
    backend = files.backend("t1")
    backend.upload_files([("/uploads/a.docx", b"changed")])
    backend.delete("/uploads/b.txt")

    for _ in range(2):
        (upload,) = await files.uploads("t1")
        assert (upload.size, upload.text_path) == (7, "/uploads/a.docx.md")
        assert upload.sha256 == hashlib.sha256(b"changed").hexdigest()
        assert "changed after it was sent" in upload.note


async def test_artifacts_are_what_was_not_sent(files: ThreadFiles) -> None:
    """In all folders, by path, without the engine's own copies."""
    await files.upload("t1", "a.png", png())
    backend = files.backend("t1")
    for path in ("/report.md", "/charts/a.html", "/uploads.txt", "/large_tool_results/c1"):
        backend.write(path, "made")

    artifacts = await files.artifacts("t1")
    assert [one.path for one in artifacts.files] == ["/charts/a.html", "/report.md", "/uploads.txt"]
    assert artifacts.files[0].media_type == "text/html"
    assert not artifacts.truncated
    assert artifacts.files[1] == await files.stat("t1", "/report.md")


async def test_texts_of_a_state_are_bounded_and_readable(
    files: ThreadFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without files that cannot be read, are no text, or would exceed the limits."""
    backend, most = files.backend("t1"), files_module.MOST_TEXT_BYTES
    contents = {
        "/a.txt": b"\xff" * 9,
        "/b.txt": b"a\0b",
        "/c.txt": "\u00e9".encode(),
        "/d.txt": b"",
    }
    contents |= {"/e.txt": b"x", "/f.txt": b"x" * (most - 19), "/g.txt": b"x"}
    backend.upload_files([*contents.items()])
    read = type(backend).read_range

    def guarded(self: object, path: str, start: int, stop: int) -> bytes | None:
        if path == "/e.txt":
            raise StorageError("files", "Permission denied", "check its rights")
        return read(self, path, start, stop)  # type: ignore[arg-type]

    monkeypatch.setattr(type(backend), "read_range", guarded)
    texts = await files.texts("t1")
    assert {path: one["content"] for path, one in texts.items()} == {
        "/c.txt": "\u00e9",
        "/d.txt": "",
        "/g.txt": "x",
    }
    monkeypatch.setattr(files_module, "MOST_TEXTS", 2)
    assert set(await files.texts("t1")) == {"/c.txt", "/d.txt"}


async def test_a_part_of_a_file_is_read_without_the_rest(files: ThreadFiles) -> None:
    """By any path that names it."""
    files.backend("t1").write("/a/b.txt", "0123456789")
    assert await files.read("t1", "/a/b.txt", 2, 5) == b"234"
    assert await files.read("t1", "a//./b.txt", 8) == b"89"
    assert await files.read("t1", "/a/b.txt", 20, 30) == b""


@pytest.mark.parametrize("path", ["/nowhere", "/a", "/", "", "../../secret", "/nul\0", "/\ud800"])
async def test_what_is_not_there_is_told_as_that(files: ThreadFiles, path: str) -> None:
    """And so is what may not be asked for."""
    files.backend("t1").write("/a/b.txt", "x")
    with pytest.raises(NoSuchFileError):
        await files.read("t1", path)
    with pytest.raises(NoSuchFileError):
        await files.stat("t1", path)


async def test_an_upload_that_is_deleted_while_it_is_read_leaves_no_text(
    places: Places, tmp_path: Path
) -> None:
    """Its conversion may take a while."""
    child = tmp_path / "child.py"
    child.write_text("import time; time.sleep(0.5); print('text')")
    files = ThreadFiles("ada", places, converter=Converter(UploadPolicy(), child=str(child)))
    sending = asyncio.create_task(files.upload("t1", "a.pdf", pdf()))
    while not await files.uploads("t1"):  # noqa: ASYNC110 (nothing tells of it)
        await asyncio.sleep(0.01)
    await files.delete_upload("t1", "a.pdf")
    await sending
    assert files.backend("t1").files(10) == []


async def test_an_upload_does_not_go_through_a_link(tmp_path: Path) -> None:
    """A command of the agent may have put one in the way."""
    places = DiskPlaces(tmp_path / "files")
    files = ThreadFiles("ada", places)
    folder = places.backend("ada", "t1").folder
    folder.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "uploads").symlink_to(outside)
    with pytest.raises(UploadRefusedError):
        await files.upload("t1", "a.txt", b"x")
    assert list(outside.iterdir()) == []


async def test_a_hard_link_is_not_read(tmp_path: Path) -> None:
    """A hard link names a file that another user may own as well."""
    places = DiskPlaces(tmp_path / "files")
    files = ThreadFiles("ada", places)
    await ThreadFiles("bob", places).upload("t1", "secret.txt", b"heron")
    files.backend("t1").write("/own.txt", "mine")
    secret = places.backend("bob", "t1").folder / "uploads" / "secret.txt"
    os.link(secret, places.backend("ada", "t1").folder / "linked.txt")

    with pytest.raises(NoSuchFileError):
        await files.read("t1", "/linked.txt")
    assert [one.path for one in (await files.artifacts("t1")).files] == ["/own.txt"]
