"""Download of a model: resumed where it stopped, and verified before it gets its name."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPException, HTTPResponse
from io import BufferedRandom, BytesIO
from pathlib import Path
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import Request, urlopen

from thalweg.database.private_files import make_private_folder
from thalweg.errors import ConfigError
from thalweg.server.models.local.folder import FileOrigin, ModelFolder
from thalweg.server.models.local.gguf import MAGIC, read_gguf

SPARE: Final = 256_000_000
"""Bytes of the disk to keep free."""
_SILENCE_S: Final = 60
"""Seconds without a byte after which a download fails."""
_CHUNK: Final = 1 << 20
_PARTIAL: Final = 206
_COMPLETE: Final = 416
"""Range not satisfiable: there is nothing behind what is here (RFC 9110, 15.5.17)."""

Progress = Callable[[int, int | None], None]
"""Called with the bytes received, and the total if available."""


def pull(
    models: ModelFolder,
    name: str,
    source: str,
    *,
    sha256: str = "",
    progress: Progress = lambda _done, _whole: None,
) -> tuple[Path, FileOrigin]:
    """Download or copy a model, and verify it before it becomes available.

    With a hash, an interrupted download is resumed the next time: the hash proves that both parts
    are of one file. Without one it starts over.

    Args:
        models: The folder of models.
        name: The name of the model.
        source: An http(s) address, or the path of a file.
        sha256: Its hash, in hexadecimal digits. Without one, content is accepted only from a source
            that is protected in transit, and the recorded origin states this.
        progress: Called with the progress.

    Returns:
        The file, and its origin.

    Raises:
        ConfigError: The download fails, or the content does not match; an incomplete model is never
            listed.
    """
    wanted = sha256.strip().lower().removeprefix("sha256:")
    if wanted and not re.fullmatch(r"[0-9a-f]{64}", wanted):
        mend = "pass 64 hexadecimal digits"
        raise ConfigError("--sha256", f"{sha256[:80]!r} is no SHA-256", mend)
    path, shown = models.path(name), _shown(source)
    if path.exists():
        known = models.origin(name)
        if known is not None and wanted and known.sha256 == wanted:
            return path, known
        mend = f"choose another name, or first run: thalweg model remove {path.stem}"
        raise ConfigError("name", f"there is a model {path.stem!r}", mend)
    _check_source(source, shown, is_pinned=bool(wanted))
    make_private_folder(models.folder)
    part = path.with_suffix(".gguf.part")
    with _locked(part) as file:
        found = _received(file, source, shown, is_resumable=bool(wanted), progress=progress)
        _verify(part, found, wanted, shown)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        origin = FileOrigin(shown, found, part.stat().st_size, now, is_pinned=bool(wanted))
        models.note(name, origin)
        part.replace(path)
    return path, origin


def _shown(source: str) -> str:
    """Return a source without what may be a secret in its address."""
    parts = urlsplit(source)
    if "://" not in source:
        return source
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _check_source(source: str, shown: str, *, is_pinned: bool) -> None:
    if "://" not in source:
        if not Path(source).expanduser().is_file():
            raise ConfigError("--from", f"there is no file {source}", "check the path")
        return
    parts = urlsplit(source)
    if parts.scheme not in {"http", "https"}:
        problem = f"{parts.scheme}:// is not fetched"
        raise ConfigError("--from", problem, "pass http, https or a file")
    is_here = parts.hostname in {"127.0.0.1", "localhost", "::1"}
    if not (is_pinned or is_here or parts.scheme == "https"):
        problem = "over http it can be modified in transit, and no hash would detect that"
        raise ConfigError(shown, problem, "pass --sha256, or an https address")


@contextmanager
def _locked(part: Path) -> Iterator[BufferedRandom]:
    """Open an incomplete download, for one process at a time where the system can."""
    with part.open("a+b") as file:
        try:
            import fcntl  # noqa: PLC0415 (not on Windows)

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            problem, mend = "it is being fetched by another process", "wait for that one"
            raise ConfigError(part.name, problem, mend) from None
        try:
            yield file
        finally:
            if part.exists() and not part.stat().st_size:
                part.unlink()


def _received(
    file: BufferedRandom, source: str, shown: str, *, is_resumable: bool, progress: Progress
) -> str:
    """Complete the file from its source; return its SHA-256."""
    if not is_resumable:
        file.truncate(0)
    with _opened(source, shown, file.seek(0, os.SEEK_END)) as (stream, start, whole):
        file.truncate(start)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256")
        _check_room(Path(file.name).parent, (whole or 0) - start)
        done = start
        ended = ""
        try:
            while chunk := stream.read(_CHUNK):
                if not done and not chunk.startswith(MAGIC):
                    problem = f"it begins with {chunk[:16]!r}, and no GGUF file does"
                    raise ConfigError("--from", problem, "check what is there")
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                progress(done, whole)
            file.flush()
        except (OSError, HTTPException) as error:
            ended = f" ({error})"
        if ended or done < (whole or 0):
            mend = "run the same command again"
            mend += ": it resumes from there" if is_resumable else "; with --sha256 it resumes"
            problem = f"it ended after {done} of {whole or 'unknown'} bytes{ended}"
            raise ConfigError(shown, problem, mend)
        os.fsync(file.fileno())
    return digest.hexdigest()


@contextmanager
def _opened(source: str, shown: str, offset: int) -> Iterator[tuple[IO[bytes], int, int | None]]:
    """Open a source from an offset on, or from its start if that is all it can do.

    Yields:
        The stream, where in the file it starts, and the bytes of the whole file if known.
    """
    if "://" not in source:
        with Path(source).expanduser().open("rb") as stream:
            yield stream, 0, os.fstat(stream.fileno()).st_size
        return
    headers = {"User-Agent": "thalweg", "Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={offset}-"} if offset else {}
    try:
        response: HTTPResponse = urlopen(Request(source, headers=headers), timeout=_SILENCE_S)  # noqa: S310 (http and https alone)
    except HTTPError as error:
        error.close()
        if error.code == _COMPLETE:
            yield BytesIO(), offset, offset
            return
        problem = f"the server answers {error.code} {error.reason}"
        raise ConfigError(shown, problem, "check the address") from None
    except (URLError, OSError) as error:
        problem = f"the server cannot be reached: {getattr(error, 'reason', error)}"
        raise ConfigError(shown, problem, "check the address and the network") from None
    with response:
        length = response.headers.get("Content-Length", "")
        start = offset if response.status == _PARTIAL else 0
        yield response, start, start + int(length) if length.isdecimal() else None


def _check_room(folder: Path, size: int) -> None:
    free, needed = shutil.disk_usage(folder).free, size + SPARE
    if needed > free:
        problem = f"{needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free"
        raise ConfigError(str(folder), problem, "free disk space, or set THALWEG_HOME")


def _verify(part: Path, found: str, wanted: str, shown: str) -> None:
    """Raise, and remove the download, if it is not the expected file or no GGUF file."""
    if wanted and found != wanted:
        part.unlink()
        mend = "the download was removed; check the source and the hash"
        raise ConfigError(shown, f"its SHA-256 is {found}, not {wanted}", mend)
    try:
        read_gguf(part)
    except ConfigError as error:
        part.unlink()
        mend = "the download was removed; check the address"
        raise ConfigError(shown, error.problem, mend) from None
