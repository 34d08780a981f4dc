"""Whether a model accepts tools: its class, its profile, and what its server refuses.

Words of refusals are in `tool_refusals.toml`.
"""

import re
from collections.abc import Iterator

from langchain_core.language_models import BaseChatModel

from thalweg.context.request.model_limits import once_per_model, profile_of
from thalweg.context.request.provider_errors import error_chain, text_of
from thalweg.engine.data_files import read_table

_REFUSAL_PATTERN = re.compile(
    "|".join(read_table(__package__, "tool_refusals.toml")["words"]), re.IGNORECASE
)


@once_per_model
def can_bind_tools(model: object) -> bool:
    """Return whether a chat model's class binds tools: the base class only raises.

    A model that is chosen when it is called may bind tools, so far as its class shows.
    """
    *_, innermost = _bindings(model)
    bind = getattr(type(innermost), "bind_tools", None)
    if bind is None:  # it forwards attributes to other models, or has none
        return hasattr(innermost, "bind_tools")
    return bind is not BaseChatModel.bind_tools


@once_per_model
def denies_tools(model: BaseChatModel) -> bool:
    """Return whether the profile of a model states that it takes no tools."""
    return profile_of(model).get("tool_calling") is False


def refuses_tools(error: BaseException) -> bool:
    """Return whether an error, or what caused it, refuses every tool of a request.

    Example:
        >>> refuses_tools(ValueError("gemma:2b does not support tools"))
        True
        >>> refuses_tools(ValueError("tools.0.custom.name: String should match pattern"))
        False
    """
    return any(
        isinstance(one, NotImplementedError) or _REFUSAL_PATTERN.search(text_of(one))
        for one in error_chain(error)
    )


def _bindings(model: object) -> Iterator[object]:
    while model is not None:
        yield model
        model = vars(model).get("bound") if hasattr(model, "__dict__") else None
