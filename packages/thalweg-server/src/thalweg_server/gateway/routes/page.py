"""`/`: the web page; `/docs`: the API to read and to try. Nothing is taken from the internet."""

from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
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
_WEB = Path(__file__).parents[2] / "web"
"""The web page, which `scripts.page` builds from `packages/thalweg-server/page`."""
_WEB_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    ),
    "Cache-Control": "no-cache",
}


@page.get("/docs")
async def docs() -> FileResponse:
    """Return the page."""
    return FileResponse(_FILES / "page.html", headers=_POLICY)


@page.get("/")
async def root() -> FileResponse:
    """Return the web page."""
    return FileResponse(_WEB / "index.html", headers=_WEB_POLICY)


def shows_its_page(application: FastAPI) -> None:
    """Let an application have the page, and its scripts and styles."""
    application.include_router(page)
    spec = find_spec("fastapi_offline")
    assert spec is not None  # noqa: S101 (the extra `server` brings it)
    assert spec.origin is not None  # noqa: S101
    assets = StaticFiles(directory=Path(spec.origin).parent / "static")
    application.mount("/docs/assets", assets)
    application.mount("/docs", StaticFiles(directory=_FILES))
    application.mount("/page", StaticFiles(directory=_WEB / "page", check_dir=False))
