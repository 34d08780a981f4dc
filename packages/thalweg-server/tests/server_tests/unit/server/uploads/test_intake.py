"""What may come in, and what may not and why."""

import io
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_tests.documents import SAMPLES, WORDS, docx, lying_zip, packed, pdf, png
from thalweg.errors import UploadRefusedError
from thalweg_server.uploads.intake import UploadPolicy, admitted

POLICY = UploadPolicy()
ELF = b"\x7fELF\x02\x01\x01" + bytes(60)
EXE = b"MZ\x90\0\x03" + bytes(60)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_document_is_what_its_name_says(name: str) -> None:
    """Of each kind of which text is made."""
    assert admitted(name, SAMPLES[name], POLICY).converts


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.png", png(), "image/png"),
        ("A.PNG", png(), "image/png"),
        ("a.zip", packed({"a/b.txt": "x"}), "application/zip"),
        ("renamed.zip", docx(), "application/zip"),
        ("Makefile", b"all:\n\tcc a.c\n", "text/plain"),
        ("main.f90", b"program a\nend\n", "text/plain"),
        ("latin.txt", "grün".encode("latin-1"), "text/plain"),
        ("wide.csv", "a;ü".encode("utf-16"), "text/csv"),
        ("run.sh", b"#!/bin/sh\necho hi\n", "text/plain"),
        ("a.jpg", b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg"),
        ("a.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(9), "video/mp4"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"),
         "application/msword"),
    ],
)  # fmt: skip
def test_what_agrees_with_its_name_comes_in(name: str, content: bytes, media_type: str) -> None:
    """Text by any name that is nothing else's."""
    assert admitted(name, content, POLICY).media_type == media_type


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"", "it is empty"),
        ("a.exe", b"text", "programs"),
        ("a.txt", ELF, "says text, its content is a program"),
        ("a.pdf", EXE, "says PDF, its content is a program"),
        ("tool", ELF, "has no ending, its content is a program"),
        ("a.png", b"<html><script>", "says PNG, its content is text"),
        ("a.pdf", docx(), "says PDF, its content is DOCX"),
        ("a.docx", pdf(), "says Word, its content is PDF"),
        ("a.docx", packed({"a.txt": "x"}), "says Word, its content is ZIP"),
        ("a.docx", docx(more={"word/vbaProject.bin": b"x"}), "an Office file with macros"),
        ("a.docm", docx(), "programs, or contain some"),
        ("a.xlsx", docx(), "says Excel, its content is DOCX"),
        ("a.zip", packed({"META-INF/MANIFEST.MF": "x"}), "a program"),
        ("a.txt", b"a\0b", "its content is bytes of an unknown type"),
        ("a.gz", b"\x1f\x8b\x08" + bytes(20), "an archive of another kind"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "an unknown kind"),
        ("a.html", png(), "says HTML, its content is PNG"),
    ],
)
def test_what_is_not_what_its_name_says_is_refused(name: str, content: bytes, problem: str) -> None:
    """With what is wrong, and what may come in."""
    with pytest.raises(UploadRefusedError) as refused:
        admitted(name, content, POLICY)

    assert problem in refused.value.problem
    assert refused.value.fix


def test_what_is_too_large_is_refused() -> None:
    """With the number."""
    with pytest.raises(UploadRefusedError, match="larger than 10 bytes"):
        admitted("a.txt", b"x" * 11, UploadPolicy(max_file_bytes=10))


def test_only_what_is_allowed_comes_in_where_that_is_said() -> None:
    """Files are allowed by their ending, with or without a dot, in upper or lower case."""
    policy = UploadPolicy(allowed=(".PDF", "md"))
    assert admitted("a.Pdf", pdf(), policy).title == "PDF"
    with pytest.raises(UploadRefusedError, match=r"endings: \.\.PDF, \.md"):
        admitted("a.txt", b"x", policy)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (packed({"a.txt": b"\0" * 3_000_000}), "-fold"),
        (packed({f"{n}.txt": "x" for n in range(60)}), "60 files"),
        (packed({f"{n}": WORDS * 40_000 for n in range(12)}, method=zipfile.ZIP_STORED), "unpacks"),
        (lying_zip(), "which is wrong"),
        (packed({"../../etc/cron.d/x": "x"}), "outside its folder"),
        (packed({"/etc/passwd": "x"}), "outside its folder"),
        (packed({"a\\..\\..\\b": "x"}), "outside its folder"),
        (b"PK\x03\x04" + bytes(100), "damaged"),
        (packed({"a.txt": "x" * 500}, method=zipfile.ZIP_LZMA), "damaged or encrypted"),
    ],
)  # fmt: skip
def test_a_hostile_archive_is_refused(content: bytes, problem: str) -> None:
    """One that explodes, lies about it, or reaches out of its folder."""
    policy = UploadPolicy(max_expanded_bytes=4_000_000, max_entries=50, max_expansion=200)
    with pytest.raises(UploadRefusedError) as refused:
        admitted("a.zip", content, policy)

    assert problem in refused.value.problem


def test_an_office_file_that_explodes_is_refused() -> None:
    """As any archive is."""
    content = docx(more={"word/media/image1.xml": b"<a>" * 2_000_000})
    with pytest.raises(UploadRefusedError, match="-fold"):
        admitted("a.docx", content, UploadPolicy())


def test_an_archive_with_a_link_in_it_is_refused() -> None:
    """Unpacking it would make one."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UploadRefusedError, match="outside its folder"):
        admitted("a.zip", made.getvalue(), POLICY)


ARCHIVES = (docx(), packed({"a/b.txt": "x" * 900}), packed({"a": WORDS}, method=zipfile.ZIP_STORED))


@given(
    st.sampled_from(ARCHIVES),
    st.lists(st.tuples(st.integers(0), st.integers(0, 20), st.binary(max_size=8)), max_size=4),
)
def test_a_damaged_archive_is_taken_or_refused(
    content: bytes, damages: list[tuple[int, int, bytes]]
) -> None:
    """With no other error, wherever bytes are changed, added or missing."""
    for place, missing, more in damages:
        at = place % (len(content) + 1)
        content = content[:at] + more + content[at + missing :]
    with suppress(UploadRefusedError):
        admitted("a.zip", content, POLICY)


def test_an_entry_with_a_name_that_is_no_text_is_refused() -> None:
    """Its mark says UTF-8."""
    content = packed({"\u00fc.txt": "x"}).replace("\u00fc".encode(), b"\xff\xff")
    with pytest.raises(UploadRefusedError, match="damaged"):
        admitted("a.zip", content, POLICY)


def test_an_entry_with_two_names_is_refused() -> None:
    """One in its header, another one in the directory."""
    content = packed({"a.txt": "x"}).replace(b"a.txt", b"b.txt", 1)
    with pytest.raises(UploadRefusedError, match="damaged"):
        admitted("a.zip", content, POLICY)
