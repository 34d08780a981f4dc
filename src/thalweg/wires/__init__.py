"""The border: message dialects of providers and logs, in and out.

Two rules: a message nobody touched is written as the very object it was read from (of a
provider's response, what a request may hold of it); a field goes back only to the dialect it
came from (an `extra` is `{wire: {field: value}}`), and so does reasoning, which every
provider rejects from another.
"""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.wires.base import Note, Wire
    from thalweg.wires.registry import WIRES
    from thalweg.wires.system import split_system

__all__ = ["WIRES", "Note", "Wire", "split_system"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Note": "thalweg.wires.base",
        "WIRES": "thalweg.wires.registry",
        "Wire": "thalweg.wires.base",
        "split_system": "thalweg.wires.system",
    },
)
