"""The page of media matches the table."""

from scripts.media_page import PAGE, written
from thalweg.engine.media.table import UNREAD_PAGES, UNREAD_SECONDS
from thalweg.engine.wires.media_blocks import MIN_BASE64_CHARS

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_today() -> None:
    """`python -m scripts.media_page` writes them."""
    assert written(TEXT) == TEXT


def test_the_figures_in_the_text_are_those_of_the_code() -> None:
    assert f"**{UNREAD_PAGES} pages**" in TEXT
    assert f"**{UNREAD_SECONDS} seconds**" in TEXT
    assert f"base64 of {MIN_BASE64_CHARS:,} characters" in TEXT
