"""Build a graph from a recipe. A subagent's recipe is its parent's, overridden by its own."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Any,
    cast,
    get_type_hints,
)

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph

from thalweg.context.arguments import Owner
from thalweg.context.middleware import ContextMiddleware
from thalweg.errors import ConfigError
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.graph.layers import LAYERS, USERS, Middleware, arrange, replacing
from thalweg_agent.graph.merged_hooks import merge_hooks
from thalweg_agent.graph.state import DeepAgentState, marks, with_later_values
from thalweg_agent.middleware.answer_retry import AnswerMiddleware
from thalweg_agent.middleware.approval import (
    Approvals,
    approvals_of,
    merge_approvals,
    with_approvals,
)
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.middleware.loops import LoopMiddleware
from thalweg_agent.middleware.memory import MemoryFilesMiddleware
from thalweg_agent.middleware.patch_tool_calls import PatchToolCallsMiddleware
from thalweg_agent.middleware.permissions import interrupts
from thalweg_agent.middleware.run_context import RunContextMiddleware
from thalweg_agent.middleware.skills.middleware import SkillsMiddleware
from thalweg_agent.middleware.subagents.middleware import (
    GENERAL_PURPOSE_SUBAGENT,
    CompiledSubAgent,
    SubAgent,
    SubAgentMiddleware,
)
from thalweg_agent.middleware.subagents.retention import SubagentRetentionMiddleware
from thalweg_agent.middleware.todos import TodoListMiddleware
from thalweg_agent.middleware.tool_profile import ToolProfileMiddleware
from thalweg_agent.profiles import (
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    ProfileError,
    for_subagent,
)
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.background import LOOKS, AsyncSubAgent, is_elsewhere
from thalweg_agent.subagents.retention import Retention
from thalweg_agent.tools.kit import FILE_TOOLS
from thalweg_agent.tools.places import supports_execution
from thalweg_agent.tools.rights import Rights, both, rights

if TYPE_CHECKING:
    from thalweg_memory import Memory, MemoryStore

DEFAULT_MODEL = "anthropic:claude-sonnet-4-6"
"""The default model, as in `deepagents`."""
_STEPS = 9_999
"""Effectively disables LangGraph's step limit: loops are detected, subagents have their own."""
_NEEDED = frozenset({"FilesystemMiddleware", "SubAgentMiddleware", "ContextMiddleware"})
"""Middleware that cannot be excluded: others rely on its tools and its state."""
_AT_ONCE = 256
"""Tool calls of one turn that run at once; LangGraph's own pool has a few threads a core."""

