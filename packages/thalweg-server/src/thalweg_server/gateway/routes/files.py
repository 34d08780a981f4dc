"""`…/uploads` and `…/artifacts`: files sent to an agent, and files made by it."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, File, Header, Path, Query, Response, UploadFile
from fastapi.responses import StreamingResponse

from thalweg.errors import ThalwegError
from thalweg_server.api.files import Artifacts, Uploads
from thalweg_server.app import Tenant
from thalweg_server.gateway.access import CurrentTenant, Name, ThreadId, problems
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
    tenant: CurrentTenant,
    thread: ThreadId,
    sent: Annotated[list[UploadFile], File(alias="files", description="One or more files.")],
) -> Uploads:
    """Upload files to a thread: all of them, or none if one is refused.

    A missing thread is created. The text of a document is extracted to a file next to it, for the
    agent to read.
    """
    await tenant.threads.check_writable(thread)
    made = []
    try:
        for file in sent:
            content = await file.read(tenant.files.policy.max_file_bytes + 1)
            made.append(await tenant.files.upload(thread, file.filename or "", content))
    except ThalwegError:
        for upload in made:
            await tenant.files.delete_upload(thread, upload.name)
        raise
    await tenant.threads.touch(thread)
    return Uploads(items=tuple(made))


@files.get("/uploads")
async def list_uploads(tenant: CurrentTenant, thread: ThreadId) -> Uploads:
    """List files that were sent to a thread."""
    await tenant.threads.get(thread)
    return Uploads(items=await tenant.files.uploads(thread))


@files.delete("/uploads/{name}", status_code=204)
async def delete_upload(
    tenant: CurrentTenant,
    thread: ThreadId,
    name: Annotated[Name, Path(description="As it is listed.")],
) -> None:
    """Delete a file that was sent, and its text."""
    await tenant.files.delete_upload(thread, name)


@files.get("/artifacts")
async def list_artifacts(tenant: CurrentTenant, thread: ThreadId) -> Artifacts:
    """List files that the agent of a thread made."""
    await tenant.threads.get(thread)
    return await tenant.files.artifacts(thread)


@files.get(
    "/artifacts/{path:path}",
    response_class=StreamingResponse,
    responses={**_DOWNLOADS, **problems(416)},
)
async def download_artifact(
    tenant: CurrentTenant,
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
    """Fetch a file of a thread, or a part of it; uploads, too."""
    found = await tenant.files.stat(thread, f"/{path.lstrip('/')}")
    served = answer_for(
        found,
        range_header=range_,
        if_range=if_range,
        if_none_match=if_none_match,
        inline=inline,
    )
    if served.status == _NO_SUCH_PART:
        detail = f"{found.path} has {found.size:,} bytes; {range_} is after its end"
        headers = {"Content-Range": served.headers["Content-Range"]}
        raise GatewayRefusal(_NO_SUCH_PART, "file.range", detail, headers)
    if served.part is None:
        return Response(None, served.status, served.headers)
    body = _read(tenant, thread, found.path, served.part)
    return StreamingResponse(body, served.status, served.headers)


_NO_SUCH_PART = 416


async def _read(tenant: Tenant, thread: str, path: str, part: range) -> AsyncIterator[bytes]:
    for start in range(part.start, part.stop, _STEP):
        yield await tenant.files.read(thread, path, start, min(start + _STEP, part.stop))
