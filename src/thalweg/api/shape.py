"""What every shape of the API is: frozen, closed, and told in JSON."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Shape(BaseModel):
    """A value of the API. What it does not know is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
]
"""An id that may stand in a path: letters, digits, `.`, `_` and `-`."""
Moment = datetime
"""With its offset from UTC."""
Limit = Annotated[int, Field(ge=1, le=1000)]
"""How many at most."""
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""Of a turn, a message or an event; databases fail over larger ones."""
