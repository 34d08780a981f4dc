"""Validation of uploads: a file's name and content must be of one kind, which is allowed."""

from typing import Final

from thalweg.errors import UploadRefusedError
from thalweg_server.uploads.archives import archive_family
from thalweg_server.uploads.kinds import KINDS, PACKED, PLAIN, RUNS, Kind, ending_of, sniffed
from thalweg_server.uploads.policy import UploadPolicy

_DESCRIPTIONS: Final = {
    "program": "a program",
    "macros": "an Office file with macros",
    "binary": "bytes of an unknown type",
    "packed": "an archive of another kind than ZIP",
    "ole": "an Office file of an unknown kind",
    "xlsb": "a binary Excel file",
    "text": "text",
}


def admitted(name: str, content: bytes, policy: UploadPolicy) -> Kind:
    """Return the kind of a file.

    Args:
        name: As `safe_name` returns it.
        content: The whole file.
        policy: The allowed kinds and sizes.

    Raises:
        UploadRefusedError: It is not allowed; the error has the reason, and the allowed kinds.
    """
    if not content:
        raise UploadRefusedError(name, "it is empty", "send a file that is not empty")
    if len(content) > policy.max_file_bytes:
        raise too_large(name, policy)
    ending = ending_of(name)
    if ending in RUNS:
        problem = f"files with the ending .{ending} are programs, or contain some"
        raise UploadRefusedError(name, problem, what_may(policy))
    if policy.allowed and ending not in _allowed(policy):
        problem = (
            f"files with the ending .{ending} are not accepted"
            if ending
            else "it has no file extension"
        )
        raise UploadRefusedError(name, problem, what_may(policy))
    family = sniffed(content)
    if family == "archive":
        family = archive_family(name, content, policy)
    kind = KINDS.get(ending)
    if kind is None and family == "text":
        return PLAIN
    if kind is None or not _agree(kind, family):
        raise UploadRefusedError(name, _mismatch(ending, kind, family), what_may(policy))
    return kind


def too_large(name: str, policy: UploadPolicy) -> UploadRefusedError:
    """Make the error of a file that is too large."""
    problem = f"it is larger than {policy.max_file_bytes:,} bytes"
    return UploadRefusedError(name, problem, "send a smaller file, or parts of it")


def what_may(policy: UploadPolicy) -> str:
    """Return a description of the allowed files."""
    if policy.allowed:
        return "accepted endings: " + ", ".join(f".{one}" for one in sorted(policy.allowed))
    return (
        "supported are PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, e-mail, HTML, "
        "CSV, text and source code, images, audio, video, ZIP, Parquet and SQLite"
    )


def _allowed(policy: UploadPolicy) -> set[str]:
    return {ending.lower().removeprefix(".") for ending in policy.allowed}


def _agree(kind: Kind, family: str) -> bool:
    # A ZIP may hold anything, the parts of an Office file among it.
    return kind.family == family or (kind.family == "zip" and family in PACKED)


def _mismatch(ending: str, kind: Kind | None, family: str) -> str:
    content = _DESCRIPTIONS.get(family, f"{family.upper()}")
    if kind is None:
        name = f"ends in .{ending}" if ending else "has no ending"
        return f"its name {name}, its content is {content}"
    return f"its name says {kind.title}, its content is {content}"
