"""The model directory: files that were pulled, each with a note of where it is from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from thalweg.engine.sections import nearest
from thalweg.errors import ConfigError

SUFFIX: Final = ".gguf"


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """Where a file came from."""

    source: str
    sha256: str
    size: int
    """Bytes."""
    pulled_at: str
    """UTC, ISO 8601."""
    is_pinned: bool
    """Whether its hash was given before the download."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The folder `models` below Thalweg's own."""

    home: Path

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.home / "models"

    def path(self, name: str) -> Path:
        """Return the file of a model.

        Raises:
            ConfigError: The name cannot be a file's.
        """
        plain = name.removesuffix(SUFFIX)
        if not plain or plain.startswith(".") or any(c in plain for c in '/\\:*?"<>|\0'):
            mend = "use letters, digits, dots and dashes"
            raise ConfigError("name", f"{name!r} cannot be the name of a model", mend)
        return self.folder / f"{plain}{SUFFIX}"

    def names(self) -> tuple[str, ...]:
        """Return the names of the pulled models, sorted."""
        return tuple(sorted(path.stem for path in self.folder.glob(f"*{SUFFIX}")))

    def find(self, name: str, *, where: str) -> Path:
        """Return a file by its path, or by the name it was pulled under.

        Raises:
            ConfigError: There is none.
        """
        path = Path(name).expanduser()
        if path.is_file():
            return path.resolve()
        if path.name == name and (pulled := self.path(name)).is_file():
            return pulled.resolve()
        fetch = f"thalweg model pull {path.stem or 'NAME'} --from WHERE"
        known = self.names()
        mend = f"{nearest(name, known)} or fetch it: {fetch}" if known else f"fetch it: {fetch}"
        problem = f"there is no file {name} and no downloaded model of that name"
        raise ConfigError(where, problem, mend)

    def origin(self, name: str) -> FileOrigin | None:
        """Return where a model came from; `None` if nothing is noted."""
        try:
            note = self.path(name).with_suffix(".json").read_text(encoding="utf-8")
            return FileOrigin(**json.loads(note))
        except (OSError, ValueError, TypeError):
            return None

    def note(self, name: str, origin: FileOrigin) -> None:
        """Store where a model came from."""
        text = json.dumps(asdict(origin), indent=1) + "\n"
        self.path(name).with_suffix(".json").write_text(text, encoding="utf-8")

    def remove(self, name: str) -> int:
        """Remove a model with its note, and the rest of an incomplete download.

        Returns:
            The bytes that were freed.

        Raises:
            ConfigError: There is no model of that name.
        """
        path = self.path(name)
        there = [one for one in (path, path.with_suffix(".gguf.part")) if one.is_file()]
        if not there:
            known = self.names()
            mend = nearest(name, known) if known else "nothing was downloaded"
            raise ConfigError("name", f"no model {name!r} was downloaded", mend)
        freed = sum(one.stat().st_size for one in there)
        for one in (*there, path.with_suffix(".json")):
            one.unlink(missing_ok=True)
        return freed
