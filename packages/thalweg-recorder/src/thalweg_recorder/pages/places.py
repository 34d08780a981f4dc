"""The output file of a page: checked before the work begins, written atomically."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from thalweg.errors import ConfigError
from thalweg_recorder.place import write_private


def check_place(
    path: Path, taken: Iterable[Path] = (), what: str = "one of the recordings"
) -> None:
    """Check that a page can be written to a path.

    Args:
        path: The output file, as the option `--html` named it.
        taken: Files that it must not replace.
        what: Description of such a file, for the error.

    Raises:
        ConfigError: It cannot be written, or would replace one of these files.
    """
    with _as_config_error(path):
        place = path.resolve()
        if place.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if place.exists() and not place.is_file():
            raise OSError(None, "it is no ordinary file")
        if place in {other.resolve() for other in taken}:
            raise OSError(None, f"it is {what}")
        with TemporaryFile(dir=place.parent):
            pass


def write_page(page: str, path: Path) -> None:
    """Write a page to a file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    with _as_config_error(path):
        write_private(path.resolve(), page)


@contextmanager
def _as_config_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what, fix = f"--html {path}", "name a file that can be written"
        problem = f"the report cannot be written: {(error.strerror or str(error)).lower()}"
        raise ConfigError(what, problem, fix) from error
