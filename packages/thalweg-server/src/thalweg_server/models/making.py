"""Making a chat model."""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from thalweg.engine.extras import extra_of, install_line
from thalweg.engine.sections import name_remedy
from thalweg.errors import ConfigError, MissingExtraError
from thalweg_server.models.providers import PROVIDERS, ModelProvider, ask_for_key, provider
from thalweg_server.settings import ModelSettings, Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

COMPATIBLE = "openai"
"""The provider whose API others implement, and the default for an address alone."""
SERVED_WINDOW = 8_192
"""Default tokens of a window for a model that Ollama loads on demand.

A larger one takes memory that may not be available, and on a CPU a full one takes minutes to
process; a smaller one has little space in addition to the tools of an agent."""


def chat_model(settings: ModelSettings) -> "BaseChatModel":
    """Return one of the models of the settings.

    Args:
        settings: The settings of the model.

    Raises:
        ConfigError: Its package is not installed, its key is missing, or a setting is invalid.
    """
    return make(settings, f"models.{settings.name}")


def model_by_name(name: str, settings: Settings) -> "BaseChatModel":
    """Return a model by its name, without any request.

    Args:
        name: One of `models:` in the settings; `ollama:NAME`; `provider:model` of
            `init_chat_model`; or `openai:NAME@http://host/v1` for any server with that API.
        settings: The settings to search for names first.

    Raises:
        ConfigError: There is no such model, or it cannot be built here.
    """
    for one in settings.models:
        if one.name == name:
            return chat_model(one)
    return make(_named(name, settings), name)


def make(settings: ModelSettings, where: str) -> "BaseChatModel":
    """Create a requested model.

    Args:
        settings: The request.
        where: The source of the request, for errors: `models.fast`, or the name as it was typed.

    Raises:
        ConfigError: It cannot be created here; names the missing part.
    """
    settings = _with_provider(settings)
    if settings.use:
        model = _of_class(settings, settings.use, where)
    elif settings.provider == COMPATIBLE and _is_elsewhere(settings):
        model = _compatible(settings, where)
    else:
        model = _of_provider(settings, where)
    limit(model, settings.window, settings.max_output)
    return model


def _named(name: str, settings: Settings) -> ModelSettings:
    """Read a name as people type it: `provider:model`, or with `@http://host`.

    Raises:
        ConfigError: The name is empty.
    """
    provider, model = _split(name)
    address = ""
    if provider and "@http" in model:
        model, _, address = model.rpartition("@")
    if not model:
        called = ", ".join(one.name for one in settings.models)
        fix = f"write provider:model{f', or one of {called}' if called else ''}"
        raise ConfigError("model", f"{name!r} names no model", fix)
    return ModelSettings(
        name=name, model=model, provider=provider or None, base_url=address or None
    )


def _with_provider(settings: ModelSettings) -> ModelSettings:
    """Return the settings with the provider that the name of the model begins with, if any."""
    if settings.provider or settings.use:
        return settings
    named, model = (COMPATIBLE, settings.model) if settings.base_url else _split(settings.model)
    return settings.model_copy(update={"provider": named or None, "model": model})


def _split(name: str) -> tuple[str, str]:
    """Separate a provider from its model; a colon may belong to the model (`qwen3:4b`)."""
    provider, colon, model = name.partition(":")
    if not colon or not provider.isidentifier():
        return "", name
    return provider.lower(), model


