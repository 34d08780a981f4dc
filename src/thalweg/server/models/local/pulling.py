"""Fetching a model: to its end, or again from where it stopped; and checked before it counts."""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from thalweg.database.private_files import make_private_folder
from thalweg.errors import ConfigError
from thalweg.server.models.local.folder import FileOrigin, ModelFolder
from thalweg.server.models.local.gguf import MAGIC, Gguf, read_gguf
from thalweg.server.models.local.sources import Address, as_address, pieces_of

SPARE: Final = 256_000_000
"""Bytes of the disk to keep free."""
_CHUNK: Final = 1 << 20

Progress = Callable[[int, int | None], None]
"""Called with the bytes received, and the total if available."""


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that was fetched."""

    path: Path
    origin: FileOrigin
    gguf: Gguf


def pull(
    models: ModelFolder,
    name: str,
    where: Sequence[str],
    *,
    sha256: str = "",
    progress: Progress = lambda _done, _whole: None,
) -> FetchedModel:
    """Download a model, and verify it before it becomes available.

    An interrupted download from a server is resumed the next time.

    Args:
        models: The folder of models.
        name: The name of the model.
        where: An address, or files; see `pieces_of`.
        sha256: Its hash, in hexadecimal digits. Without one, content is accepted only from a source
            that is protected in transit, and the recorded origin states this.
        progress: Called with the progress.

    Raises:
        ConfigError: The download fails, or the content does not match; an incomplete model is never
            listed.
    """
    wanted = _hash(sha256)
    path = models.path(name)
    if path.exists():
        known = models.origin(name)
        if known is not None and wanted and known.sha256 == wanted:
            return FetchedModel(path, known, read_gguf(path))
        mend = f"choose another name, or first run: thalweg model remove {path.stem}"
        raise ConfigError("name", f"there is a model {path.stem!r}", mend)
    address = as_address(where)
    if address is not None and not wanted and not address.is_guarded:
        problem = "over http it can be modified in transit, and no hash would detect that"
        raise ConfigError(address.shown, problem, "pass --sha256, or an https address")
    make_private_folder(models.folder)
    part = _PartialFile(path.with_suffix(".gguf.part"), progress)
    with part.locked():
        if address is not None:
            _fetch(part, address)
        else:
            _copy(part, where)
        return _keep(part, models, name, wanted, address.shown if address else "; ".join(where))


def _hash(given: str) -> str:
    plain = given.strip().lower().removeprefix("sha256:")
    if plain and not re.fullmatch(r"[0-9a-f]{64}", plain):
        problem = f"{given[:80]!r} is no SHA-256"
        raise ConfigError("--sha256", problem, "pass 64 hexadecimal digits")
    return plain


@dataclass(slots=True)
class _PartialFile:
    """The file while it is not whole."""

    path: Path
    progress: Progress
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    size: int = 0

    @property
    def note(self) -> Path:
        """The file that records the source of an incomplete download."""
        return self.path.with_suffix(".part.json")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from fetching the same at once, where the system can."""
        with self.path.open("ab") as file:
            try:
                import fcntl  # noqa: PLC0415 (not on Windows)

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:
                pass
            except OSError:
                problem, mend = "it is being fetched by another process", "wait for that one"
                raise ConfigError(self.path.name, problem, mend) from None
            try:
                yield
            finally:
                if self.path.exists() and not self.path.stat().st_size:
                    self.drop()

    def take_up(self, source: str) -> str:
        """Go on with what is here of a source.

        Returns:
            The version that it is of; empty where there is nothing to go on with.
        """
        try:
            known = json.loads(self.note.read_text(encoding="utf-8"))
            version = str(known["version"]) if known["source"] == source else ""
        except (OSError, ValueError, KeyError, TypeError):
            version = ""
        if not version:
            return ""
        with self.path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                self.digest.update(chunk)
                self.size += len(chunk)
        return version if self.size else ""

    def start_over(self) -> None:
        """Forget what is here."""
        self.digest, self.size = hashlib.sha256(), 0
        os.truncate(self.path, 0)

    def remember(self, source: str, version: str) -> None:
        """Note what the file is from, for another time."""
        text = json.dumps({"source": source, "version": version})
        self.note.write_text(text, encoding="utf-8")

    def write(self, stream: IO[bytes], whole: int | None) -> None:
        """Append what a stream has.

        Raises:
            ConfigError: It is no model, or the disk is too small for it.
        """
        self._check_room(whole)
        with self.path.open("ab") as file:
            while chunk := stream.read(_CHUNK):
                if self.size == 0 and not chunk.startswith(MAGIC):
                    problem = f"it begins with {chunk[:16]!r}, and no GGUF file does"
                    raise ConfigError("--from", problem, "check what is there")
                file.write(chunk)
                self.digest.update(chunk)
                self.size += len(chunk)
                self.progress(self.size, whole)
            file.flush()
            os.fsync(file.fileno())

    def _check_room(self, whole: int | None) -> None:
        free = shutil.disk_usage(self.path.parent).free
        needed = (whole or 0) - self.size + SPARE
        if needed > free:
            problem = f"{needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are free"
            raise ConfigError(
                str(self.path.parent), problem, "free disk space, or set THALWEG_HOME"
            )

    def drop(self) -> None:
        """Remove it."""
        for path in (self.path, self.note):
            path.unlink(missing_ok=True)


def _fetch(part: _PartialFile, address: Address) -> None:
    version = part.take_up(address.shown)
    with address.open(part.size, version) as answer:
        if answer.start != part.size or not version:
            part.start_over()
        if answer.start not in {0, part.size}:
            raise ConfigError(address.shown, "the server sends another part", "try again")
        part.remember(address.shown, answer.version)
        try:
            part.write(answer.stream, answer.size)
        except OSError as error:
            if not isinstance(error, ConnectionError | TimeoutError):
                raise
            raise _cut(address, part, answer.size) from None
    if answer.size is not None and part.size < answer.size:
        raise _cut(address, part, answer.size)


def _cut(address: Address, part: _PartialFile, whole: int | None) -> ConfigError:
    problem = f"it ended after {part.size} of {whole or 'unknown'} bytes"
    return ConfigError(address.shown, problem, "run the same command again: it resumes from there")


def _copy(part: _PartialFile, where: Sequence[str]) -> None:
    pieces = pieces_of(where)
    part.start_over()
    whole = sum(piece.size for piece in pieces)
    for piece in pieces:
        with piece.open() as stream:
            part.write(stream, whole)


def _keep(
    part: _PartialFile, models: ModelFolder, name: str, wanted: str, source: str
) -> FetchedModel:
    """Verify the download, and rename it to the model."""
    found = part.digest.hexdigest()
    if wanted and found != wanted:
        part.drop()
        problem = f"its SHA-256 is {found}, not {wanted}"
        raise ConfigError(
            source, problem, "the download was removed; check the source and the hash"
        )
    try:
        gguf = read_gguf(part.path)
    except ConfigError as error:
        part.drop()
        raise ConfigError(
            source, error.problem, "the download was removed; check the address"
        ) from None
    origin = FileOrigin(
        source=source,
        sha256=found,
        size=part.size,
        pulled_at=datetime.now(UTC).isoformat(timespec="seconds"),
        is_pinned=bool(wanted),
    )
    path = models.path(name)
    part.path.replace(path)
    models.note(name, origin)
    part.note.unlink(missing_ok=True)
    return FetchedModel(path, origin, gguf)
