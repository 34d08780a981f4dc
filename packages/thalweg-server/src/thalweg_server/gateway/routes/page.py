"""`/docs`: the API to read and to try in a browser, with nothing taken from the internet."""

from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

page = APIRouter(include_in_schema=False)
_FILES = Path(__file__).with_name("docs_page")
"""The page; its script is a file of its own, so that the page needs no inline script."""
_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
}


@page.get("/docs")
async def docs() -> FileResponse:
    """Return the page."""
    return FileResponse(_FILES / "page.html", headers=_POLICY)


@page.get("/")
async def root(request: Request) -> RedirectResponse:
    """Show the way."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/docs")


def shows_its_page(application: FastAPI) -> None:
    """Let an application have the page, and its scripts and styles."""
    application.include_router(page)
    spec = find_spec("fastapi_offline")
    assert spec is not None  # noqa: S101 (the extra `server` brings it)
    assert spec.origin is not None  # noqa: S101
    assets = StaticFiles(directory=Path(spec.origin).parent / "static")
    application.mount("/docs/assets", assets)
    application.mount("/docs", StaticFiles(directory=_FILES))