def limit(model: "BaseChatModel", window: int | None, output: int | None) -> None:
    """Write configured limits into a model's profile.

    The context engine reads the profile first. A configured limit replaces both of LangChain's: its
    figures belong together.
    """
    if window is None and output is None:
        return
    known: dict[str, Any] = {**(model.profile or {})}
    if window is not None:
        known["max_input_tokens"] = window
        known["max_output_tokens"] = output or min(_LONGEST, window // 8)
    else:
        known["max_output_tokens"] = output
    model.profile = known  # type: ignore[assignment]  # of LangChain's own keys


_LONGEST = 8_192
"""Tokens kept free for an answer of unsaid length, as the context engine has it."""


def _is_elsewhere(settings: ModelSettings) -> bool:
    """Return whether OpenAI's API is used at another address than its own."""
    address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or ""
    address = address or os.environ.get("OPENAI_API_BASE") or ""
    return bool(address) and ".openai.com" not in address


def _compatible(settings: ModelSettings, where: str) -> "BaseChatModel":
    known = provider(COMPATIBLE) or ModelProvider(COMPATIBLE, "")
    compatible = _import(where, "thalweg_server.models.compatible", known)
    key = settings.api_key or os.environ.get("OPENAI_API_KEY") or "none"
    arguments = {"model": settings.model, "api_key": key, **_arguments(settings, known)}
    return _made(where, compatible.CompatibleChat, arguments)


def _of_provider(settings: ModelSettings, where: str) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 (takes seconds)

    known = provider(settings.provider or "")
    if known is not None:
        _import(where, known.module, known)
        if settings.api_key is None and not settings.base_url:
            ask_for_key(where, known)
    arguments = _arguments(settings, known or ModelProvider(settings.provider or "", ""))
    return _made(
        where,
        lambda **given: init_chat_model(settings.model, model_provider=settings.provider, **given),
        arguments,
    )


def _arguments(settings: ModelSettings, known: ModelProvider) -> dict[str, Any]:
    """Return the settings under the names of this provider's integration."""
    arguments: dict[str, Any] = {
        known.key_argument: settings.api_key,
        known.url_argument: settings.base_url or None,
        known.output_argument: settings.max_output,
    }
    if known.window_argument:
        arguments[known.window_argument] = settings.window or SERVED_WINDOW
    arguments = {name: value for name, value in arguments.items() if name and value is not None}
    return arguments | settings.arguments()


def _of_class(settings: ModelSettings, use: str, where: str) -> "BaseChatModel":
    """Make a model of a class that is named, as `package:Class`."""
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 (takes seconds)

    place, _, called = use.partition(":")
    package = place.partition(".")[0]
    known = next((one for one in PROVIDERS if one.module == package), None)
    module = _import(where, place, known)
    kind = getattr(module, called, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseChatModel)):
        there = [name for name in dir(module) if name.startswith("Chat")]
        problem = f"{place} has no chat model {called!r}"
        raise ConfigError(where, problem, name_remedy(called, there, "name a class of it"))
    return _made(where, kind, _as_fields(settings, kind, where))


def _as_fields(settings: ModelSettings, kind: "type[BaseChatModel]", where: str) -> dict[str, Any]:
    """Return the settings under the field names of a class.

    Raises:
        ConfigError: It has no such field.
    """
    fields = set(kind.model_fields)
    fields |= {field.alias for field in kind.model_fields.values() if field.alias}
    arguments: dict[str, Any] = settings.arguments()
    for setting, value in (
        ("model", settings.model),
        ("api_key", settings.api_key),
        ("base_url", settings.base_url or None),
        ("max_output", settings.max_output),
        ("window", settings.window),
    ):
        if value is None:
            continue
        called = next((name for name in _FIELDS[setting] if name in fields), None)
        if called is not None:
            arguments.setdefault(called, value)
        elif setting != "window":  # which the profile tells in any case
            place, problem = f"{where}.{setting}", f"{kind.__name__} takes no {setting}"
            fix = f"remove it, or use the field that it has: {', '.join(sorted(fields))}"
            raise ConfigError(place, problem, fix)
    return arguments


_FIELDS = {
    "model": ("model", "model_name", "model_id", "azure_deployment", "deployment_name"),
    "api_key": ("api_key", "cohere_api_key"),
    "base_url": ("azure_endpoint", "base_url", "api_base", "endpoint", "endpoint_url"),
    "max_output": ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens"),
    "window": ("num_ctx",),
}
"""Fields of integrations for one thing, the first that a class has counts."""


def _import(where: str, module: str, known: ModelProvider | None) -> Any:  # noqa: ANN401 (a module)
    """Import the module that a model needs.

    Raises:
        ConfigError: It is not installed.
    """
    package = module.partition(".")[0]
    install = known.install if known else install_line(package.replace("_", "-"))
    kind = MissingExtraError if extra_of(package) else ConfigError
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        name = missing.name or package
        problem = f"the package {name.partition('.')[0]} is not installed"
        if name.partition(".")[0] == package and name != package:
            raise ConfigError(where, f"there is no module {name}", "check its name") from None
        raise kind(where, problem, install) from missing


def _made(
    where: str, make_one: "Callable[..., BaseChatModel]", arguments: Mapping[str, Any]
) -> "BaseChatModel":
    """Call a constructor, and convert its errors to ours.

    Raises:
        ConfigError: It cannot be built with these arguments.
    """
    from langchain_core.exceptions import LangChainException  # noqa: PLC0415 (takes seconds)

    try:
        return make_one(**arguments)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, (where, *first["loc"])))
        raise ConfigError(path, first["msg"], "fix the constructor's arguments") from None
    except ImportError as missing:
        problem = str(missing).splitlines()[0]
        package = (missing.name or "").partition(".")[0].replace("_", "-")
        fix = install_line(package) if package else "install its package"
        raise ConfigError(where, problem, fix) from missing
    except (LangChainException, TypeError, ValueError) as problem:
        message = " ".join(str(problem).split())[:300]
        fix = (
            "write provider:model, or openai:NAME@http://HOST:PORT/v1 for a server that you run, "
            "and check the options next to it"
        )
        raise ConfigError(where, message, fix) from problem
