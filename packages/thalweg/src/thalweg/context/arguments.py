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
NEWEST = 400
"""Messages that the state keeps by default.

They are the whole of nearly every conversation, some hundred exchanges with tools, at a cost that
does not grow with the thread."""


def as_policy(given: object) -> ContextPolicy:
    """Return a policy; a mapping is parsed with `ContextPolicy.from_mapping`.

    Raises:
        ConfigError: It is neither, or the mapping is invalid.
    """
    if given is None:
        return ContextPolicy()
    if isinstance(given, Mapping):
        return ContextPolicy.from_mapping(given, where="policy")
    if not isinstance(given, ContextPolicy):
        fix = "pass a ContextPolicy, or a mapping with its settings"
        raise ConfigError("policy", f"it is {short_value(given)}", fix)
    return given


def as_owner(given: object) -> Owner:
    """Look at an owner.

    Raises:
        ConfigError: It is neither a name nor a function.
    """
    if isinstance(given, str) and given:
        return given
    if callable(given):
        return cast("Owner", given)
    fix = "pass a name, or a function that returns it from a run's config"
    raise ConfigError("owner", f"it is {short_value(given)}", fix)


def owner_of(owner: Owner, config: RunnableConfig) -> str:
    """Return the owner of a run.

    Raises:
        ConfigError: The function for it returned no name.
    """
    if isinstance(owner, str):
        return owner
    named: object = owner(config)
    if isinstance(named, str) and named:
        return named
    problem = f"the function's value for this run is {short_value(named)}"
    raise ConfigError("owner", problem, "let it return a non-empty str")


def as_kept(given: object) -> KeptState:
    """Validate how many messages the state keeps.

    Raises:
        ConfigError: It is neither a number of messages nor one of the two words.
    """
    if isinstance(given, int) and not isinstance(given, bool) and given >= 1:
        return given
    if given in ("whole", "run"):
        return cast("KeptState", given)
    fix = "pass a number of messages, at least 1, 'whole' or 'run'"
    raise ConfigError("state", f"it is {given!r}", fix)


def as_counter(given: object) -> Counter:
    """Validate a token counter by counting one text; return the exact one for `None`.

    Raises:
        ConfigError: It is not a function that returns the number of tokens of a text.
    """
    if given is None:
        return exact_counter()
    where, fix = "token_counter", "give a function that takes a str and returns its tokens, an int"
    if not callable(given):
        raise ConfigError(where, f"it is {short_value(given)}", fix)
    try:
        counted: object = given("Which rivers meet here?")
    except Exception as error:
        raise ConfigError(where, f"it raised {type(error).__name__}: {error}", fix) from error
    if not isinstance(counted, int) or isinstance(counted, bool) or counted < 1:
        raise ConfigError(where, f"it returned {counted!r} for a text of 23 characters", fix)
    return cast("Counter", given)


def as_summarizer(given: object, policy: ContextPolicy) -> BaseChatModel | None:
    """Find the model that writes summaries; `None` for the agent's own.

    Raises:
        ConfigError: There is no such model, or two are named.
    """
    return only_model(given, "summarizer", policy.model_name, "the policy names")


def only_model(given: object, what: str, named: str | None, where: str) -> BaseChatModel | None:
    """Return the model of an argument, or the one that settings name; `None` for neither.

    Args:
        given: The argument.
        what: Its name, for the error.
        named: The model's name in the settings.
        where: The settings, as the subject of the error's sentence.

    Raises:
        ConfigError: There is no such model, or two are named.
    """
    if given is None:
        return as_chat_model(named, "model_name")
    if named is not None:
        problem = f"{where} another one, model_name {named!r}"
        raise ConfigError(what, problem, "pass one of the two")
    return as_chat_model(given, what)


def as_chat_model(named: object, what: str) -> BaseChatModel | None:
    """Return a chat model by its name; a model object is returned as it is.

    Args:
        named: The model or its name; an empty value is no model.
        what: The name of the argument, for the error.

    Raises:
        ConfigError: There is no such model.
    """
    if named is None or isinstance(named, BaseChatModel):
        return named
    if not isinstance(named, str):
        fix = "pass a chat model, or its name for init_chat_model"
        raise ConfigError(what, f"it is {short_value(named)}", fix)
    try:
        return init_chat_model(named)
    except (ValueError, ImportError) as error:
        problem = f"there is no model {named!r} ({str(error).partition(chr(10))[0]})"
        fix = "name it as init_chat_model does, 'provider:model', and install its package"
        raise ConfigError(what, problem, fix) from error


def short_value(given: object) -> str:
    """Return a short value for an error message: itself, or its type if it is long."""
    return repr(given) if given is None or given == "" else f"of type {type(given).__name__}"
