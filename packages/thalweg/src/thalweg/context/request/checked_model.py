"""A chat model whose requests are checked once more before they go to the provider.

The additions of other middleware and of LangChain itself are complete only when a request reaches
the model; the format of messages and the model's own settings are visible only in the body that
LangChain's clients build in one method. So the model is replaced by a double: an instance of the
same class for `isinstance`, with the same state, whose messages and bodies pass through one
function each. A copy of a double by other middleware is a double, too.

A double shares its model's connections and owns none of them: when it is collected, the
destructor of the model's class does not run.
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
BodyTransform = Callable[[Body], Body]
"""Returns the body to send from the one that was built, which it does not change."""
LastCheck = Callable[[Sequence[BaseMessage]], list[BaseMessage]]
"""Returns the messages to send, system prompt included, from those that the model received."""
_BUILDER_METHODS = ("_get_request_payload", "_prepare_request")
"""The methods that build a body: of OpenAI's and Anthropic's clients, of Google's."""
_READER_METHOD = "_convert_input"
"""The method with which every chat model reads its input."""


@dataclass(frozen=True, slots=True)
class _Hooks:
    transform: BodyTransform | None = None
    check: LastCheck | None = None


def with_transform(model: BaseChatModel, transform: BodyTransform) -> BaseChatModel:
    """Make the double of a model; the model itself where its client has no such method."""
    return _with_hooks(model, lambda hooks: replace(hooks, transform=transform), _BUILDER_METHODS)


def with_transforms(
    request: ModelRequest[Any], *transforms: BodyTransform | None
) -> ModelRequest[Any]:
    """Return a request whose body passes through the functions, in order, when it is sent."""
    active = [transform for transform in transforms if transform is not None]
    if not active:
        return request

    def transform(body: Body) -> Body:
        for change in active:
            body = change(body)
        return body

    return request.override(model=with_transform(request.model, transform))


def with_last_check(model: BaseChatModel, check: LastCheck) -> BaseChatModel:
    """Return a copy of a model with the check; the model itself if it is chosen when called."""
    return _with_hooks(model, lambda hooks: replace(hooks, check=check), (_READER_METHOD,))


def changed_copy(model: BaseChatModel, **update: object) -> BaseChatModel:
    """Return a copy of a model with other fields, which owns nothing that the two share.

    LangChain's `model_copy` shares a client, and a destructor of the copy would close it.
    """
    return _make_double(model, getattr(model, _HOOKS_ATTRIBUTE, None)).model_copy(update=update)


def with_kept_settings(model: BaseChatModel) -> BaseChatModel:
    """Return a model that keeps its bound settings when tools are bound.

    `bind_tools` of a binding binds the model inside of it, and loses stop words, tags or retries:
    LangChain does so for every agent with tools. An agent that has only our tools keeps them.
    """
    if getattr(model, "bound", None) is None:
        return model
    keeping: BaseChatModel = _copy_as(model, _settings_keeping_class(type(model)))
    return keeping


@cache
def _settings_keeping_class(kind: type[BaseChatModel]) -> type[BaseChatModel]:
    def bind_tools(self: Any, tools: Sequence[Any], **settings: Any) -> Any:  # noqa: ANN401 (LangChain's)
        inner = with_kept_settings(self.bound)
        return self.model_copy(update={"bound": inner.bind_tools(tools, **settings)})

    members = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "bind_tools": bind_tools,
    }
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(members))


def _copy_as(model: BaseChatModel, kind: type[BaseChatModel]) -> BaseChatModel:
    """Return a model with the same state, of another class."""
    copied = object.__new__(kind)  # the class's own `__new__` could register or open something
    for attribute in _STATE_ATTRIBUTES:
        object.__setattr__(copied, attribute, getattr(model, attribute))
    return copied