Tool = BaseTool | Callable[..., Any] | dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The arguments of an agent; `create_deep_agent` documents each."""

    model: BaseChatModel
    tools: Sequence[Tool]
    system_prompt: str | SystemMessage | None
    middleware: Sequence[Middleware]
    subagents: Sequence[SubAgent | CompiledSubAgent]
    skills: list[str] | None
    memory: list[str] | None
    """Paths of memory files."""
    permissions: Rights
    backend: BackendProtocol
    interrupt_on: Approvals
    state_schema: type[AgentState[Any]] | None
    context: ContextMiddleware
    """Shared with all subagents: their threads differ by the namespace they run in."""
    user_memory: "MemoryStore | Memory | None" = None
    """The memory of the user, which subagents read, too."""
    owner: Owner = "local"
    has_base: bool = True
    """Whether the prompt includes the base instructions; a subagent has its own prompt instead."""
    addendum: str | None = None
    """Text that a fork's prompt adds to its parent's."""
    background: Sequence[AsyncSubAgent] = ()
    """Subagents that run on another server."""
    profile: HarnessProfile = field(default_factory=HarnessProfile)
    max_delegations: int | None = None
    """Most calls of `task` in one run."""
    subagent_retention: Retention = field(default_factory=Retention)


def build(recipe: Recipe, **others: Any) -> CompiledStateGraph[Any, Any, Any, Any]:  # noqa: ANN401 (create_agent's own)
    """Build the graph; `others` are for `create_agent`.

    Raises:
        ConfigError: An argument of the recipe is invalid.
    """
    middleware = stack(recipe)
    schema = recipe.state_schema or DeepAgentState
    private = _private_keys(middleware, schema)
    schema = with_later_values(schema, tuple(one.state_schema for one in middleware), private)  # type: ignore[arg-type]
    graph: CompiledStateGraph[Any, Any, Any, Any] = create_agent(
        recipe.model,
        recipe.tools,
        system_prompt=_instructions(recipe),
        middleware=merge_hooks(middleware),
        state_schema=schema,
        **others,
    )
    return graph.with_config({"recursion_limit": _STEPS, "max_concurrency": _AT_ONCE})


def stack(recipe: Recipe) -> list[Middleware]:
    """Return the middleware, outermost first, in the order of `LAYERS`."""
    backend, profile = recipe.backend, recipe.profile
    built_in: list[Middleware] = [
        TodoListMiddleware(),
        _files(recipe),
        RunContextMiddleware(),
        PatchToolCallsMiddleware(),
        LoopMiddleware(exempt=LOOKS if recipe.background else ()),
        AnswerMiddleware(),
        recipe.context,
    ]
    if recipe.memory is not None:
        built_in.append(MemoryFilesMiddleware(backend=backend, sources=recipe.memory))
    if recipe.user_memory is not None:
        built_in.append(_memory(recipe.user_memory, recipe.owner))
    if recipe.skills is not None:
        built_in.append(SkillsMiddleware(backend=backend, sources=recipe.skills))
    if recipe.subagents:
        built_in.append(_subagents(recipe))
        if not recipe.subagent_retention.is_endless:
            kept, owner = recipe.subagent_retention, recipe.owner
            built_in.append(SubagentRetentionMiddleware(recipe.context, kept, owner=owner))
    if recipe.background:
        built_in.append(_background(recipe.background))
    if profile.excluded_tools or profile.tool_description_overrides:
        descriptions = profile.tool_description_overrides
        built_in.append(ToolProfileMiddleware(profile.excluded_tools, descriptions))
    approvals = merge_approvals(recipe.interrupt_on, interrupts(recipe.permissions, backend))
    users = [*recipe.middleware, *profile.materialize_extra_middleware()]
    arranged = _without_excluded(profile, arrange(built_in, with_approvals(users, approvals)))
    for one in arranged:
        if isinstance(one, SubAgentMiddleware):
            one.private_state_keys |= _private_keys(arranged, recipe.state_schema)
    return arranged


def _files(recipe: Recipe) -> FilesystemMiddleware:
    excluded = recipe.profile.excluded_tools - {"read_file"}
    if not supports_execution(recipe.backend):  # else a refusal of an unknown tool names it
        excluded |= {"execute"}
    return FilesystemMiddleware(
        backend=recipe.backend,
        permissions=recipe.permissions,
        custom_tool_descriptions=recipe.profile.tool_description_overrides,
        tools=[name for name in FILE_TOOLS if name not in excluded],
        tool_token_limit_before_evict=None,  # the engine offloads without loss
        human_message_token_limit_before_evict=None,
    )


def _without_excluded(profile: HarnessProfile, middleware: list[Middleware]) -> list[Middleware]:
    """Return the middleware without those that a profile excludes.

    Raises:
        ConfigError: A required middleware is excluded, or no middleware has the name.
    """
    needed = [one.name for one in middleware if profile.excludes(one) and one.name in _NEEDED]
    known = {layer.name for layer in LAYERS} | {one.name for one in middleware}
    names = {entry for entry in profile.excluded_middleware if isinstance(entry, str)}
    if needed or not names <= known:
        unknown = sorted(names - known)
        problem = f"{', '.join(needed)} cannot be removed" if needed else f"no {', '.join(unknown)}"
        fix = f"remove some of {', '.join(sorted(known - _NEEDED - {USERS}))}"
        raise ProfileError("excluded_middleware", problem, fix)
    return [one for one in middleware if not profile.excludes(one)]


def _background(specs: Sequence[AsyncSubAgent]) -> Middleware:
    # The client of agent servers is slow to import, and most agents do not need it.
    from thalweg_agent.middleware.async_subagents import AsyncSubAgentMiddleware  # noqa: PLC0415

    return AsyncSubAgentMiddleware(async_subagents=specs)


def _memory(memory: "MemoryStore | Memory", owner: Owner) -> Middleware:
    # This is a third of an agent's imports, and most agents have no memory.
    from thalweg_memory.middleware.middleware import MemoryMiddleware  # noqa: PLC0415

    return MemoryMiddleware(memory, owner=owner)


def _subagents(recipe: Recipe) -> SubAgentMiddleware:
    def create(spec: SubAgent) -> CompiledStateGraph[Any, Any, Any, Any]:
        own = {"name": spec["name"], "response_format": spec.get("response_format")}
        return build(child(recipe, spec), **own)

    return SubAgentMiddleware(
        backend=recipe.backend,
        subagents=recipe.subagents,
        system_prompt=prompt("delegating").render(),
        create=create,
        max_delegations=recipe.max_delegations,
    )


def _private_keys(
    middleware: Iterable[Middleware], schema: type[AgentState[Any]] | None
) -> frozenset[str]:
    schemas = [one.state_schema for one in middleware] + ([schema] if schema else [])
    return frozenset[str]().union(*map(_private_keys_of, schemas))


@lru_cache(maxsize=256)
def _private_keys_of(schema: type) -> frozenset[str]:
    hints = get_type_hints(schema, include_extras=True)
    return frozenset(key for key, kind in hints.items() if PrivateStateAttr in marks(kind))


def child(parent: Recipe, spec: SubAgent) -> Recipe:
    """Return the recipe of a subagent; its rights never exceed its parent's.

    From the user's middleware it inherits what replaces a built-in one, so that no limit is
    lifted; a fork, which continues its parent's conversation, inherits all of it.
    """
    is_fork = spec.get("mode") == "fork"
    candidates = parent.middleware if is_fork else replacing(parent.middleware).values()
    prompt_of_its_own = spec.get("system_prompt")
    approvals = approvals_of(parent.interrupt_on, parent.middleware)
    own = rights(spec.get("permissions", ()))
    inherits = spec.get("inherit", True)
    allowed = both(_rights_of(parent), own) if inherits else own
    inherited = [_limited(one, allowed, is_parents=not inherits) for one in candidates]
    added = [_limited(one, allowed) for one in spec.get("middleware", ())]
    stack = {one.name: one for one in (*inherited, *added)}
    return replace(
        parent,
        model=as_model(spec.get("model") or parent.model),
        tools=spec.get("tools", parent.tools),
        system_prompt=parent.system_prompt if is_fork else prompt_of_its_own,
        addendum=prompt_of_its_own if is_fork else None,
        has_base=is_fork,
        middleware=[*stack.values()],
        subagents=(),
        background=(),
        skills=parent.skills if is_fork else spec.get("skills"),
        memory=parent.memory if is_fork else None,
        permissions=allowed,
        interrupt_on=merge_approvals(approvals, spec.get("interrupt_on", {})),
        profile=parent.profile if is_fork else for_subagent(parent.profile),
    )


def _rights_of(recipe: Recipe) -> Rights:
    """Return the file permissions of an agent: its argument and those of the user's file tools."""
    allowed = recipe.permissions
    for one in recipe.middleware:
        if isinstance(one, FilesystemMiddleware):
            allowed = both(allowed, one.rights)
    return allowed


