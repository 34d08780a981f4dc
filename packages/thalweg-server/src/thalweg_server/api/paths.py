"""Paths of the API with names in them: how a client writes them, and how the gateway reads them."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

SLASH = "\udc2f"
"""In the path of `routed_path`: a `/` inside a name. No path that was decoded as UTF-8 has it."""


def path_of(template: str, *names: object) -> str:
    """Return a path with quoted names: each remains one segment.

    Example:
        >>> path_of("/api/threads/{}/runs", "a/b c"), path_of("/api/threads/{}", "..")
        ('/api/threads/a%2Fb%20c/runs', '/api/threads/%2E%2E')
    """
    return template.format(*(_quoted(str(name)) for name in names))


def _quoted(name: str) -> str:
    """Quote one segment; segments of dots would be removed from the path on its way."""
    return name.replace(".", "%2E") if name in {".", ".."} else quote(name, safe="")


def routed_path(scope: Mapping[str, Any]) -> str:
    r"""Return the decoded path of an ASGI request, with `SLASH` for each quoted `/`.

    Example:
        >>> routed_path({"path": "/a/b c/d", "raw_path": b"/a%2Fb%20c/d"}).split("/")
        ['', 'a\udc2fb c', 'd']
    """
    path: str = scope["path"]
    raw = bytes(scope.get("raw_path") or b"").decode("latin-1")
    routed = unquote(re.sub("%2f", SLASH, raw, flags=re.IGNORECASE))
    return routed if routed.replace(SLASH, "/") == path else path


def path_below_root(scope: Mapping[str, Any]) -> str:
    """Return the path that routes are compared with: without the root path, as Starlette does.

    Example:
        >>> path_below_root({"path": "/agents/ok", "root_path": "/agents"})
        '/ok'
        >>> path_below_root({"path": "/agentsok", "root_path": "/agents"})
        '/agentsok'
    """
    rest: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return rest if not rest or rest.startswith("/") else str(scope["path"])
