"""A chat model: its limits, owner and prices as far as its object has them, and its double.

Every integration has another name for the same setting, and few have their model's window. Unknown
values are assumed to be small, with a warning (I23).

The additions of other middleware and of LangChain itself are complete only when a request reaches
the model; the format of messages and the model's own settings are visible only in the body that
LangChain's clients build in one method. So the model is replaced by a double: an instance of the
same class for `isinstance`, with the same state, whose messages and bodies pass through one
function each. A copy of a double by other middleware is a double, too. A double shares its model's
connections and owns none of them: when it is collected, the destructor of the model's class does
not run.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial, reduce, wraps
from types import new_class
from typing import Any, Literal, TypeVar, cast
from weakref import ref

from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import ChatPromptValue, PromptValue

from thalweg.engine.data_files import read_table
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.undocumented import trace_params
from thalweg.engine.window.model_windows import window_for
from thalweg.engine.wires.repairs import accepts_late_system
from thalweg.errors import ConfigError

Source = Literal["given", "attribute", "profile", "table", "default"]

DEFAULT_WINDOW = 32_000
"""Tokens of an unknown window. Hosted models of the last years accept at least 32,768, so all of
them accept a request that fits. For a model with a larger window, compaction is earlier than
necessary, and a warning reports it. A larger guess would cause refused requests."""
LEAST_WINDOW = 512
"""Least tokens of a chat model's window; a smaller figure counts as unknown."""
MOST_OUTPUT = 8_192
"""Tokens reserved for an answer of unlimited length; an eighth of the window if that is less."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one chat model accepts."""

    window: int
    """Tokens of input and output together."""
    output: int
    """Tokens to keep free for the answer: the model's own setting, if it has one."""
    model: str
    """`provider:name`, see `model_name`."""
    source: Source
    """The source of the window.

    It is the caller; a setting of the model object (`num_ctx`); its LangChain profile; our table
    (`engine/window/model_windows.py`); or a default, because none has it."""
    note: str = ""
    """Assumptions and corrections, as one sentence; empty if there are none."""

    @property
    def input(self) -> int:
        """Tokens a request may fill."""
        return self.window - self.output


Reads = TypeVar("Reads", bound=Callable[..., Any])


class _ModelKey:
    """A chat model as the key of a cache: equal to itself while no setting of it changes."""

    __slots__ = ("_settings", "model")

    def __init__(self, model: object) -> None:
        # Weak, as some models hold gigabytes. While a reference is kept, `ref` returns that one.
        self.model = ref(model)
        self._settings = [*map(_settings, _bound_models(model))]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _ModelKey)
            and other.model is self.model
            and other._settings == self._settings
        )

    def __hash__(self) -> int:
        return hash(id(self.model))


def once_per_model(find: Reads) -> Reads:
    """Cache a value read from a chat model until one of its settings changes.

    Settings are the numbers, texts, mappings and lists of texts among its attributes and those of
    the models that it binds.
    """

    @lru_cache(maxsize=64)
    def found(settings: _ModelKey, *args: Hashable, **kwargs: Hashable) -> object:
        return find(settings.model(), *args, **kwargs)

    @wraps(find)
    def read(model: object, *args: Hashable, **kwargs: Hashable) -> object:
        if not hasattr(model, "__weakref__"):
            return find(model, *args, **kwargs)
        return found(_ModelKey(model), *args, **kwargs)

    return cast("Reads", read)


def _settings(model: object) -> dict[str, object]:
    settings: dict[str, object] = {}
    for name, value in vars(model).copy().items():  # another thread may add to it
        if isinstance(value, (str, int, float)):
            settings[name] = value
        elif isinstance(value, Mapping):
            settings[name] = dict(value)
        elif isinstance(value, list):
            settings[name] = [one for one in value if isinstance(one, str)]
    return settings


def _bound_models(model: object) -> Iterator[object]:
    for _ in range(_MAX_LAYERS):
        if not hasattr(model, "__dict__"):
            return
        yield model
        model = vars(model).get("bound")


def takes_tools(model: BaseChatModel, *, ignores_profile: bool = False) -> bool:
    """Return whether a chat model takes tools, so far as its class and its profile show.

    Its class must bind tools, as the base class only raises. A model that is chosen when it is
    called may bind tools.
    """
    if not ignores_profile and profile_in(tuple(layers(model))).get("tool_calling") is False:
        return False
    *_, innermost = _bound_models(model)
    bind = getattr(type(innermost), "bind_tools", None)
    if bind is None:  # it forwards attributes to other models, or has none
        return hasattr(innermost, "bind_tools")
    return bind is not BaseChatModel.bind_tools


