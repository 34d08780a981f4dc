"""Files: send them to a thread, and fetch what its agent made."""

import asyncio
from collections.abc import Iterable
from mimetypes import guess_type
from os import PathLike
from pathlib import Path

from thalweg.client.caller import Caller
from thalweg.client.calls import GatewayRequest, path_of
from thalweg.server.api.files import Artifacts, Uploads

File = str | PathLike[str] | tuple[str, bytes]
"""A file to send: its path, or a name and what is in it."""

_UPLOADS = "/api/threads/{}/uploads"
_LONG_S = 600.0
"""A large document has to be read."""


class FileCalls(Caller):
    """What a client does with files.

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
        return await self._ask(call, Uploads)

    async def upload_file(self, thread: str, file: File) -> Uploads:
        """Send one file: see `upload_files`."""
        return await self.upload_files(thread, [file])

    async def list_uploads(self, thread: str) -> Uploads:
        """List the files that were sent to a thread."""
        return await self._ask(GatewayRequest("GET", path_of(_UPLOADS, thread)), Uploads)

    async def delete_upload(self, thread: str, name: str) -> None:
        """Delete a file that was sent to a thread."""
        await self._do(GatewayRequest("DELETE", path_of(_UPLOADS + "/{}", thread, name)))

    async def list_artifacts(self, thread: str) -> Artifacts:
        """List the files that the agent of a thread has made."""
        return await self._ask(
            GatewayRequest("GET", path_of("/api/threads/{}/artifacts", thread)), Artifacts
        )

    async def download_artifact(
        self, thread: str, path: str, *, first: int | None = None, last: int | None = None
    ) -> bytes:
        """Fetch a file of a thread, or the bytes of it from `first` to `last` inclusive."""
        return (await self._fetched(thread, path, first, last))[0]

    async def get_artifact(self, thread: str, path: str) -> tuple[bytes, str]:
        """Fetch a file of a thread with its media type."""
        return await self._fetched(thread, path, None, None)

    async def _fetched(
        self, thread: str, path: str, first: int | None, last: int | None
    ) -> tuple[bytes, str]:
        steps = "/".join(path_of("{}", step) for step in path.lstrip("/").split("/"))
        part = f"bytes={first or 0}-{'' if last is None else last}"
        call = GatewayRequest(
            "GET",
            path_of("/api/threads/{}/artifacts/", thread) + steps,
            headers={} if first is None and last is None else {"range": part},
            wait_s=_LONG_S,
        )
        response = await (await self._connected()).fetch(call)
        kind = response.headers.get("content-type", "application/octet-stream")
        return response.content, kind.partition(";")[0].strip()


def _read(file: File) -> tuple[str, bytes, str]:
    if isinstance(file, tuple):
        name, content = file
    else:
        name, content = Path(file).name, Path(file).read_bytes()
    return name, content, guess_type(name)[0] or "application/octet-stream"
