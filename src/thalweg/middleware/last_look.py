"""A chat model whose requests are looked at once more, as they leave for the provider.

LangChain's clients build the body of a request in one method. What other middleware adds, what
the model's own settings say and how messages are written is all in it, and nowhere before. So a
model is given a double: of the same class to all who ask, with the same state, whose bodies go
through a function. A double that another middleware copies stays one; where it is replaced by
another model, that one's requests go out as they are.
"""

from collections.abc import Callable
from functools import cache
from types import new_class
from typing import Any

from langchain_core.language_models import BaseChatModel

Body = dict[str, Any]
LastLook = Callable[[Body], Body]
"""Makes the body that is sent of the one that was built, which it leaves as it is."""
_BUILDER = "_get_request_payload"


def with_last_look(model: BaseChatModel, look: LastLook) -> BaseChatModel:
    """Make the double of a model; the model itself where its client has no such method."""
    bound = getattr(model, "bound", None)
    if bound is not None:
        seen = with_last_look(bound, look)
        return model if seen is bound else model.model_copy(update={"bound": seen})
    if not hasattr(type(model), _BUILDER):
        return model
    double = _double_of(type(model))
    made = double.__new__(double)
    for state in _STATE:
        object.__setattr__(made, state, getattr(model, state))
    object.__setattr__(made, _LOOK, look)
    return made


_STATE = (
    "__dict__",
    "__pydantic_fields_set__",
    "__pydantic_extra__",
    "__pydantic_private__",
)
"""All that a model of pydantic holds: shared, so that a connection opened by one serves both."""
_LOOK = "_thalweg_last_look"


@cache
def _double_of(kind: type[BaseChatModel]) -> type[BaseChatModel]:
    def build(self: BaseChatModel, *args: Any, **settings: Any) -> Body:  # noqa: ANN401 (theirs)
        body: Body = getattr(kind, _BUILDER)(self, *args, **settings)
        look: LastLook | None = getattr(self, _LOOK, None)
        return look(body) if look is not None else body

    def copy(self: BaseChatModel) -> BaseChatModel:
        made = kind.__copy__(self)
        object.__setattr__(made, _LOOK, getattr(self, _LOOK, None))
        return made

    members = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__slots__": (_LOOK,),
        "__copy__": copy,
        _BUILDER: build,
    }
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(members))