@once_per_model
def limits_of(
    model: BaseChatModel, *, window: int | None = None, max_output: int | None = None
) -> ModelLimits:
    """Return the limits of a chat model.

    Args:
        model: A chat model, a binding of one, or a configurable one with a default.
        window: Overrides the model's own window; input and output together.
        max_output: Overrides its own limit of the answer.

    Raises:
        ConfigError: An argument is not a possible number of tokens of a model.
    """
    given_window = _checked_tokens("window", window, LEAST_WINDOW)
    requested = _checked_tokens("max_output", max_output, 1)
    objects = tuple(layers(model))
    name = model_name(model)
    profile = profile_in(objects)
    profile_output = _token_count(profile.get("max_output_tokens"))
    requested = requested or _first_count(objects, _OUTPUT_NAMES)
    model_window, source = _window(objects, profile, name, given_window)
    if source == "default" and (table_window := window_for(provider_of(model), name)):
        model_window, source = table_window, "table"
    note = _UNKNOWN_WINDOW.format(model=name.strip(":") or "this model", window=model_window)
    note = note if source == "default" else ""
    output = requested or min(MOST_OUTPUT, model_window // 8, profile_output or MOST_OUTPUT)
    if source == "profile":
        model_window = _corrected_window(
            name, provider_of(model), model_window, profile_output or 0, output
        )
    if output >= model_window:
        corrected = min(MOST_OUTPUT, model_window // 8)
        contradiction = _CONTRADICTION.format(output=output, window=model_window, to=corrected)
        note = f"{note} {contradiction}".strip()
        output = corrected
    return ModelLimits(model_window, output, name, source, note)


def limits_for(model: BaseChatModel, policy: ContextPolicy | None) -> ModelLimits:
    """Return the limits of a request to a chat model: the one source of limits for all requests.

    Args:
        model: As for `limits_of`.
        policy: The policy of the agent whose own model it is: its window and its limit of answers
            hold for every request to that model. `None` for a model that was named for another
            purpose, which has limits of its own.

    Raises:
        ConfigError: The policy has no possible number of tokens.
    """
    if policy is None:
        return limits_of(model)
    return limits_of(model, window=policy.window, max_output=policy.max_output)


_UNKNOWN_WINDOW = (
    "the window of {model} is unknown, {window:,} tokens are assumed; set it: "
    "ContextPolicy(window=…), or summarization.window in config.yaml"
)
_CONTRADICTION = (
    "an answer of {output} tokens does not fit a window of {window}, {to} are kept free for it"
)

_TABLE = read_table(__package__, "model_limits.toml")
_OUTPUT_NAMES, _WINDOW_NAMES = tuple(_TABLE["output_names"]), tuple(_TABLE["window_names"])
_KEYWORD_ATTRIBUTES = ("model_kwargs", "extra_body", "options")


def _checked_tokens(name: str, value: int | None, least: int) -> int | None:
    if value is not None and (_token_count(value) or 0) < least:
        raise ConfigError(
            name,
            f"{value} is not a possible number of tokens",
            f"pass {least} or more, or None",
        )
    return value


def _window(
    objects: tuple[object, ...], profile: Mapping[str, object], name: str, given: int | None
) -> tuple[int, Source]:
    if given:
        return given, "given"
    if (served_window := _first_count(objects, _WINDOW_NAMES) or 0) >= LEAST_WINDOW:
        return served_window, "attribute"
    if (profile_window := _token_count(profile.get("max_input_tokens")) or 0) >= LEAST_WINDOW:
        return profile_window, "profile"
    return _TABLE["served_windows"].get(name.partition(":")[0], DEFAULT_WINDOW), "default"


def _corrected_window(name: str, provider: str, figure: int, max_output: int, output: int) -> int:
    for row in _TABLE["readings"]:
        is_match = row["provider"] == provider and re.search(row["model"], name)
        if is_match and figure in row.get("figures", (figure,)):
            # An answer longer than the model's limit reserves nothing of the input.
            reserved = min(output, max_output) if max_output else output
            if row["means"] == "input":
                return figure + reserved
            return min(figure, figure - max_output + reserved) if max_output < figure else figure
    return figure


def layers(model: object) -> Iterator[object]:
    """Yield a model and its wrappers, the outermost first, with bound keywords."""
    for _ in range(_MAX_LAYERS):
        keywords = getattr(model, "kwargs", None)
        if isinstance(keywords, Mapping):
            yield keywords
        yield model
        inner = vars(model).get("bound") if hasattr(model, "__dict__") else None
        if inner is None:
            inner = _configured(model)
        if inner is None:
            return
        model = inner


def _class_names(kind: type) -> frozenset[str]:
    return frozenset(base.__name__ for base in kind.__mro__)


class_names: Callable[[type], frozenset[str]] = cache(_class_names)
"""Returns the names of a class and of its bases."""


_MAX_LAYERS = 8
"""Bindings around a model that are looked through."""


def is_stand_in(model: object) -> bool:
    """Return whether a script answers in place of a model: that costs nothing."""
    client_types = (_text_or_empty(_read_setting(layer, "_llm_type")) for layer in layers(model))
    return any("fake" in kind or kind == "scripted" for kind in client_types)


def _configured(model: object) -> object:
    """Return the default model of `init_chat_model`'s configurable one, or `None`."""
    build = getattr(type(model), "_model", None)
    if build is None or not getattr(model, "_default_config", None):
        return None
    try:
        default_model: object = build(model)
    except (ImportError, TypeError, ValueError):  # no default to build, or not installed
        return None
    return default_model


def _first_count(objects: tuple[object, ...], names: tuple[str, ...]) -> int | None:
    for layer in objects:
        keywords_found = (_read_setting(layer, keywords) for keywords in _KEYWORD_ATTRIBUTES)
        for holder in (layer, *filter(None, keywords_found)):
            for name in names:
                if count := _token_count(_read_setting(holder, name)):
                    return count
    return None


def _read_setting(holder: object, name: str) -> object:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _token_count(value: object) -> int | None:
    """Return a count of tokens, or `None` for an invalid one: 0, -1, infinity, words."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        digits = re.sub(r"(?<=\d)[_,](?=\d)", "", value.strip())
        return int(digits) or None if digits.isdecimal() and len(digits) < _DIGITS else None
    if isinstance(value, (int, float)) and 0 < value < 10**_DIGITS:
        return int(value) or None
    return None


_DIGITS = 12
"""No count of tokens has as many digits."""


def profile_in(objects: tuple[object, ...]) -> Mapping[str, object]:
    """Return LangChain's profile of the model among `layers`; empty if it has none."""
    for layer in objects:
        profile = _read_setting(layer, "profile")
        if isinstance(profile, Mapping) and profile:
            return profile
    return {}


@once_per_model
def model_name(model: BaseChatModel) -> str:
    """Return the name of a chat model as `provider:name`; an unknown part is empty."""
    provider, name = "", ""
    for layer in layers(model):
        params = trace_params(layer)
        provider = provider or _text_or_empty(params.get("ls_provider"))
        name = name or _text_or_empty(params.get("ls_model_name"))
        for attribute in ("model_name", "model", "model_id", "azure_deployment"):
            name = name or _text_or_empty(_read_setting(layer, attribute))
    return f"{provider}:{name.removeprefix('models/')}"


def _text_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""


_HOSTS = ("ollama", "together", "fireworks", "openrouter")


@once_per_model
def provider_of(model: BaseChatModel) -> str:
    """Return the provider whose counts and prices apply to a chat model.

    A gateway (Azure, Bedrock, Vertex, OpenRouter) charges the prices of the model's maker, so there
    the model's name decides; the same holds for OpenAI's client with another address.

    Returns:
        `anthropic`, `openai`, `google`, `deepseek`, `mistral`, `xai`, `groq`, … in lower case;
        empty if unknown.
    """
    service, _, name = model_name(model).partition(":")
    service = service.lower()
    provider = str(_TABLE["servers"].get(service, ""))
    if provider == "openai" and _has_other_address(model):
        provider = ""
    if provider:
        return provider
    if service in _HOSTS[:3]:
        return service
    for maker, pattern in _TABLE["makers"].items():
        if re.search(pattern, name, re.IGNORECASE):
            return str(maker)
    return service if service in _HOSTS else ""


def _has_other_address(model: object) -> bool:
    for layer in layers(model):
        address = _read_setting(layer, "openai_api_base")
        if isinstance(address, str) and address:
            return ".openai.com" not in address
    return False


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
    joined = partial(reduce, lambda body, change: change(body), active)
    return request.override(model=with_transform(request.model, joined))


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


@dataclass(frozen=True, slots=True, eq=False)
class KnownModel:
    """All that a model call reads from the object of a chat model; one for one object."""

    limits: ModelLimits
    provider: str
    is_stand_in: bool
    takes_tools: bool
    with_late_system: BaseChatModel | None
    """A copy that sends late system messages in place; `None` if the model needs none.

    Anthropic's client decides by its profile of the model, which a model newer than the client
    lacks."""


@once_per_model
def known_model(
    model: BaseChatModel, *, window: int | None, max_output: int | None, ignores_profile: bool
) -> KnownModel:
    """Read a chat model; for the arguments see `limits_of` and `takes_tools`."""
    return KnownModel(
        limits=limits_of(model, window=window, max_output=max_output),
        provider=provider_of(model),
        is_stand_in=is_stand_in(model),
        takes_tools=takes_tools(model, ignores_profile=ignores_profile),
        with_late_system=_with_late_system(model),
    )


def _with_late_system(model: BaseChatModel) -> BaseChatModel | None:
    profile = getattr(model, "profile", None) or {}
    is_anthropic = "ChatAnthropic" in class_names(type(model))
    if not is_anthropic or LATE_SYSTEM_KEY in profile or not accepts_late_system(model_name(model)):
        return None
    return changed_copy(model, profile={**profile, LATE_SYSTEM_KEY: True})


LATE_SYSTEM_KEY = "mid_conversation_system_messages"
"""Key in LangChain's profiles: whether a model accepts system messages among the others."""


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

    def delete(self: BaseChatModel, owner: str = _OWNER_ATTRIBUTE) -> None:
        if getattr(self, owner, None) is None:  # a deep copy; a global is gone at the exit
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
