"""Documents become text in a process of its own, and nothing they do reaches ours."""

import asyncio
import os
import textwrap
from pathlib import Path

import pytest

from core_tests.documents import SAMPLES, WORDS, pdf
from thalweg.engine.extras import install_command
from thalweg_server.uploads.converting import Converted, Converter
from thalweg_server.uploads.intake import KINDS, UploadPolicy, ending_of

MIB = 1 << 20


def convert(
    name: str, content: bytes, policy: UploadPolicy | None = None, child: str | None = None
) -> Converted:
    async def converted() -> Converted:
        made = policy or UploadPolicy()
        converter = Converter(made) if child is None else Converter(made, child=child)
        return await converter.convert(KINDS[ending_of(name)], content)

    return asyncio.run(converted())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_document_becomes_text(name: str) -> None:
    """Of every kind that comes in."""
    converted = convert(name, SAMPLES[name])

    assert converted.note == ""
    assert converted.text is not None
    assert WORDS in converted.text


@pytest.mark.parametrize("name", ["birds.xlsx", "table.csv"])
def test_a_table_becomes_a_table(name: str) -> None:
    """In Markdown."""
    text = convert(name, SAMPLES[name]).text
    assert text is not None
    assert "| --- |" in text


def test_what_is_text_already_is_left_alone() -> None:
    """And so are images."""
    assert convert("a.md", b"# hi") == Converted(None)
    assert convert("a.png", b"x") == Converted(None)


@pytest.mark.parametrize(
    "content", [b"%PDF-1.4\n", pdf()[:300], b"%PDF-1.7\n" + os.urandom(5_000), b"%PDF-1.4\n%%EOF"]
)
def test_a_damaged_document_has_no_text_and_says_so(content: bytes) -> None:
    """Nothing is raised."""
    converted = convert("a.pdf", content)
    assert converted.text is None
    assert "no text" in converted.note


def test_a_document_without_words_says_so() -> None:
    """A scan has a picture of words."""
    assert "no text in it" in convert("a.pdf", pdf("")).note


def test_a_long_text_is_cut_and_that_is_said() -> None:
    """Between characters."""
    page = "<p>" + "ü" * 3_000 + "</p>"
    converted = convert("a.html", page.encode(), UploadPolicy(max_text_bytes=1_001))
    assert converted.text is not None
    assert len(converted.text.encode()) == 1_000
    assert "first 1,001 bytes" in converted.note


def test_no_conversion_where_none_is_wanted() -> None:
    """The note names the setting."""
    assert "uploads: convert" in convert("a.pdf", pdf(), UploadPolicy(convert=False)).note


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is kept all the same."""
    monkeypatch.setattr("thalweg_server.uploads.converting.can_convert", lambda: False)
    converted = convert("a.pdf", pdf())
    assert converted.text is None
    assert install_command("documents") in converted.note


# What a hostile document would make of the process that reads it.
HANGS = "import time\nwhile True: time.sleep(1)"
SPINS = "while True: pass"
IGNORES = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM): signal.signal(number, signal.SIG_IGN)
while True: time.sleep(1)
"""
CRASHES = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
FLOODS = """
import sys
while True: sys.stdout.buffer.write(b'x' * 65536)
"""


@pytest.fixture
def child(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return a program that does something else than convert."""
    program = tmp_path / "child.py"
    program.write_text(textwrap.dedent(request.param))
    return str(program)


@pytest.mark.parametrize(
    "child", [HANGS, SPINS, IGNORES], indirect=True, ids=["hangs", "spins", "ignores"]
)
def test_what_takes_too_long_is_killed(child: str) -> None:
    """Any such child process is killed; nothing of it remains."""
    converted = convert("a.pdf", pdf(), UploadPolicy(convert_timeout_s=0.2), child)

    assert (converted.text, "exceeded 0.2 s" in converted.note) == (None, True)


@pytest.mark.parametrize("child", [CRASHES], indirect=True)
def test_a_crash_is_told(child: str) -> None:
    """A crash affects no other conversion."""
    assert "conversion failed" in convert("a.pdf", pdf(), child=child).note


@pytest.mark.parametrize("child", [FLOODS], indirect=True)
def test_a_flood_of_text_is_not_kept_in_memory(child: str) -> None:
    """The process is ended when its output exceeds the limit."""
    converted = convert("a.pdf", pdf(), UploadPolicy(max_text_bytes=MIB), child)
    assert converted.text is None
    assert "conversion failed" in converted.note


OUR_KEY = "THALWEG_TEST_KEY"
LOOKS = """
import os, sys
print(sorted(os.environ), os.getcwd(), os.listdir(), sys.flags.isolated, sys.path)
"""


@pytest.mark.parametrize("child", [LOOKS], indirect=True)
def test_a_conversion_sees_no_keys_and_no_files(
    child: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither an environment nor the folder we are in."""
    monkeypatch.setenv(OUR_KEY, "sk-1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    said = convert("a.pdf", pdf(), child=child).text or ""

    assert OUR_KEY not in said
    assert "thalweg-convert-" in said
    assert " [] 1 " in said


TAKES = """
import sys
sys.path.insert(0, {folder!r})
import child
child._limit(20.0, 64 << 20)
try:
    held = bytearray(512 << 20)
except MemoryError:
    print("no memory")
"""


def test_the_limit_of_memory_holds(tmp_path: Path) -> None:
    """Beyond what the library itself takes."""
    from thalweg_server.uploads import child as real  # noqa: PLC0415 (a program, and no module)

    program = tmp_path / "own.py"
    program.write_text(TAKES.format(folder=str(Path(real.__file__).parent)))
    assert convert("a.pdf", pdf(), child=str(program)).text == "no memory\n"


# Sends its document back; it notes in the folder that the document names when it begins and ends.
NOTES = """
import pathlib, sys, time
folder, owner = sys.stdin.read().split()
own = pathlib.Path(folder) / owner
if own.exists(): sys.exit(9)
own.touch()
if len(list(pathlib.Path(folder).iterdir())) > 2: sys.exit(8)
time.sleep(0.02)
own.unlink()
print(owner)
"""


@pytest.mark.parametrize("child", [NOTES], indirect=True)
def test_of_an_owner_one_document_is_converted_at_a_time(child: str, tmp_path: Path) -> None:
    """Two at once in all; an owner with many documents does not delay another."""
    (tmp_path / "running").mkdir()
    done: list[str] = []

    async def many() -> None:
        converter = Converter(UploadPolicy(conversions=2), child=child)

        async def one(owner: str) -> None:
            content = f"{tmp_path / 'running'} {owner}".encode()
            converted = await converter.convert(KINDS["pdf"], content, owner=owner)
            assert converted.text == f"{owner}\n", converted.note
            done.append(owner)

        cancelled = asyncio.create_task(one("ada"))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(*map(one, ["ada"] * 6 + ["bob", "cy"]))

    asyncio.run(many())
    assert sorted(done) == ["ada"] * 6 + ["bob", "cy"]
    assert done.index("bob") < 4
