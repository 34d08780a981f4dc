"""Validation of the arguments of middleware, before any run."""

from collections.abc import Callable, Mapping
from typing import Literal, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.errors import ConfigError

Owner = str | Callable[[RunnableConfig], str]
"""The owner of threads, or a function that returns it from the config of a run."""
AgentName = str | Callable[[RunnableConfig], str]
"""Which agent's memory, or how to read it from the config of a run; empty for the one that all
agents share."""
KeptState = Literal["whole", "run"] | int
"""Messages of a thread that the graph's state keeps.

All messages, the newest run, or at least so many of the newest messages."""
DEFAULT_KEPT_MESSAGES = 400
"""Messages that the state keeps by default.

They are the whole of nearly every conversation, some hundred exchanges with tools, at a cost that
does not grow with the thread."""


def as_policy(value: object) -> ContextPolicy:
    """Return a policy; a mapping is parsed with `ContextPolicy.from_mapping`.

    Raises:
        ConfigError: It is neither, or the mapping is invalid.
    """
    if value is None:
        return ContextPolicy()
    if isinstance(value, Mapping):
        return ContextPolicy.from_mapping(value, where="policy")
    if not isinstance(value, ContextPolicy):
        fix = "pass a ContextPolicy, or a mapping with its settings"
        raise ConfigError("policy", f"it is {short_value(value)}", fix)
    return value


def as_owner(value: object) -> Owner:
    """Look at an owner.

    Raises:
        ConfigError: It is neither a name nor a function.
    """
    if isinstance(value, str) and value:
        return value
    if callable(value):
        return cast("Owner", value)
    fix = "pass a name, or a function that returns it from a run's config"
    raise ConfigError("owner", f"it is {short_value(value)}", fix)


def as_kept_state(value: object) -> KeptState:
    """Validate how many messages the state keeps.

    Raises:
        ConfigError: It is neither a number of messages nor one of the two words.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    if value in ("whole", "run"):
        return cast("KeptState", value)
    fix = "pass a number of messages, at least 1, 'whole' or 'run'"
    raise ConfigError("state", f"it is {value!r}", fix)


def as_counter(value: object) -> Counter:
    """Validate a token counter by counting one text; return the exact one for `None`.

    Raises:
        ConfigError: It is not a function that returns the number of tokens of a text.
    """
    if value is None:
        return exact_counter()
    argument, fix = (
        "token_counter",
        "give a function that takes a str and returns its tokens, an int",
    )
    if not callable(value):
        raise ConfigError(argument, f"it is {short_value(value)}", fix)
    try:
        counted: object = value("Which rivers meet here?")
    except Exception as error:
        raise ConfigError(argument, f"it raised {type(error).__name__}: {error}", fix) from error
    if not isinstance(counted, int) or isinstance(counted, bool) or counted < 1:
        raise ConfigError(argument, f"it returned {counted!r} for a text of 23 characters", fix)
    return cast("Counter", value)


def as_summarizer(value: object, policy: ContextPolicy) -> BaseChatModel | None:
    """Find the model that writes summaries; `None` for the agent's own.

    Raises:
        ConfigError: There is no such model, or two are named.
    """
    return only_model(value, "summarizer", policy.model_name, "the policy names")


def only_model(
    value: object, argument: str, settings_name: str | None, settings_subject: str
) -> BaseChatModel | None:
    """Return the model of an argument, or the one that settings name; `None` for neither.

    Args:
        value: The argument.
        argument: Its name, for the error.
        settings_name: The model's name in the settings.
        settings_subject: The settings, as the subject of the error's sentence.

    Raises:
        ConfigError: There is no such model, or two are named.
    """
    if value is None:
        return as_chat_model(settings_name, "model_name")
    if settings_name is not None:
        problem = f"{settings_subject} another one, model_name {settings_name!r}"
        raise ConfigError(argument, problem, "pass one of the two")
    return as_chat_model(value, argument)


def as_chat_model(model_or_name: object, argument: str) -> BaseChatModel | None:
    """Return a chat model by its name; a model object is returned as it is.

    Args:
        model_or_name: The model or its name; an empty value is no model.
        argument: The name of the argument, for the error.

    Raises:
        ConfigError: There is no such model.
    """
    if model_or_name is None or isinstance(model_or_name, BaseChatModel):
        return model_or_name
    if not isinstance(model_or_name, str):
        fix = "pass a chat model, or its name for init_chat_model"
        raise ConfigError(argument, f"it is {short_value(model_or_name)}", fix)
    try:
        return init_chat_model(model_or_name)
    except (ValueError, ImportError) as error:
        problem = f"there is no model {model_or_name!r} ({str(error).partition(chr(10))[0]})"
        fix = "name it as init_chat_model does, 'provider:model', and install its package"
        raise ConfigError(argument, problem, fix) from error


def short_value(value: object) -> str:
    """Return a short value for an error message: itself, or its type if it is long."""
    return repr(value) if value is None or value == "" else f"of type {type(value).__name__}"
