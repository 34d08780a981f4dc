"""Pages that need nothing but a browser: reports, each in one file.

Two rules: a page asks the network for nothing, and its policy forbids the browser to; what was
recorded reaches the page as data and is shown as text, whatever it says.
"""

from thalweg.pages.assembly import as_data_block, render_page
from thalweg.pages.places import check_place, write_page

__all__ = ["as_data_block", "check_place", "render_page", "write_page"]
