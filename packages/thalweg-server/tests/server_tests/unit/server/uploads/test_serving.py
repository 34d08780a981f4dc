"""How files go over HTTP: parts of them, and nothing that a browser runs."""

from datetime import UTC, datetime
from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_server.api.files import FileStat
from thalweg_server.uploads.intake import KINDS
from thalweg_server.uploads.serving import (
    UnsatisfiableRange,
    answer_for,
    disposition,
    headers_for,
    parse_range,
    safe_media_type,
)

AT = datetime(2026, 11, 2, 10, tzinfo=UTC)


def file(name: str = "a.txt", media_type: str = "text/plain", size: int = 10) -> FileStat:
    return FileStat(
        path=f"/{name}", name=name, size=size, media_type=media_type, modified=AT, etag="1-a"
    )


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-0", (0, 1)),
        ("bytes=2-", (2, 10)),
        ("bytes=2-99", (2, 10)),
        ("bytes=-4", (6, 10)),
        ("bytes=-99", (0, 10)),
        ("BYTES= 1-2 ", (1, 3)),
        ("bytes=5-2", None),
        ("bytes=0-1,3-4", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=-", None),
        ("bytes=٣-٤", None),
    ],
)
def test_a_range_is_read_as_rfc_9110_says(
    header: str | None, expected: tuple[int, int] | None
) -> None:
    """A header in an unsupported form is ignored."""
    assert parse_range(header, 10) == (None if expected is None else range(*expected))


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_past_the_end_cannot_be_served(header: str) -> None:
    """The answer has the length of the file."""
    with pytest.raises(UnsatisfiableRange):
        parse_range(header, 10)
    answer = answer_for(file(), range_header=header)
    assert (answer.status, answer.part) == (416, None)
    assert answer.headers["Content-Range"] == "bytes */10"


@given(st.text(max_size=20) | st.from_regex(r"bytes=\d*-\d*", fullmatch=True), st.integers(0, 99))
def test_no_range_leads_out_of_the_file(header: str, size: int) -> None:
    """No requested range reads outside of the file."""
    try:
        part = parse_range(header, size)
    except UnsatisfiableRange:
        return
    assert part is None or 0 <= part.start < part.stop <= size


def test_a_part_says_which_it_is() -> None:
    """And how long it is."""
    answer = answer_for(file(), range_header="bytes=2-4")
    assert (answer.status, answer.part) == (206, range(2, 5))
    assert answer.headers["Content-Range"] == "bytes 2-4/10"
    assert answer.headers["Content-Length"] == "3"


def test_the_whole_is_sent_where_a_part_is_of_another_version() -> None:
    """`If-Range` names the version it was meant for."""
    asked = "bytes=2-4"
    assert answer_for(file(), range_header=asked, if_range='"old"').status == 200
    assert answer_for(file(), range_header=asked, if_range='"1-a"').status == 206


def test_what_the_asker_has_is_not_sent_again() -> None:
    """By its version."""
    assert answer_for(file(), if_none_match='"0", W/"1-a"').status == 304
    assert answer_for(file(), if_none_match="*").status == 304
    assert answer_for(file(), if_none_match='"0"').status == 200


def test_an_empty_file_is_sent_whole() -> None:
    """There is no part of it."""
    answer = answer_for(file(size=0))
    assert (answer.status, answer.part) == (200, range(0))


RUN_BY_BROWSERS = (
    "text/html", "image/svg+xml", "application/xhtml+xml", "application/xml", "text/xml",
    "text/javascript", "application/javascript", "application/x-shockwave-flash",
    "message/rfc822", "multipart/related", "TEXT/HTML; charset=utf-7", "text/html\r\nX: y", "html",
)  # fmt: skip


@pytest.mark.parametrize("media_type", RUN_BY_BROWSERS)
def test_what_a_browser_runs_is_saved_and_not_shown(media_type: str) -> None:
    """Even where it is asked to be shown; and nothing guesses what it is."""
    headers = headers_for(file("a.html", media_type), inline=True)

    assert headers["Content-Disposition"].startswith("attachment;")
    assert headers["Content-Type"] == "application/octet-stream" or media_type.startswith("multi")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_only_what_is_looked_at_is_shown() -> None:
    """Images, sound, films and plain text, where it is asked for."""
    for kind in KINDS.values():
        headers = headers_for(file(media_type=kind.media_type), inline=True)
        is_shown = headers["Content-Disposition"].startswith("inline;")
        main = headers["Content-Type"].partition("/")[0]
        assert (
            not is_shown
            or main in {"image", "audio", "video"}
            or (headers["Content-Type"] == "text/plain; charset=utf-8")
        )
        assert "svg" not in headers["Content-Type"]
        assert headers_for(file(media_type=kind.media_type))["Content-Disposition"].startswith(
            "att"
        )


@given(st.text(max_size=60))
def test_a_name_never_breaks_out_of_its_header(name: str) -> None:
    """A parser of such headers reads the name back unchanged."""
    header = disposition(name)
    assert header.isascii()
    assert header.isprintable()
    message = Message()
    message["Content-Disposition"] = header
    assert message.get_content_disposition() == "attachment"
    assert header.count('"') == 2
    assert header.count(";") == 2 + name.count(";")


def test_a_readable_name_is_read_back() -> None:
    """By the parser of the standard library."""
    message = Message()
    message["Content-Disposition"] = disposition('Grüße; "東京".pdf')
    assert message.get_filename() in {'Grüße; "東京".pdf', "Gr__e; ____.pdf"}


@given(st.text(max_size=40))
def test_a_media_type_is_one_or_opaque(media_type: str) -> None:
    """Nothing else gets into the header."""
    assert safe_media_type(media_type).replace("; charset=utf-8", "").count("/") == 1
    assert safe_media_type(media_type).isprintable()
