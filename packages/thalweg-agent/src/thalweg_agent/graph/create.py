"""The public factory; it imports LangChain only when it is called."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from thalweg.errors import ConfigError

if TYPE_CHECKING:
    from langchain.agents import AgentState
    from langchain.agents.middleware import InterruptOnConfig
    from langchain.agents.middleware.types import AgentMiddleware
    from langchain.agents.structured_output import ResponseFormat
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import SystemMessage
    from langchain_core.tools import BaseTool
    from langgraph.cache.base import BaseCache
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore
    from langgraph.types import Checkpointer

    from thalweg.archive import Archive
    from thalweg.context.arguments import KeptState, Owner
    from thalweg.context.message_counter import TokenCounter
    from thalweg.engine.settings import ContextPolicy
    from thalweg_agent.backends.protocol import BackendProtocol
    from thalweg_agent.middleware.subagents.middleware import CompiledSubAgent, SubAgent
    from thalweg_agent.profiles import Profile
    from thalweg_agent.subagents.background import AsyncSubAgent
    from thalweg_agent.subagents.retention import Retention
    from thalweg_agent.tools.rights import FilesystemPermission
    from thalweg_memory import Memory, MemoryStore


def create_deep_agent(
    model: "str | BaseChatModel | None" = None,
    tools: "Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | None" = None,
    *,
    system_prompt: "str | SystemMessage | None" = None,
    middleware: "Sequence[AgentMiddleware[Any, Any, Any]]" = (),
    subagents: "Sequence[SubAgent | CompiledSubAgent | AsyncSubAgent] | None" = None,
    skills: list[str] | None = None,
    memory: "Sequence[str | MemoryStore | Memory] | MemoryStore | Memory | None" = None,
    permissions: "list[FilesystemPermission] | None" = None,
    backend: "BackendProtocol | None" = None,
    interrupt_on: "dict[str, bool | InterruptOnConfig] | None" = None,
    response_format: "ResponseFormat[Any] | type | dict[str, Any] | None" = None,
    state_schema: "type[AgentState[Any]] | None" = None,
    context_schema: type | None = None,
    checkpointer: "Checkpointer | None" = None,
    store: "BaseStore | None" = None,
    debug: bool = False,
    name: str | None = None,
    cache: "BaseCache[Any] | None" = None,
    context: "ContextPolicy | Mapping[str, object] | None" = None,
    archive: "Archive | str | PathLike[str] | None" = None,
    owner: "Owner" = "local",
    state: "KeptState | None" = None,
    token_counter: "TokenCounter | None" = None,
    profile: "Profile | None" = None,
    max_delegations: int | None = None,
    subagent_retention: "Retention | Mapping[str, float] | None" = None,
) -> "CompiledStateGraph[Any, Any, Any, Any]":
    """Create an agent that plans, works on files, delegates, and never exceeds its window.

    It has the tools `write_todos, ls, read_file, write_file, edit_file, delete, glob, grep`,
    `execute` if the backend has a shell, `task` for subagents, and `recall` and
    `compact_conversation` for its own context. The parameters are those of `deepagents` 0.7, so
    that changing the import is enough; `context`, `archive`, `owner`, `state`, `token_counter`,
    `profile`, `max_delegations` and `subagent_retention` are added.

    Args:
        model: A chat model, or its name for `init_chat_model` (`"anthropic:claude-sonnet-4-6"`,
            which is also the default).
        tools: The agent's own tools, in addition to those above. Subagents have them too.
        system_prompt: Your instructions; they come first. Blocks of a `SystemMessage` are passed
            unchanged, cache breakpoints included.
        middleware: Yours. One with the name of a built-in one replaces it, in subagents, too;
            others run after the built-in ones and before approval. See
            `thalweg_agent.graph.layers.LAYERS`.
        subagents: The agents that `task` can call. If none is called `general-purpose`, one with
            the agent's own model, tools and skills is added. Those with a `graph_id` or a `client`
            run in the background: see `AsyncSubAgentMiddleware`.
        skills: Folders with skills, in the backend: `["/skills/user/", "/skills/project/"]`. Of
            two with one name the later is used.
        memory: Paths of `AGENTS.md` files, in the backend; always in the system prompt. Or the
            memory of the user, a `Memory` or a store of `open_memory`: the agent receives its
            relevant facts, and messages are stored and learned from (see `MemoryMiddleware`). Or a
            list of paths with one memory among them.
        permissions: Rules for files; the first match decides. They apply to subagents, which can
            only restrict them further.
        backend: Where files are stored: the agent's state by default. One that can run commands
            (`LocalShellBackend`, a sandbox) adds `execute`.
        interrupt_on: Tools that a person has to approve, in subagents as well.
        response_format: The structured answer to return at the end.
        state_schema: More state; extends `DeepAgentState`, or `AgentState`, whose checkpoints hold
            all messages each time.
        context_schema: Type of a run's `context`: for tools and middleware; never sent to the
            model by itself.
        checkpointer: Stores the state of threads between runs.
        store: For `StoreBackend` and your tools.
        debug: Let LangGraph print its steps.
        name: The agent's name, as a node of other graphs and in traces.
        cache: LangGraph's cache of nodes.
        context: When to compact the context and how; see `ContextPolicy`.
        archive: Where threads are stored in full: an archive or its address; see
            `ContextMiddleware`.
        owner: The owner of threads and memory, or a function that returns it for a run's config.
        state: The part of a thread that the graph's state keeps; see `ContextMiddleware`.
        token_counter: Returns the tokens of messages, images included; see `ContextMiddleware`.
        profile: Differences from the standard agent: a `HarnessProfile`, or a mapping of
            `HarnessProfileConfig`. It applies to subagents, too.
        max_delegations: Most calls of `task` in one run; a further call starts nothing and returns
            the limit as its result. `None`: no limit.
        subagent_retention: How long the archive keeps the threads of subagents, in days since
            their end and in number: `{"days": 30, "threads": 100}`. Their reports are kept.
            `None`: until their parent's thread is deleted.

    Returns:
        The compiled graph: `invoke`, `stream` and their async twins.

    Raises:
        ConfigError: An argument is invalid.

    Example:
        >>> from thalweg.testing import ScriptedModel
        >>> agent = create_deep_agent(ScriptedModel(script=lambda _: "Done."), archive=":memory:")
        >>> agent.invoke({"messages": [("user", "Tidy up.")]})["messages"][-1].content
        'Done.'
    """
    # LangChain takes seconds to import: not before an agent is made.
    from thalweg.context.arguments import DEFAULT_KEPT_MESSAGES  # noqa: PLC0415
    from thalweg.context.middleware import ContextMiddleware  # noqa: PLC0415
    from thalweg_agent.backends.calls.foreign import as_backend  # noqa: PLC0415
    from thalweg_agent.backends.state import StateBackend  # noqa: PLC0415
    from thalweg_agent.graph.build import (  # noqa: PLC0415
        Recipe,
        as_model,
        build,
        parted,
        with_general_purpose,
    )
    from thalweg_agent.profiles import as_profile  # noqa: PLC0415
    from thalweg_agent.subagents.retention import Retention  # noqa: PLC0415
    from thalweg_agent.tools.rights import rights  # noqa: PLC0415

    files, user_memory = _split_memory(memory)
    differing = as_profile(profile)
    here, elsewhere = parted(subagents or ())
    recipe = Recipe(
        model=as_model(model),
        tools=tuple(tools or ()),
        system_prompt=system_prompt,
        middleware=tuple(middleware),
        subagents=with_general_purpose(here, skills, differing.general_purpose_subagent),
        skills=skills,
        memory=files,
        user_memory=user_memory,
        owner=owner,
        permissions=rights(permissions),
        backend=StateBackend() if backend is None else as_backend(backend),
        interrupt_on=interrupt_on or {},
        state_schema=state_schema,
        context=ContextMiddleware(
            context,
            archive=archive,
            owner=owner,
            state=DEFAULT_KEPT_MESSAGES if state is None else state,
            token_counter=token_counter,
        ),
        background=elsewhere,
        profile=differing,
        max_delegations=max_delegations,
        subagent_retention=Retention.of(subagent_retention),
    )
    return build(
        recipe,
        response_format=response_format,
        context_schema=context_schema,
        checkpointer=checkpointer,
        store=store,
        debug=debug,
        name=name,
        cache=cache,
    )


def _split_memory(
    given: "Sequence[str | MemoryStore | Memory] | MemoryStore | Memory | None",
) -> "tuple[list[str] | None, MemoryStore | Memory | None]":
    """Separate the paths of files from the memory of the user.

    Returns:
        The paths, `None` if none were passed: an empty list renders a prompt that states so. And
        the memory.

    Raises:
        ConfigError: The argument is a single string, or holds more than one memory.
    """
    if given is None:
        return None, None
    if isinstance(given, str):
        problem = f"{given!r} is ambiguous: a path or an address"
        fix = "pass [path] for a file, open_memory(address) for a memory"
        raise ConfigError("memory", problem, fix)
    each: Iterable[str | MemoryStore | Memory] = given if isinstance(given, Sequence) else (given,)
    files = [one for one in each if isinstance(one, str)]
    users = [one for one in each if not isinstance(one, str)]
    if len(users) > 1:
        problem = f"{len(users)} memories were passed"
        raise ConfigError("memory", problem, "pass one memory and any number of paths")
    return files if files or not users else None, users[0] if users else None
