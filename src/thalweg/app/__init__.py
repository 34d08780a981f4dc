"""The composition root: settings in, running parts out; and all that one owner can reach.

Two rules: who holds a `Tenant` reaches one owner's things and no other's, whatever ids are
asked for; what a part needs is given to it here, and nothing is fetched from elsewhere.
"""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.app.opening import App, open_app
    from thalweg.app.tenant import Tenant

__all__ = ["App", "Tenant", "open_app"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "App": "thalweg.app.opening",
        "Tenant": "thalweg.app.tenant",
        "open_app": "thalweg.app.opening",
    },
)
