"""Files: send them to a thread, and fetch what its agent made."""

import asyncio
from collections.abc import Iterable, Mapping
from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from thalweg_server.api.files import Artifacts, Uploads
from thalweg_server.client.caller import Caller
from thalweg_server.client.calls import GatewayRequest, path_of

if TYPE_CHECKING:  # httpx2 is loaded only by a program that makes a client
    import httpx2

File = str | PathLike[str] | tuple[str, bytes]
"""A file to send: its path, or a name and its content."""

_UPLOADS = "/api/threads/{}/uploads"
_LONG_S = 600.0
"""A large document has to be read."""


class FileCalls(Caller):
    """Client calls for files.

    Raises (all that name a file):
        NoSuchFileError: The thread has none like it.
    """

    async def upload_files(self, thread: str, files: Iterable[File]) -> Uploads:
        """Send files to a thread, which is made if it is not there.

        Raises:
            UploadRefusedError: The type, the size or the content of one may not come in.
        """
        sent = [await asyncio.to_thread(_read, file) for file in files]
        call = GatewayRequest("POST", path_of(_UPLOADS, thread), files=sent, wait_s=_LONG_S)
        return await (await self._connected()).ask(call, Uploads)

    async def upload_file(self, thread: str, file: File) -> Uploads:
        """Send one file: see `upload_files`."""
        return await self.upload_files(thread, [file])

    async def list_uploads(self, thread: str) -> Uploads:
        """List the files that were sent to a thread."""
        return await self._ask(Uploads, "GET", _UPLOADS, thread)

    async def delete_upload(self, thread: str, name: str) -> None:
        """Delete a file that was sent to a thread."""
        await self._fetch(GatewayRequest("DELETE", path_of(_UPLOADS + "/{}", thread, name)))

    async def list_artifacts(self, thread: str) -> Artifacts:
        """List the files that the agent of a thread has made."""
        return await self._ask(Artifacts, "GET", "/api/threads/{}/artifacts", thread)

    async def download_artifact(
        self, thread: str, path: str, *, first: int | None = None, last: int | None = None
    ) -> bytes:
        """Fetch a file of a thread, or the bytes of it from `first` to `last` inclusive."""
        is_part = first is not None or last is not None
        part = f"bytes={first or 0}-{'' if last is None else last}"
        return (await self._artifact(thread, path, {"range": part} if is_part else {})).content

    async def get_artifact(self, thread: str, path: str) -> tuple[bytes, str]:
        """Fetch a file of a thread with its media type."""
        response = await self._artifact(thread, path, {})
        kind = response.headers.get("content-type", "application/octet-stream")
        return response.content, kind.partition(";")[0].strip()

    async def _artifact(
        self, thread: str, path: str, headers: Mapping[str, str]
    ) -> "httpx2.Response":
        place = path_of("/api/threads/{}/artifacts/", thread) + quote(path.lstrip("/"))
        return await self._fetch(GatewayRequest("GET", place, headers=headers, wait_s=_LONG_S))


def _read(file: File) -> tuple[str, bytes, str]:
    if isinstance(file, tuple):
        name, content = file
    else:
        name, content = Path(file).name, Path(file).read_bytes()
    return name, content, guess_type(name)[0] or "application/octet-stream"
