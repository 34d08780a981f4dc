"""Files are counted by pages, minutes and bytes."""

import base64
import io

import pytest
from pypdf import PdfWriter

from strict_llm.counting import (
    MINUTE_TOKENS,
    OTHER_MINUTE_TOKENS,
    PAGE_TOKENS,
    UNREAD_PAGES,
    TokenCounter,
    document_piece,
)
from strict_llm.exchange import WireName


def pdf(pages: int) -> bytes:
    writer, file = PdfWriter(), io.BytesIO()
    for _ in range(pages):
        writer.add_blank_page(100, 100)
    writer.write(file)
    return file.getvalue()


def counted(wire: WireName, raw: bytes, mime: str = "application/pdf") -> int | None:
    return document_piece(wire, "user", base64.b64encode(raw).decode(), mime).media


@pytest.mark.parametrize("wire", PAGE_TOKENS)
def test_a_document_is_counted_by_its_pages(wire: WireName) -> None:
    assert counted(wire, pdf(3)) == 3 * PAGE_TOKENS[wire]
    assert document_piece(wire, "user", "file-1").media == UNREAD_PAGES * PAGE_TOKENS[wire]


@pytest.mark.parametrize("raw", [pdf(3)[:200], b"%PDF-1.7" + b"x" * 400, b"x" * 400, b""])
def test_a_document_that_cannot_be_read_counts_as_ten_pages(raw: bytes) -> None:
    assert counted("anthropic", raw) == UNREAD_PAGES * PAGE_TOKENS["anthropic"]


def test_sounds_films_and_texts() -> None:
    assert counted("openai-chat", b"x" * 400, "audio/wav") == OTHER_MINUTE_TOKENS
    assert counted("gemini", b"x" * 400, "video/mp4") == MINUTE_TOKENS["gemini", "video"]
    assert counted("gemini", b"x" * 300, "text/plain") == 100


def test_a_text_with_a_lone_surrogate_or_over_a_million_characters_is_counted() -> None:
    counter = TokenCounter()
    assert counter.text("\ud800") == counter.text("?")
    assert counter.text("word " * 300_000) == 300_001
