"""A sandbox without walls: a folder and the shell of this machine, by nothing but `execute`."""

import os
import subprocess
from pathlib import Path

from thalweg.errors import PathError
from thalweg_agent.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from thalweg_agent.backends.sandbox import BaseSandbox


class FolderSandbox(BaseSandbox):
    """Commands are real, and so are the files."""

    grep_exclude_dirs: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.root = self.home = str(folder)
        self.commands: list[str] = []

    @property
    def id(self) -> str:
        """Name the folder."""
        return f"folder-{self.root}"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run it with the shell of this machine."""
        self.commands.append(command)
        ran = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.home,
            env={name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        output = (ran.stdout + ran.stderr).decode(errors="replace")
        return ExecuteResponse(output, ran.returncode)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write them to the disk."""
        return [FileUploadResponse(path, self._upload(path, raw)) for path, raw in files]

    def _upload(self, path: str, raw: bytes) -> str | None:
        try:
            place = Path(self.inside(path))
        except PathError:
            return "invalid_path"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(raw)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read them from the disk."""
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path, Path(self.inside(path)).read_bytes())
        except PathError:
            return FileDownloadResponse(path, error="invalid_path")
        except (FileNotFoundError, NotADirectoryError):
            return FileDownloadResponse(path, error="file_not_found")
        except IsADirectoryError:
            return FileDownloadResponse(path, error="is_directory")
