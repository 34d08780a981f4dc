"""A chat model whose requests are checked once more before they go to the provider.

The additions of other middleware and of LangChain itself are complete only when a request reaches
the model; the format of messages and the model's own settings are visible only in the body that
LangChain's clients build in one method. So the model is replaced by a double: an instance of the
same class for `isinstance`, with the same state, whose messages and bodies pass through one
function each. A copy of a double by other middleware is a double, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import new_class
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import ChatPromptValue, PromptValue

Body = dict[str, Any]
LastLook = Callable[[Body], Body]
"""Returns the body to send from the one that was built, which it does not change."""
LastCheck = Callable[[Sequence[BaseMessage]], list[BaseMessage]]
"""Returns the messages to send, system prompt included, from those that the model received."""
_BUILDERS = ("_get_request_payload", "_prepare_request")
"""The methods that build a body: of OpenAI's and Anthropic's clients, of Google's."""
_READER = "_convert_input"
"""The method of every chat model that takes what it is asked."""


@dataclass(frozen=True, slots=True)
class _Hooks:
    look: LastLook | None = None
    check: LastCheck | None = None


def with_last_look(model: BaseChatModel, look: LastLook) -> BaseChatModel:
    """Make the double of a model; the model itself where its client has no such method."""
    return _with_hooks(model, lambda hooks: replace(hooks, look=look), _BUILDERS)


def with_looks(request: ModelRequest[Any], *looks: LastLook | None) -> ModelRequest[Any]:
    """Return a request whose body is changed when it is sent, by one look after the other."""
    made = [look for look in looks if look is not None]
    if not made:
        return request

    def look(body: Body) -> Body:
        for one in made:
            body = one(body)
        return body

    return request.override(model=with_last_look(request.model, look))


def with_last_check(model: BaseChatModel, check: LastCheck) -> BaseChatModel:
    """Make the double of a model; the model itself where it is chosen when it is called."""
    return _with_hooks(model, lambda hooks: replace(hooks, check=check), (_READER,))


def _with_hooks(
    model: BaseChatModel, change: Callable[[_Hooks], _Hooks], methods: Sequence[str]
) -> BaseChatModel:
    bound = getattr(model, "bound", None)
    if bound is not None:
        seen = _with_hooks(bound, change, methods)
        return model if seen is bound else model.model_copy(update={"bound": seen})
    if not any(hasattr(type(model), method) for method in methods):
        return model
    known: _Hooks | None = getattr(model, _HOOKS, None)
    double = _double_of(type(model)) if known is None else type(model)
    made = double.__new__(double)
    for state in _STATE:
        object.__setattr__(made, state, getattr(model, state))
    object.__setattr__(made, _HOOKS, change(known or _Hooks()))
    return made


_STATE = (
    "__dict__",
    "__pydantic_fields_set__",
    "__pydantic_extra__",
    "__pydantic_private__",
)
"""All that a model of pydantic holds: shared, so that a connection opened by one serves both."""
_HOOKS = "_thalweg_hooks"


@cache
def _double_of(kind: type[BaseChatModel]) -> type[BaseChatModel]:
    def read(self: BaseChatModel, asked: Any) -> PromptValue:  # noqa: ANN401 (theirs)
        value: PromptValue = getattr(kind, _READER)(self, asked)
        hooks: _Hooks | None = getattr(self, _HOOKS, None)
        if hooks is None or hooks.check is None:
            return value
        return ChatPromptValue(messages=hooks.check(value.to_messages()))

    def copy(self: BaseChatModel) -> BaseChatModel:
        made = kind.__copy__(self)
        object.__setattr__(made, _HOOKS, getattr(self, _HOOKS, None))
        return made

    members: dict[str, Any] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__slots__": (_HOOKS,),
        "__copy__": copy,
        _READER: read,
    }
    members |= {name: _builder(kind, name) for name in _BUILDERS if hasattr(kind, name)}
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(members))


def _builder(kind: type[BaseChatModel], name: str) -> Callable[..., Body]:
    def build(self: BaseChatModel, *args: Any, **settings: Any) -> Body:  # noqa: ANN401 (theirs)
        body: Body = getattr(kind, name)(self, *args, **settings)
        hooks: _Hooks | None = getattr(self, _HOOKS, None)
        return hooks.look(body) if hooks is not None and hooks.look is not None else body

    return build
