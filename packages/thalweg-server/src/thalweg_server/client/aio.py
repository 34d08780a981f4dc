"""The client, for programs with an event loop.

Its calls for files send them to a thread, and fetch those that its agent made; the calls of the
catalogue return models, skills, usage, and the health of the gateway.
"""

import asyncio
from collections.abc import Iterable, Mapping
from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from thalweg_server.api.catalogue import (
    Health,
    Model,
    Models,
    OwnerUsage,
    Skill,
    Skills,
    ThreadUsage,
)
from thalweg_server.api.files import Artifacts, Uploads
from thalweg_server.client.caller import Caller
from thalweg_server.client.calls import LONG_S
from thalweg_server.client.memory import MemoryCalls
from thalweg_server.client.places import place_of
from thalweg_server.client.runs import RunCalls
from thalweg_server.client.threads import ThreadCalls

if TYPE_CHECKING:  # httpx2 is loaded only by a program that makes a client
    import httpx2

    from thalweg_server.client.connection import Connection
    from thalweg_server.client.places import At

File = str | PathLike[str] | tuple[str, bytes]
"""A file to send: its path, or a name and its content."""
_UPLOADS = "/api/threads/{}/uploads"


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
        return await self._ask(Uploads, "POST", _UPLOADS, thread, files=sent, wait_s=LONG_S)

    async def upload_file(self, thread: str, file: File) -> Uploads:
        """Send one file: see `upload_files`."""
        return await self.upload_files(thread, [file])

    async def list_uploads(self, thread: str) -> Uploads:
        """List the files that were sent to a thread."""
        return await self._ask(Uploads, "GET", _UPLOADS, thread)

    async def delete_upload(self, thread: str, name: str) -> None:
        """Delete a file that was sent to a thread."""
        await self._fetch("DELETE", _UPLOADS + "/{}", thread, name)

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
        place = "/api/threads/{}/artifacts/" + quote(path.lstrip("/"))  # which quotes braces
        return await self._fetch("GET", place, thread, headers=headers, wait_s=LONG_S)


def _read(file: File) -> tuple[str, bytes, str]:
    if isinstance(file, tuple):
        name, content = file
    else:
        name, content = Path(file).name, Path(file).read_bytes()
    return name, content, guess_type(name)[0] or "application/octet-stream"


class CatalogueCalls(Caller):
    """Client calls for models, skills, usage and health."""

    async def health(self) -> Health:
        """Return whether the gateway can work, with the reasons if not."""
        return await self._ask(Health, "GET", "/healthz", takes=frozenset({503}))

    async def metrics(self) -> str:
        """Return the gateway's metrics in Prometheus format."""
        return (await self._fetch("GET", "/metrics")).text

    async def list_models(self) -> Models:
        """List the models that a run may name, the default first."""
        return await self._ask(Models, "GET", "/api/models")

    async def get_model(self, name: str) -> Model:
        """Return the metadata of a model."""
        return await self._ask(Model, "GET", "/api/models/{}", name)

    async def list_skills(self) -> Skills:
        """List the skills that agents can load."""
        return await self._ask(Skills, "GET", "/api/skills")

    async def get_skill(self, name: str) -> Skill:
        """Return a skill, with its text."""
        return await self._ask(Skill, "GET", "/api/skills/{}", name)

    async def get_usage(self) -> OwnerUsage:
        """Return the usage by thread and by model."""
        return await self._ask(OwnerUsage, "GET", "/api/usage")

    async def get_thread_usage(self, thread: str) -> ThreadUsage:
        """Return the usage of a thread, and the fill of its window."""
        return await self._ask(ThreadUsage, "GET", "/api/threads/{}/usage", thread)


class AsyncThalwegClient(CatalogueCalls, MemoryCalls, ThreadCalls, RunCalls, FileCalls):
    """All operations of a gateway, in this process or over HTTP.

    It opens with its first request, or with `async with`; close it with `aclose`.

    Raises (all methods):
        ThalwegError: The same error as in the gateway.
        ClientError: The gateway's answer is no error of Thalweg, or no gateway answers.

    Example:
        ```python
        async with AsyncThalwegClient() as client:
            async for numbered in client.stream("Which rivers meet here?", "geography"):
                print(numbered.seq, numbered.event.type)
        ```
    """

    def __init__(
        self,
        at: "At" = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        agent: str | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Prepare a client.

        Args:
            at: The address of a gateway, or several that share their storage: the next is used if
                one fails. Otherwise settings or the path of a `config.yaml`, for a gateway in this
                process; `None` for the usual places. An ASGI application is used directly.
            key: The key of a gateway that requires one. For one on this machine, the token in the
                data folder (`THALWEG_HOME`, or `.thalweg` here) is used by default.
            owner: In this process: the owner of threads and memory; `local` by default.
            agent: The agent whose own memory is read, changed and used by runs; by default the
                memory that all agents share. Letters, digits, `.`, `_` and `-`.
            timeout_s: Seconds of silence of a gateway before a timeout.

        Raises:
            ConfigError: The address is invalid.
        """
        self._agent = agent
        self._place = place_of(at, key=key, owner=owner, timeout_s=timeout_s)
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; a run in this process resumes when a gateway opens again."""
        async with self._opening:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.aclose()

    async def _connected(self) -> "Connection":
        async with self._opening:
            if self._connection is None:
                self._connection = await self._place.connect()
            return self._connection