def _limited(one: Middleware, allowed: Rights, *, is_parents: bool = False) -> Middleware:
    """Return middleware with the rights of a child; a parent's rules do not count if replaced."""
    if not isinstance(one, FilesystemMiddleware) or not (allowed or is_parents):
        return one
    return one.with_permissions(allowed if is_parents else both(allowed, one.rights))


def with_general_purpose(
    subagents: Sequence[SubAgent | CompiledSubAgent],
    skills: list[str] | None,
    profile: GeneralPurposeSubagentProfile | None = None,
) -> list[SubAgent | CompiledSubAgent]:
    """Add the standard subagent, unless one of that name exists or the profile disables it."""
    profile = profile or GeneralPurposeSubagentProfile()
    has_one = any(spec["name"] == GENERAL_PURPOSE_SUBAGENT["name"] for spec in subagents)
    if has_one or profile.enabled is False:
        return list(subagents)
    own = {
        "description": profile.description,
        "system_prompt": profile.system_prompt,
        "skills": skills,
    }
    given = {key: value for key, value in own.items() if value is not None}
    return [cast("SubAgent", {**GENERAL_PURPOSE_SUBAGENT, **given}), *subagents]


Specs = Sequence[SubAgent | CompiledSubAgent | AsyncSubAgent]


def parted(specs: Specs) -> tuple[list[SubAgent | CompiledSubAgent], list[AsyncSubAgent]]:
    """Split subagents into those that run in their parent's run and those that run elsewhere."""
    elsewhere = [spec for spec in specs if is_elsewhere(spec)]
    here = [cast("SubAgent | CompiledSubAgent", one) for one in specs if not is_elsewhere(one)]
    return here, elsewhere


def as_model(given: str | BaseChatModel | None) -> BaseChatModel:
    """Return a model for a model or its name.

    Raises:
        ConfigError: There is no such model, or the package of its provider is not installed.
    """
    if isinstance(given, BaseChatModel):
        return given
    if given is None:
        message = f"no model is named: {DEFAULT_MODEL} is used; name one"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    name = DEFAULT_MODEL if given is None else given
    try:
        return init_chat_model(name)
    except (ImportError, ValueError) as problem:
        fix = "pass a chat model, or 'provider:model' with the provider's package installed"
        raise ConfigError("model", f"{name!r} cannot be had: {problem}", fix) from problem


def _instructions(recipe: Recipe) -> str | SystemMessage | None:
    profile, own = recipe.profile, recipe.system_prompt
    suffix = profile.system_prompt_suffix
    base = profile.prompt(prompt("base_agent").render()) if recipe.has_base else suffix
    behind = [text for text in (base, recipe.addendum) if text]
    if isinstance(own, SystemMessage):
        blocks = [{"type": "text", "text": f"\n\n{text}"} for text in behind]
        return own.model_copy(update={"content": [*_blocks(own), *blocks]})
    return "\n\n".join([text for text in (own, *behind) if text]) or None


def _blocks(message: SystemMessage) -> list[str | dict[Any, Any]]:
    content = message.content
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
