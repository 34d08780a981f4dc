"""Where the bytes of a model come from: an address, a file, or parts that are put together."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from email.message import Message
from glob import glob
from http.client import HTTPResponse
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import Request, urlopen
from zipfile import BadZipFile, ZipFile

from thalweg.errors import ConfigError

SILENCE_S: Final = 60
"""Seconds without a byte after which a download fails."""
_ARCHIVES: Final = frozenset({".whl", ".zip"})
_PART: Final = re.compile(r"\.(?:gguf|bin|dat|chunk|part)[-_.]?\d*$", re.IGNORECASE)
"""How the members of an archive are called that are parts of a model."""


@dataclass(frozen=True, slots=True)
class FileStretch:
    """A stretch of the file."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, slots=True)
class Address:
    """A file on a server."""

    url: str

    @property
    def shown(self) -> str:
        """The address without what may be a secret in it."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))

    @property
    def is_guarded(self) -> bool:
        """Whether the content is protected in transit, or is local."""
        parts = urlsplit(self.url)
        return parts.scheme == "https" or parts.hostname in {"127.0.0.1", "localhost", "::1"}

    @contextmanager
    def open(self, offset: int, version: str) -> Iterator["SourceResponse"]:
        """Ask for the file from an offset on; a server may begin at its start all the same.

        Args:
            offset: Bytes that are here already.
            version: What the server called the file when these came; empty where it did not.

        Raises:
            ConfigError: The server does not answer, or refuses.
        """
        headers = {"User-Agent": "thalweg", "Accept-Encoding": "identity"}
        if offset and version:
            headers |= {"Range": f"bytes={offset}-", "If-Range": version}
        request = Request(self.url, headers=headers)  # noqa: S310 (http and https alone)
        try:
            response = cast("HTTPResponse", urlopen(request, timeout=SILENCE_S))  # noqa: S310
        except HTTPError as error:
            error.close()
            problem = f"the server answers {error.code} {error.reason}"
            raise ConfigError(self.shown, problem, "check the address") from None
        except (URLError, OSError) as error:
            said = getattr(error, "reason", error)
            mend = "check the address and the network"
            raise ConfigError(self.shown, f"the server cannot be reached: {said}", mend) from None
        with response:
            yield SourceResponse.of(response)


@dataclass(frozen=True, slots=True)
class SourceResponse:
    """What a server sends."""

    stream: IO[bytes]
    start: int
    """Where in the file it begins."""
    size: int | None
    """Bytes of the whole file; `None` if the server does not send it."""
    version: str
    """What it calls the file as it is now."""

    @classmethod
    def of(cls, response: HTTPResponse) -> "SourceResponse":
        """Read the head of an answer."""
        headers: Message = response.headers
        etag = headers.get("ETag", "")
        version = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
        ranged = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range", ""))
        if response.status == _PARTIAL and ranged:
            return cls(response, int(ranged[1]), int(ranged[2]), version)
        length = headers.get("Content-Length", "")
        return cls(response, 0, int(length) if length.isdecimal() else None, version)


_PARTIAL: Final = 206


def as_address(where: Sequence[str]) -> Address | None:
    """Read an address; `None` where files are meant.

    Raises:
        ConfigError: There is more than one, or it is of a kind that is not fetched.
    """
    schemes = [one.partition("://")[0].lower() if "://" in one else "" for one in where]
    if not any(schemes):
        return None
    if len(where) > 1:
        mend = "pass one address, or local files"
        raise ConfigError("--from", "several addresses cannot be joined", mend)
    if schemes[0] not in {"http", "https"}:
        raise ConfigError("--from", f"{schemes[0]}:// is not fetched", "pass http, https or a file")
    return Address(where[0])


def pieces_of(where: Sequence[str]) -> list[FileStretch]:
    """Return files and parts, in the order in which they form the file.

    Parts are ordered by the last number in their names, in any folder.

    Args:
        where: Files, folders and patterns; archives (`.zip`, `.whl`) hold parts. Nothing in them is
            run.

    Raises:
        ConfigError: There is none, or a number appears twice.
    """
    files = [path for one in where for path in _files(one)]
    pieces = [piece for path in dict.fromkeys(files) for piece in _pieces(path)]
    if not pieces:
        problem = f"{', '.join(where)} holds no part of a model"
        raise ConfigError("--from", problem, "pass a GGUF file, or all its parts")
    if len(pieces) == 1:
        return pieces
    numbered = sorted(((_number(piece.name), piece) for piece in pieces), key=lambda pair: pair[0])
    numbers = [number for number, _ in numbered]
    first = numbers[0]
    if numbers != list(range(first, first + len(numbers))) or first not in {0, 1}:
        problem = f"{len(pieces)} parts are numbered {', '.join(map(str, numbers[:40]))}"
        raise ConfigError("--from", problem, "pass every part once, from 0 or 1 on")
    return [piece for _, piece in numbered]


def _files(where: str) -> list[Path]:
    path = Path(where).expanduser()
    if path.is_dir():
        return sorted(one for one in path.iterdir() if one.is_file())
    if path.is_file():
        return [path]
    found = sorted(Path(one) for one in glob(str(path)))  # noqa: PTH207 (of an absolute pattern)
    if not found:
        raise ConfigError("--from", f"there is no {where}", "check the path")
    return [one for one in found if one.is_file()]


def _pieces(path: Path) -> list[FileStretch]:
    if path.suffix.lower() not in _ARCHIVES:
        return [FileStretch(path.name, path.stat().st_size, lambda: path.open("rb"))]
    try:
        with ZipFile(path) as archive:
            members = [info for info in archive.infolist() if _PART.search(info.filename)]
    except BadZipFile as error:
        raise ConfigError(str(path), f"it is not an archive: {error}", "fetch it again") from None
    return [
        FileStretch(PurePosixPath(info.filename).name, info.file_size, _member(path, info.filename))
        for info in members
    ]


def _member(path: Path, name: str) -> Callable[[], AbstractContextManager[IO[bytes]]]:
    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        with ZipFile(path) as archive, archive.open(name) as member:
            yield member

    return opened


def _number(name: str) -> int:
    digits = re.findall(r"\d+", name)
    return int(digits[-1]) if digits else -1
