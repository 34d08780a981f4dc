"""Files of a thread, as they go over HTTP."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class FileStat(BaseModel):
    """A file of a thread."""

    model_config = ConfigDict(frozen=True)

    path: str
    """As the agent sees it: `/uploads/report.pdf`."""
    name: str
    size: int
    """Bytes."""
    media_type: str
    modified: datetime
    etag: str
    """Another whenever the content is another; without quotation marks."""


class Artifacts(BaseModel):
    """Files that an agent has made: all that were not sent to it."""

    model_config = ConfigDict(frozen=True)

    files: tuple[FileStat, ...]
    """By their paths."""
    truncated: bool = False
    """There are more than are listed."""


class Upload(BaseModel):
    """A file that was sent to a thread."""

    model_config = ConfigDict(frozen=True)

    name: str
    """As it is kept; may differ from the name it was sent by."""
    path: str
    """As the agent sees it: `/uploads/report.pdf`."""
    size: int
    """Bytes."""
    media_type: str
    sha256: str
    """Of the content, in hexadecimal."""
    text_path: str | None = None
    """Where its text is, as Markdown, where it is a document of which text could be made."""
    created: datetime
    note: str = ""
    """What whoever sent it should know: why there is no text, that it has another name."""


class Uploads(BaseModel):
    """Files that were sent to a thread, by name."""

    model_config = ConfigDict(frozen=True)

    items: tuple[Upload, ...]
