"""`/docs`: the API to read and to try in a browser, with nothing taken from the internet."""

from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from thalweg.server.gateway.document import TITLE

page = APIRouter(include_in_schema=False)
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}/docs/assets/swagger-ui.css">
<link rel="stylesheet" href="{root}/docs/look.css">
</head>
<body>
<div id="api"></div>
<script src="{root}/docs/assets/swagger-ui-bundle.js"></script>
<script src="{root}/docs/start.js"></script>
</body>
</html>
"""
_START = """\
SwaggerUIBundle({
  url: "../openapi.json".replace("../", location.pathname.replace(/docs\\/?$/, "")),
  dom_id: "#api",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  persistAuthorization: true,
  tryItOutEnabled: true,
  requestSnippetsEnabled: true,
  syntaxHighlight: { theme: "nord" },
});
"""
_LOOK = """\
body { margin: 0; }
.swagger-ui .topbar { display: none; }
.swagger-ui .info { margin: 28px 0 12px; }
.swagger-ui .info .title { font-weight: 600; }
.swagger-ui .info hgroup.main > a, .swagger-ui .servers-title { display: none; }
"""
_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
}


@page.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """Return the page."""
    root = request.scope.get("root_path", "")
    return HTMLResponse(_PAGE.format(title=TITLE, root=root), headers=_POLICY)


@page.get("/docs/start.js")
async def start() -> Response:
    """Return its start script: a separate file, so that the page needs no inline script."""
    return Response(_START, media_type="text/javascript")


@page.get("/docs/look.css")
async def look() -> Response:
    """Return its stylesheet."""
    return Response(_LOOK, media_type="text/css")


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
