"""The gateway: thin HTTP routes over `thalweg.app`.

Two rules: a route says what comes in and what goes out, and the application does the rest; whose
things a request reaches is decided at the door, and nowhere behind it.
"""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.gateway.create import create_app

__all__ = ["create_app"]

__getattr__, __dir__ = lazily(__name__, {"create_app": "thalweg.gateway.create"})
