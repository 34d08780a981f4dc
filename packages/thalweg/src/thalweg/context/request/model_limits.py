"""The limits of a chat model, its owner and its prices, as far as its object has them.

Every integration has another name for the same setting, and few have their model's window. Unknown
values are assumed to be small, with a warning (I23).
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from weakref import ref

from thalweg.engine.data_files import read_table
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.undocumented import trace_params
from thalweg.engine.window.model_windows import window_for
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

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
        self._settings = [_settings(bound_model) for bound_model in _bound_models(model)]

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

    Settings are the numbers, texts and mappings among its attributes and those of the models that
    it binds.
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
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in vars(model).copy().items()  # another thread may add to it
        if isinstance(value, (str, int, float, Mapping))
    }


def _bound_models(model: object) -> Iterator[object]:
    for _ in range(_MAX_LAYERS):
        if not hasattr(model, "__dict__"):
            return
        yield model
        model = vars(model).get("bound")


@once_per_model
def limits_of(
    model: "BaseChatModel", *, window: int | None = None, max_output: int | None = None
) -> ModelLimits:
    """Return the limits of a chat model.

    Args:
        model: A chat model, a binding of one, or a configurable one with a default.
        window: Overrides the model's own window; input and output together.
        max_output: Overrides its own limit of the answer.

    Raises:
        ConfigError: An argument is not a possible number of tokens of a model.
    """
    given_window, requested = (
        _checked_tokens("window", window, LEAST_WINDOW),
        _checked_tokens("max_output", max_output, 1),
    )
    objects = tuple(layers(model))
    name = model_name(model)
    profile = _profile(objects)
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
        note = (
            (note + " " + _CONTRADICTION)
            .strip()
            .format(output=output, window=model_window, to=corrected)
        )
        output = corrected
    return ModelLimits(model_window, output, name, source, note)


def limits_for(model: "BaseChatModel", policy: ContextPolicy | None) -> ModelLimits:
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


_MAX_LAYERS = 8
"""Bindings around a model that are looked through."""


@once_per_model
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


def _profile(objects: tuple[object, ...]) -> Mapping[str, object]:
    for layer in objects:
        profile = _read_setting(layer, "profile")
        if isinstance(profile, Mapping) and profile:
            return profile
    return {}


def profile_of(model: "BaseChatModel") -> Mapping[str, object]:
    """Return LangChain's profile of a chat model; empty if it has none."""
    return _profile(tuple(layers(model)))


@once_per_model
def model_name(model: "BaseChatModel") -> str:
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
def provider_of(model: "BaseChatModel") -> str:
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