def _with_hooks(
    model: BaseChatModel, change: Callable[[_Hooks], _Hooks], methods: Sequence[str]
) -> BaseChatModel:
    bound = getattr(model, "bound", None)
    if bound is not None:
        hooked = _with_hooks(bound, change, methods)
        return model if hooked is bound else model.model_copy(update={"bound": hooked})
    if not any(hasattr(type(model), method) for method in methods):
        return model
    return _make_double(model, change(getattr(model, _HOOKS_ATTRIBUTE, None) or _Hooks()))


def _make_double(model: BaseChatModel, hooks: _Hooks | None) -> BaseChatModel:
    kind = type(model)
    double = kind if hasattr(kind, _OWNER_ATTRIBUTE) else _double_class(kind)
    copied = _copy_as(model, double)
    object.__setattr__(copied, _HOOKS_ATTRIBUTE, hooks)
    object.__setattr__(copied, _OWNER_ATTRIBUTE, model)
    return copied


_STATE_ATTRIBUTES = (
    "__dict__",
    "__pydantic_fields_set__",
    "__pydantic_extra__",
    "__pydantic_private__",
)
"""All that a model of pydantic holds: shared, so that a connection opened by one serves both."""
_HOOKS_ATTRIBUTE = "_thalweg_hooks"
_OWNER_ATTRIBUTE = "_thalweg_owner"
"""The model whose state a double shares. It lives as long as the double: its destructor, or a
`weakref.finalize` of it, would else close a connection that the double uses."""


@cache
def _double_class(kind: type[BaseChatModel]) -> type[BaseChatModel]:
    def read(self: BaseChatModel, model_input: Any) -> PromptValue:  # noqa: ANN401 (theirs)
        value: PromptValue = getattr(kind, _READER_METHOD)(self, model_input)
        hooks: _Hooks | None = getattr(self, _HOOKS_ATTRIBUTE, None)
        if hooks is None or hooks.check is None:
            return value
        return ChatPromptValue(messages=hooks.check(value.to_messages()))

    def copy(self: BaseChatModel) -> BaseChatModel:
        copied = kind.__copy__(self)
        object.__setattr__(copied, _HOOKS_ATTRIBUTE, getattr(self, _HOOKS_ATTRIBUTE, None))
        object.__setattr__(copied, _OWNER_ATTRIBUTE, self)
        return copied

    def deep_copy(self: BaseChatModel, memo: dict[int, Any] | None = None) -> BaseChatModel:
        copied = kind.__deepcopy__(self, memo)  # it shares nothing, so it has no owner
        if copied is not self:
            object.__setattr__(copied, _HOOKS_ATTRIBUTE, getattr(self, _HOOKS_ATTRIBUTE, None))
        return copied

    def reduce(self: BaseChatModel) -> tuple[Any, ...]:
        # A pickled double is a model of its class: hooks belong to one request.
        return _new, (kind,), self.__getstate__()

    def delete(self: BaseChatModel) -> None:
        if getattr(self, _OWNER_ATTRIBUTE, None) is None:  # a deep copy
            kind.__del__(self)  # type: ignore[attr-defined]

    members: dict[str, Any] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__slots__": (_HOOKS_ATTRIBUTE, _OWNER_ATTRIBUTE),
        "__copy__": copy,
        "__deepcopy__": deep_copy,
        "__reduce__": reduce,
        _READER_METHOD: read,
    }
    if hasattr(kind, "__del__"):
        members["__del__"] = delete
    members |= {name: _builder(kind, name) for name in _BUILDER_METHODS if hasattr(kind, name)}
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(members))


def _new(kind: type[BaseChatModel]) -> BaseChatModel:
    return kind.__new__(kind)


def _builder(kind: type[BaseChatModel], name: str) -> Callable[..., Body]:
    def build(self: BaseChatModel, *args: Any, **settings: Any) -> Body:  # noqa: ANN401 (theirs)
        body: Body = getattr(kind, name)(self, *args, **settings)
        hooks: _Hooks | None = getattr(self, _HOOKS_ATTRIBUTE, None)
        return hooks.transform(body) if hooks is not None and hooks.transform is not None else body

    return build
