"""Pages that need nothing but a browser: reports, each in one file.

Two rules: a page sends no network requests, and its policy forbids them; recorded content is
embedded as data and always shown as text.
"""

from thalweg_recorder.pages.assembly import as_data_block, render_page
from thalweg_recorder.pages.places import check_place, write_page

__all__ = ["as_data_block", "check_place", "render_page", "write_page"]
