"""Names of files that people send: safe on every disk, and still theirs to read."""

import hashlib
import re
import unicodedata
from collections.abc import Collection
from typing import Final

from thalweg.database.base import encode
from thalweg.errors import UploadRefusedError

MAX_NAME_BYTES: Final = 200
"""Maximum bytes of a name; with a suffix, it fits a file system's limit of 255."""

_LONGEST_ENDING = 16
_LONGEST_SLUG = 40
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]')
_JOINERS = frozenset("\u200c\u200d")
"""Invisible, and part of correct spelling in Persian, Hindi and emoji."""
_FIX = "use a plain file name, such as report.pdf"


def safe_name(name: str) -> str:
    """Return a name in the form in which it is stored.

    The result is NFC, idempotent, and one valid name on every file system: characters with a
    meaning in Windows or a shell become `_`.

    Raises:
        UploadRefusedError: It contains a path or invisible characters, is reserved, or has no valid
            character.

    Example:
        >>> safe_name("Q3: Zahlen?.pdf"), safe_name("-rf.txt")
        ('Q3_ Zahlen_.pdf', '_-rf.txt')
        >>> safe_name("../../etc/passwd")
        Traceback (most recent call last):
        thalweg.errors.UploadRefusedError: ../../etc/passwd: ... use a plain file name, such as ...
    """
    _refuse_what_deceives(name)
    readable = "".join(_plain(sign) for sign in unicodedata.normalize("NFC", name))
    readable = unicodedata.normalize("NFC", _NOT_ON_WINDOWS.sub("_", readable))
    readable = _shortened(readable.strip(" ").rstrip(". "))
    if not readable.strip("._ \u200c\u200d"):
        raise UploadRefusedError(_shown(name), "its name has no valid character", _FIX)
    if _RESERVED.fullmatch(readable.split(".")[0].rstrip(" ")):
        raise UploadRefusedError(_shown(name), "its name is one that Windows reserves", _FIX)
    return f"_{readable}" if readable[0] in "-.~" else readable


def _refuse_what_deceives(name: str) -> None:
    if not name:
        shown = "(no name)"
        raise UploadRefusedError(shown, "it has none", _FIX)
    if "/" in name or "\\" in name:
        raise UploadRefusedError(_shown(name), "there is a path in its name", _FIX)
    for sign in name:
        kind = unicodedata.category(sign)
        if kind in {"Cc", "Cf", "Cs", "Zl", "Zp"} and sign not in _JOINERS:
            problem = f"there is an invisible character in its name (U+{ord(sign):04X})"
            raise UploadRefusedError(_shown(name), problem, _FIX)


def _plain(sign: str) -> str:
    """Take signs that some program reads as part of a path, and every kind of blank."""
    alike = unicodedata.normalize("NFKC", sign)
    if alike != sign and not {"/", "\\", ":"}.isdisjoint(alike):
        return "_"
    if sign in "\u2044\u2215\u29f8\u29f9\u2216":  # slashes to look at
        return "_"
    if alike != sign and alike.strip(".") == "":
        return "_" if alike else ""
    return " " if unicodedata.category(sign) == "Zs" else sign


def _shown(name: str) -> str:
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)[
        :100
    ]


def _shortened(name: str) -> str:
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, ending = split_ending(name)
    room = MAX_NAME_BYTES - len(ending.encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + ending


def split_ending(name: str) -> tuple[str, str]:
    """Part a name before its ending, if it has one.

    Example:
        >>> split_ending("notes.v2.md"), split_ending(".env"), split_ending("Makefile")
        (('notes.v2', '.md'), ('.env', ''), ('Makefile', ''))
    """
    stem, dot, ending = name.rpartition(".")
    if not stem or not ending or len(ending.encode()) > _LONGEST_ENDING or " " in ending:
        return name, ""
    return stem, dot + ending


def unlike(name: str, taken: Collection[str]) -> str:
    """Add a number to a name until it is unused, ignoring case.

    Args:
        name: As `safe_name` returns it.
        taken: The names in use; see `folded`.

    Example:
        >>> unlike("a.txt", {"a.txt", "a (2).txt"}), unlike("b", {"a"})
        ('a (3).txt', 'b')
    """
    known = {folded(one) for one in taken}
    if folded(name) not in known:
        return name
    stem, ending = split_ending(name)
    number = 2
    while True:
        mark = f" ({number}){ending}"
        room = MAX_NAME_BYTES - len(mark.encode())
        tried = stem.encode()[:room].decode(errors="ignore") + mark
        if folded(tried) not in known:
            return tried
        number += 1


def folded(name: str) -> str:
    """Return a key that is equal for names that some file system treats as the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def tag(name: str) -> str:
    """Return the folder name of an owner or a thread: readable, and unique.

    Safe on every file system, for any characters in the id.

    Example:
        >>> tag("Ada Lovelace")
        'ada-lovelace-76740216171591903cdbd18fbc770df4'
        >>> tag("../..") != tag("..")
        True
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_SLUG].strip("-")
    digest = hashlib.sha256(encode(name)).hexdigest()[:32]
    return f"{slug}-{digest}" if slug else digest
