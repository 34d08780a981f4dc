"""Convert messages between the dialects of providers and logs and this package's own types.

Two rules: an unmodified message is written as the very object it was read from (for a
provider's response, without the fields that a request refuses); a field returns only to the
dialect it came from (an `extra` is `{wire: {field: value}}`), and so does reasoning, because
every provider rejects another provider's.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.engine.wires.base import Note, Wire
    from thalweg.engine.wires.registry import READERS, WIRES

__all__ = ["READERS", "WIRES", "Note", "Wire"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Note": "thalweg.engine.wires.base",
        "READERS": "thalweg.engine.wires.registry",
        "WIRES": "thalweg.engine.wires.registry",
        "Wire": "thalweg.engine.wires.base",
    },
)
