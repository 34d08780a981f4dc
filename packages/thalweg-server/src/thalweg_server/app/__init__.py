"""The composition root: builds the parts of the application from settings, and their use by owner.

Two rules: a `Tenant` reaches one owner's objects and no other's, for any ids that a caller passes;
each part receives its dependencies here and looks up none.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_server.app.files import ThreadFiles
    from thalweg_server.app.opening import App, Tenant, open_app
    from thalweg_server.uploads.disk import open_places

__all__ = ["App", "Tenant", "ThreadFiles", "open_app", "open_places"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "App": "thalweg_server.app.opening",
        "Tenant": "thalweg_server.app.opening",
        "ThreadFiles": "thalweg_server.app.files",
        "open_app": "thalweg_server.app.opening",
        "open_places": "thalweg_server.uploads.disk",
    },
)
