"""The base of every shape of the API: frozen, closed, serialized as JSON."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
)

from thalweg.archive import parse_thread_id
from thalweg.archive.base import MAX_ID_BYTES
from thalweg.engine.entries import stored_text


class Shape(BaseModel):
    """A value of the API. Unsupported fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*")
    @classmethod
    def _replace_surrogates(cls, value: object) -> object:
        """Replace lone surrogates, for which UTF-8 has no bytes: models and tools return some."""
        return stored_texts(value)


def stored_texts(value: Any) -> Any:  # noqa: ANN401 (of any field)
    """Return a value with its texts as they are read back from UTF-8; see `stored_text`."""
    if isinstance(value, str):
        return stored_text(value)
    if isinstance(value, dict):
        return {stored_texts(key): stored_texts(one) for key, one in value.items()}
    return type(value)(map(stored_texts, value)) if type(value) in {list, tuple} else value


Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
]
"""The id of a run or the name of an agent: letters, digits, `.`, `_` and `-`."""
ThreadId = Annotated[
    str,
    AfterValidator(parse_thread_id),
    Field(
        json_schema_extra={
            "minLength": 1,
            "maxLength": MAX_ID_BYTES,
            "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$",
        }
    ),
]
"""The id of a thread, of any letters; see `thalweg.archive.parse_thread_id`."""
Moment = datetime
"""With its offset from UTC."""
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""Number of a message or an event; databases fail over larger ones."""
TurnNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""Number of a turn, which is one model call of its thread."""
