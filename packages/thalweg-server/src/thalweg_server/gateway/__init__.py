"""The gateway: thin HTTP routes over `thalweg_server.app`.

Two rules: a route declares its input and output, and the application does the rest; authentication
alone decides which owner's objects a request can reach.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_server.gateway.create import create_app

__all__ = ["create_app"]

__getattr__, __dir__ = lazy_exports(__name__, {"create_app": "thalweg_server.gateway.create"})
