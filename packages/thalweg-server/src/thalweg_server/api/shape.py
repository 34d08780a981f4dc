"""The base of every shape of the API: frozen, closed, serialized as JSON."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Shape(BaseModel):
    """A value of the API. Unsupported fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
]
"""An id that is safe in a path: letters, digits, `.`, `_` and `-`."""
Moment = datetime
"""With its offset from UTC."""
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""Number of a turn, a message or an event; databases fail over larger ones."""
