"""`…/uploads` and `…/artifacts`: files that go to an agent, and what it made of them."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, File, Header, Path, Query, Response, UploadFile
from fastapi.responses import StreamingResponse

from thalweg.errors import ThalwegError, ThreadExistsError
from thalweg_server.api.files import Artifacts, Uploads
from thalweg_server.api.threads import NewThread
from thalweg_server.app import Tenant
from thalweg_server.gateway.access import Mine, Name, ThreadId, problems
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.uploads.serving import answer_for

files = APIRouter(prefix="/api/threads/{thread}", tags=["files"], route_class=GatewayRoute)
_STEP = 1 << 20
_BYTES = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
_DOWNLOADS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": _BYTES},
    206: {"description": "The part asked for.", "content": _BYTES},
    304: {"description": "Not modified."},
}


@files.post("/uploads", status_code=201, responses=problems(409))
async def upload_file(
    mine: Mine,
    thread: ThreadId,
    sent: Annotated[list[UploadFile], File(alias="files", description="One or more files.")],
) -> Uploads:
    """Upload files to a thread: all of them, or none if one is refused.

    A missing thread is created. The text of a document is extracted to a file next to it, for the
    agent to read.
    """
    made = []
    try:
        for file in sent:
            made.append(await mine.files.upload(thread, file.filename or "", _chunks(file)))  # noqa: PERF401 (what was made is needed where one fails)
    except ThalwegError:
        for upload in made:
            await mine.files.delete_upload(thread, upload.name)
        raise
    with suppress(ThreadExistsError):
        await mine.threads.create(NewThread(id=thread))
    return Uploads(items=tuple(made))


@files.get("/uploads")
async def list_uploads(mine: Mine, thread: ThreadId) -> Uploads:
    """List files that were sent to a thread."""
    await mine.threads.get(thread)
    return Uploads(items=await mine.files.uploads(thread))


@files.delete("/uploads/{name}", status_code=204)
async def delete_upload(
    mine: Mine, thread: ThreadId, name: Annotated[Name, Path(description="As it is listed.")]
) -> None:
    """Delete a file that was sent, and its text."""
    await mine.files.delete_upload(thread, name)


@files.get("/artifacts")
async def list_artifacts(mine: Mine, thread: ThreadId) -> Artifacts:
    """List files that the agent of a thread made."""
    await mine.threads.get(thread)
    return await mine.files.artifacts(thread)


@files.get(
    "/artifacts/{path:path}",
    response_class=StreamingResponse,
    responses={**_DOWNLOADS, **problems(416)},
)
async def download_artifact(
    mine: Mine,
    thread: ThreadId,
    path: Annotated[str, Path(max_length=4_096, description="As it is listed.")],
    inline: Annotated[  # noqa: FBT002 (a query has no positions)
        bool, Query(description="To be shown, where it is of a kind that a browser does not run.")
    ] = False,
    range_: Annotated[
        str | None, Header(alias="Range", max_length=200, description="`bytes=0-99`")
    ] = None,
    if_range: Annotated[str | None, Header(max_length=200)] = None,
    if_none_match: Annotated[str | None, Header(max_length=2_000)] = None,
) -> Response:
    """Fetch a file of a thread, or a part of it; what was sent, too."""
    found = await mine.files.stat(thread, f"/{path.lstrip('/')}")
    told = answer_for(
        found,
        range_header=range_,
        if_range=if_range,
        if_none_match=if_none_match,
        inline=inline,
    )
    if told.status == _NO_SUCH_PART:
        said = f"{found.path} has {found.size:,} bytes; {range_} is after its end"
        headers = {"Content-Range": told.headers["Content-Range"]}
        raise GatewayRefusal(_NO_SUCH_PART, "file.range", said, headers)
    if told.part is None:
        return Response(None, told.status, told.headers)
    body = _read(mine, thread, found.path, told.part)
    return StreamingResponse(body, told.status, told.headers)


_NO_SUCH_PART = 416


async def _chunks(file: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await file.read(_STEP):
        yield chunk


async def _read(mine: Tenant, thread: str, path: str, part: range) -> AsyncIterator[bytes]:
    for start in range(part.start, part.stop, _STEP):
        yield await mine.files.read(thread, path, start, min(start + _STEP, part.stop))
