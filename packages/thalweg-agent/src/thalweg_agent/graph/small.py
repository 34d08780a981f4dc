"""An agent for a small model in a small window.

The tools and the prompt of `create_deep_agent` take about 3,100 tokens: they fill a window of
4,096, and a model of a few billion parameters cannot choose well among eleven tools. This one
takes a tenth of that, so the conversation gets the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from thalweg.engine.settings import ContextPolicy
from thalweg_memory.facts.settings import MemorySettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import SystemMessage
    from langchain_core.tools import BaseTool
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore
    from langgraph.types import Checkpointer

    from thalweg.archive import Archive
    from thalweg.context.arguments import KeptState, Owner
    from thalweg_agent.backends.protocol import BackendProtocol
    from thalweg_agent.middleware.approval import Approvals
    from thalweg_agent.tools.rights import FilesystemPermission
    from thalweg_memory import Memory, MemoryStore

SMALL_WINDOW: Final = 16_000
"""Tokens of a window below which the small agent is used: the tools and the prompt of the
standard agent would take a fifth of it."""
MEMORY_SHARE: Final = 20
"""A run gets at most a twentieth of the window from memory; a thread shows at most a tenth."""
_LEAST_MEMORY = 200
"""Tokens that hold a few facts."""
_SUMMARY_SETTINGS: Final = frozenset(
    ("summarize", "model_name", "trigger", "summary_prompt", "trim_tokens_to_summarize")
)
"""Settings that ask for summaries by a model."""


def wants_small(model: "BaseChatModel") -> bool:
    """Return whether a model's window is below `SMALL_WINDOW`.

    Example:
        >>> from thalweg.testing import ScriptedModel
        >>> model = ScriptedModel(script=lambda _: "Hello.", profile={"max_input_tokens": 8_192})
        >>> wants_small(model), wants_small(ScriptedModel(script=lambda _: "Hello."))
        (True, False)
    """
    from thalweg.context.request.models import (  # noqa: PLC0415 (LangChain takes seconds)
        limits_for,
    )

    return limits_for(model, None).window < SMALL_WINDOW


def calls_tools(model: "BaseChatModel") -> bool:
    """Return whether a model can be offered tools: true unless its profile denies it.

    Example:
        >>> from thalweg.testing import ScriptedModel
        >>> model = ScriptedModel(script=lambda _: "Hello.", profile={"tool_calling": False})
        >>> calls_tools(model), calls_tools(ScriptedModel(script=lambda _: "Hello."))
        (False, True)
    """
    return (model.profile or {}).get("tool_calling") is not False


def small_policy(policy: ContextPolicy | None = None) -> ContextPolicy:
    """Return the policy for a small window: no summaries by a model unless a setting names them.

    A compaction writes a structured summary with the user's words and references; a narrative
    summary on top would take a small model on a CPU minutes, and it writes poor ones.

    Example:
        >>> small_policy().summarize, small_policy(ContextPolicy(model_name="a:b")).summarize
        (False, True)
    """
    policy = policy or ContextPolicy()
    is_named = not _SUMMARY_SETTINGS.isdisjoint(policy.model_fields_set)
    return policy if is_named else policy.model_copy(update={"summarize": False})


def small_memory(window: int, settings: MemorySettings | None = None) -> MemorySettings:
    """Limit a memory's additions to a run to a share of the window, unless a setting does."""
    settings = settings or MemorySettings()
    most = max(_LEAST_MEMORY, window // MEMORY_SHARE)
    is_named = "max_injection_tokens" in settings.model_fields_set
    if is_named or settings.max_injection_tokens <= most:
        return settings
    return settings.model_copy(update={"max_injection_tokens": most})


def create_small_agent(
    model: "BaseChatModel",
    tools: "Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]" = (),
    *,
    system_prompt: "str | SystemMessage | None" = None,
    memory: "MemoryStore | Memory | None" = None,
    memory_settings: MemorySettings | None = None,
    learns: bool = False,
    permissions: "list[FilesystemPermission] | None" = None,
    backend: "BackendProtocol | None" = None,
    interrupt_on: "Approvals | None" = None,
    checkpointer: "Checkpointer | None" = None,
    store: "BaseStore | None" = None,
    name: str | None = None,
    context: "ContextPolicy | Mapping[str, object] | None" = None,
    summarizer: "BaseChatModel | None" = None,
    archive: "Archive | str | PathLike[str] | None" = None,
    owner: "Owner" = "local",
    state: "KeptState | None" = None,
) -> "CompiledStateGraph[Any, Any, Any, Any]":
    """Create an agent for a small model: an endless chat, a memory, and files.

    It has the tools `ls, read_file, write_file` and `recall`, with short descriptions, and no
    subagents, skills or to-do lists. If the model's profile excludes tool calls, it has no tools
    and informs the user. The parameters are those of `create_deep_agent`.

    Args:
        model: A chat model; its window is read from its profile.
        tools: The agent's own tools; the model is offered them regardless of its profile.
        system_prompt: Replaces the built-in prompt.
        memory: The memory of the user; the agent receives the facts relevant to a message.
        memory_settings: Limits for it; at most a tenth of the window unless they set
            `max_injection_tokens`. A `Memory` has its own.
        learns: Whether the model learns facts from messages, in the background. Off by default:
            the user's messages are stored verbatim and found again without it, and a model on a
            CPU handles one request at a time.
        permissions: As in `create_deep_agent`.
        backend: As in `create_deep_agent`.
        interrupt_on: As in `create_deep_agent`.
        checkpointer: As in `create_deep_agent`.
        store: As in `create_deep_agent`.
        name: As in `create_deep_agent`.
        context: As in `create_deep_agent`; no model writes summaries unless it sets
            `summarize`, `model_name`, `trigger`, `summary_prompt` or `trim_tokens_to_summarize`.
        summarizer: The model that writes them; by default that of `context`, or the agent's.
        archive: As in `create_deep_agent`.
        owner: As in `create_deep_agent`.
        state: As in `create_deep_agent`.

    Returns:
        The compiled graph.

    Raises:
        ConfigError: An argument is invalid, or no request fits the window.

    Example:
        >>> from thalweg.testing import ScriptedModel
        >>> agent = create_small_agent(ScriptedModel(script=lambda _: "Hi."), archive=":memory:")
        >>> agent.invoke({"messages": [("user", "Hello.")]})["messages"][-1].content
        'Hi.'
    """
    # LangChain takes seconds to import: not before an agent is made.
    from thalweg.context.arguments import DEFAULT_KEPT_MESSAGES, as_policy  # noqa: PLC0415
    from thalweg.context.request.models import limits_for  # noqa: PLC0415
    from thalweg_agent.graph.small_stack import build_small, small_context  # noqa: PLC0415
    from thalweg_agent.tools.rights import rights  # noqa: PLC0415
    from thalweg_memory.middleware.middleware import MemoryMiddleware  # noqa: PLC0415

    policy = None if context is None else as_policy(context)
    policy = small_policy(policy) if summarizer is None else policy or ContextPolicy()
    window, calls = limits_for(model, policy).window, calls_tools(model)
    threads = {
        "archive": archive,
        "owner": owner,
        "summarizer": summarizer,
        "state": DEFAULT_KEPT_MESSAGES if state is None else state,
    }
    settings = small_memory(window, memory_settings)
    return build_small(
        model,
        tools,
        system_prompt,
        context=small_context(policy, window if calls else None, **threads),
        memory=None
        if memory is None
        else MemoryMiddleware(memory, owner=owner, settings=settings, learns=learns),
        backend=backend,
        permissions=rights(permissions),
        interrupt_on=interrupt_on or {},
        calls=calls,
        checkpointer=checkpointer,
        store=store,
        name=name,
    )
