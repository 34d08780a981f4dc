"""The middleware of the agent for small models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final, cast

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph.state import CompiledStateGraph

from thalweg.agent.graph.layers import Middleware, arrange
from thalweg.agent.graph.merged_hooks import merge_hooks
from thalweg.agent.graph.state import DeepAgentState
from thalweg.agent.tools.kit import FsToolName
from thalweg.agent.tools.rights import Rights
from thalweg.archive import Archive
from thalweg.backends.calls.foreign import as_backend
from thalweg.backends.protocol import BackendProtocol
from thalweg.backends.state import StateBackend
from thalweg.engine.entries import RECALL
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ContextPolicy
from thalweg.memory import Memory, MemoryStore
from thalweg.memory.facts.settings import MemorySettings
from thalweg.middleware.answer_retry import AnswerMiddleware
from thalweg.middleware.approval import Approvals, merge_approvals, with_approvals
from thalweg.middleware.arguments import KeptState, Owner
from thalweg.middleware.context import ContextMiddleware
from thalweg.middleware.filesystem import FilesystemMiddleware
from thalweg.middleware.loops import LoopMiddleware
from thalweg.middleware.memory.middleware import MemoryMiddleware
from thalweg.middleware.patch_tool_calls import PatchToolCallsMiddleware
from thalweg.middleware.permissions import interrupts
from thalweg.middleware.run_context import UPLOADS, RunContextMiddleware
from thalweg.middleware.turn.context_tools import LenientTool

SMALL_TOOLS: tuple[FsToolName, ...] = ("ls", "read_file", "write_file")
"""The file tools that a small model is offered."""
RECALLED_SHARE: Final = 8
"""`recall` returns at most an eighth of the window of removed content at once."""
_STEPS = 200
"""Steps of one run: stops a small model that loops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentArguments:
    """The arguments of the agent; `create_small_agent` documents each."""

    window: int
    calls: bool
    """Whether the model is offered built-in tools."""
    policy: ContextPolicy
    archive: Archive | str | PathLike[str] | None
    owner: Owner
    state: KeptState
    memory: MemoryStore | Memory | None
    memory_settings: MemorySettings
    learns: bool
    backend: BackendProtocol | None
    permissions: Rights
    interrupt_on: Approvals


def build_small(
    parts: AgentArguments,
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]],
    system_prompt: str | SystemMessage | None,
    **others: Any,  # noqa: ANN401 (create_agent's own)
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph; `others` are for `create_agent`."""
    graph: CompiledStateGraph[Any, Any, Any, Any] = create_agent(
        model,
        tools,
        system_prompt=system_prompt or _words(parts),
        middleware=merge_hooks(_stack(parts)),
        state_schema=DeepAgentState,
        **others,
    )
    return graph.with_config({"recursion_limit": _STEPS})


def _words(parts: AgentArguments) -> str:
    return prompt("small_agent" if parts.calls else "small_agent_plain").text


def _stack(parts: AgentArguments) -> list[Middleware]:
    backend = StateBackend() if parts.backend is None else as_backend(parts.backend)
    ours: list[Middleware] = [
        RunContextMiddleware(backend=backend, uploads=UPLOADS if parts.backend else None),
        PatchToolCallsMiddleware(),
        LoopMiddleware(),
        AnswerMiddleware(),
        _context(parts),
    ]
    if parts.calls:
        ours.append(_files(parts, backend))
    if parts.memory is not None:
        ours.append(
            MemoryMiddleware(
                parts.memory,
                owner=parts.owner,
                settings=parts.memory_settings,
                learns=parts.learns,
            )
        )
    asked = merge_approvals(parts.interrupt_on, interrupts(parts.permissions, backend))
    return arrange(ours, with_approvals((), asked))


def _files(parts: AgentArguments, backend: BackendProtocol) -> FilesystemMiddleware:
    return FilesystemMiddleware(
        backend=backend,
        permissions=parts.permissions,
        tools=SMALL_TOOLS,
        system_prompt="",
        custom_tool_descriptions={one: prompt(f"small_{one}").text for one in SMALL_TOOLS},
        tool_token_limit_before_evict=None,  # the engine offloads without loss
        human_message_token_limit_before_evict=None,
    )


def _context(parts: AgentArguments) -> ContextMiddleware:
    """Return the context middleware, whose only tool is `recall` with a short description."""
    middleware = ContextMiddleware(
        parts.policy, archive=parts.archive, owner=parts.owner, state=parts.state
    )
    if not parts.calls:
        middleware.tools = []
        return middleware
    (whole,) = (tool for tool in middleware.tools if tool.name == RECALL)
    read_back = cast("Callable[..., str]", cast("StructuredTool", whole).func)
    most = parts.window // RECALLED_SHARE

    def recall(runtime: ToolRuntime[Any, Any], **asked: Any) -> str:  # noqa: ANN401 (a model's)
        return read_back(runtime=runtime, **asked, max_tokens=most)

    texts = {"query": {"type": "string"}, "handle": {"type": "string"}}
    middleware.tools = [
        LenientTool(
            func=recall,
            name=RECALL,
            description=prompt("small_recall").text,
            args_schema={"type": "object", "properties": texts},
        )
    ]
    return middleware
