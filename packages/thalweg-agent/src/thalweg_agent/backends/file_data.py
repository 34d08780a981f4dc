"""A file as state and stores hold it, and the type of a file by its name."""

from base64 import b64decode, b64encode
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final, Literal

from thalweg_agent.backends.protocol import FileData

FileType = Literal["text", "image", "audio", "video", "file"]
"""The type of a file for a model: text, a medium to view or play, or a document."""

MAX_MEDIA_BYTES: Final = 75_000_000
"""Maximum bytes of a file that is shown.

In base64 it is the largest body that any model accepts (Gemini, 100 MB). The limit of the model in
use is checked when the request is made."""
MAX_VIDEO_INPUT_BYTES: Final = 1 << 30
"""Bytes above which a video is not read whole."""

_ENDINGS: tuple[tuple[FileType, str], ...] = (
    ("image", "png jpeg jpg webp gif heic heif"),
    ("video", "mp4 mpeg mov avi flv mpg webm wmv 3gpp"),
    ("audio", "wav mp3 aiff aac ogg flac"),
    ("file", "pdf ppt pptx"),
)

EXTENSION_TO_FILE_TYPE: Final[dict[str, FileType]] = {
    f".{ending}": kind for kind, endings in _ENDINGS for ending in endings.split()
}
"""Kinds that models take as they are; every other file is text."""

VIDEO_EXTRA_EXTENSIONS: Final = frozenset({".mkv"})
"""Films that no model takes as they are; bytes all the same."""


def file_type(path: str) -> FileType:
    """Return the type of a file by its name.

    Example:
        >>> file_type("/a/Photo.PNG"), file_type("/a/notes"), file_type("/a/film.mkv")
        ('image', 'text', 'text')
    """
    return EXTENSION_TO_FILE_TYPE.get(PurePosixPath(path).suffix.lower(), "text")


def read_file_type(path: str) -> FileType:
    """Return how a backend reads a file: as `file_type`, but every video as bytes.

    Example:
        >>> read_file_type("/a/film.mkv")
        'video'
    """
    if PurePosixPath(path).suffix.lower() in VIDEO_EXTRA_EXTENSIONS:
        return "video"
    return file_type(path)


def create_file_data(
    content: str, created_at: str | None = None, encoding: str = "utf-8"
) -> FileData:
    """Make a file of now.

    Args:
        content: Text, or bytes as base64.
        created_at: ISO 8601, if it is older.
        encoding: `utf-8`, or `base64` for bytes.
    """
    now = datetime.now(UTC).isoformat()
    return FileData(
        content=content, encoding=encoding, created_at=created_at or now, modified_at=now
    )


def update_file_data(file_data: FileData, content: str) -> FileData:
    """Return a file with new content, modified now; its creation time is kept."""
    updated = with_content(file_data, content)
    updated["modified_at"] = datetime.now(UTC).isoformat()
    return updated


def with_content(file_data: FileData, content: str) -> FileData:
    """Copy a file with another content and the times it has: to show a part of it."""
    copied = FileData(content=content, encoding=file_data.get("encoding", "utf-8"))
    if "created_at" in file_data:
        copied["created_at"] = file_data["created_at"]
    if "modified_at" in file_data:
        copied["modified_at"] = file_data["modified_at"]
    return copied


def file_data_to_string(file_data: FileData) -> str:
    """Take the content of a file, also of one from the time when it was a list of lines.

    Raises:
        TypeError: The content is neither text nor a list of lines.
    """
    content: object = file_data["content"]
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "\n".join(content)
    kind = type(content).__name__
    problem = f"File content must be a string or a legacy list of strings, got {kind}."
    raise TypeError(problem)


def file_data_from_bytes(content: bytes, created_at: str | None = None) -> FileData:
    r"""Make a file of bytes: text if they are UTF-8, else base64.

    Example:
        >>> file_data_from_bytes(b"hello")["encoding"], file_data_from_bytes(b"\xff")["content"]
        ('utf-8', '/w==')
    """
    try:
        return create_file_data(content.decode(), created_at)
    except UnicodeDecodeError:
        return create_file_data(b64encode(content).decode(), created_at, "base64")


def file_data_to_bytes(file_data: FileData) -> bytes:
    """Return the bytes of a file.

    Raises:
        ValueError: It is marked as base64 and is not, or contains a lone surrogate.
    """
    content = file_data_to_string(file_data)
    if file_data.get("encoding") == "base64":
        return b64decode(content, validate=True)
    return content.encode()


def file_size(file_data: FileData) -> int:
    r"""Count the bytes of a file.

    Example:
        >>> file_size(file_data_from_bytes(b"\xff\xfe")), file_size(create_file_data("grün"))
        (2, 5)
    """
    content = file_data_to_string(file_data)
    if file_data.get("encoding") == "base64":
        return len(content) // 4 * 3 - content[-2:].count("=")
    return len(content.encode(errors="surrogatepass"))
