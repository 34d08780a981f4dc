"""Files of a thread in the HTTP API."""

from thalweg_server.api.shape import Moment, Shape


class FileStat(Shape):
    """A file of a thread."""

    path: str
    """As the agent sees it: `/uploads/report.pdf`."""
    name: str
    size: int
    """Bytes."""
    media_type: str
    modified: Moment
    etag: str
    """Changes whenever the content changes; without quotation marks."""


class Artifacts(Shape):
    """Files that an agent has made: all that were not uploaded."""

    files: tuple[FileStat, ...]
    """Sorted by path."""
    truncated: bool = False
    """Whether there are more than are listed."""


class Upload(Shape):
    """A file that was uploaded to a thread."""

    name: str
    """Stored name; may differ from the name of the upload."""
    path: str
    """As the agent sees it: `/uploads/report.pdf`."""
    size: int
    """Bytes."""
    media_type: str
    sha256: str
    """SHA-256 of the content, in hexadecimal."""
    text_path: str | None = None
    """Path of its text as Markdown, if it is a document that could be converted."""
    created: Moment
    note: str = ""
    """A note for the sender: why there is no text, or that the file was renamed."""


class Uploads(Shape):
    """Files that were uploaded to a thread, by name."""

    items: tuple[Upload, ...]
