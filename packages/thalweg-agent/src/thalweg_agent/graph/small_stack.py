"""The middleware of the agent for small models."""

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph.state import CompiledStateGraph

from thalweg.context.middleware import ContextMiddleware
from thalweg.context.ready_tools import ContextTool
from thalweg.engine.settings import ContextPolicy
from thalweg_agent.backends.calls.foreign import as_backend
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.graph.layers import Middleware, arrange
from thalweg_agent.graph.merged_hooks import merge_hooks
from thalweg_agent.graph.state import DeepAgentState
from thalweg_agent.middleware.answer_retry import AnswerMiddleware
from thalweg_agent.middleware.approval import Approvals, merge_approvals, with_approvals
from thalweg_agent.middleware.filesystem import FilesystemMiddleware
from thalweg_agent.middleware.loops import LoopMiddleware
from thalweg_agent.middleware.patch_tool_calls import PatchToolCallsMiddleware
from thalweg_agent.middleware.permissions import interrupts
from thalweg_agent.middleware.run_context import UPLOADS, RunContextMiddleware
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.kit import FsToolName
from thalweg_agent.tools.rights import Rights
from thalweg_memory.middleware.middleware import MemoryMiddleware

SMALL_TOOLS: tuple[FsToolName, ...] = ("ls", "read_file", "write_file")
"""The file tools that a small model is offered."""
RECALLED_SHARE: Final = 8
"""`recall` returns at most an eighth of the window of removed content at once."""
_STEPS = 200
"""Steps of one run: stops a small model that loops."""


def build_small(
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]],
    system_prompt: str | SystemMessage | None,
    *,
    context: ContextMiddleware,
    memory: MemoryMiddleware | None,
    backend: BackendProtocol | None,
    permissions: Rights,
    interrupt_on: Approvals,
    calls: bool,
    **others: Any,  # noqa: ANN401 (create_agent's own)
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph; see `create_small_agent`, and `small_context` for `context`.

    `calls` is whether the model is offered built-in tools; `others` are for `create_agent`.
    """
    files = StateBackend() if backend is None else as_backend(backend)
    built_in: list[Middleware] = [
        RunContextMiddleware(backend=files, uploads=UPLOADS if backend else None),
        PatchToolCallsMiddleware(),
        LoopMiddleware(),
        AnswerMiddleware(),
        context,
        *([_files(files, permissions)] if calls else []),
        *([] if memory is None else [memory]),
    ]
    approvals = merge_approvals(interrupt_on, interrupts(permissions, files))
    graph: CompiledStateGraph[Any, Any, Any, Any] = create_agent(
        model,
        tools,
        system_prompt=system_prompt or prompt("small_agent" if calls else "small_agent_plain").text,
        middleware=merge_hooks(arrange(built_in, with_approvals((), approvals))),
        state_schema=DeepAgentState,
        **others,
    )
    return graph.with_config({"recursion_limit": _STEPS})


def _files(backend: BackendProtocol, permissions: Rights) -> FilesystemMiddleware:
    return FilesystemMiddleware(
        backend=backend,
        permissions=permissions,
        tools=SMALL_TOOLS,
        system_prompt="",
        custom_tool_descriptions={one: prompt(f"small_{one}").text for one in SMALL_TOOLS},
        tool_token_limit_before_evict=None,  # the engine offloads without loss
        human_message_token_limit_before_evict=None,
    )


def small_context(
    policy: ContextPolicy,
    window: int | None,
    **threads: Any,  # noqa: ANN401 (the other arguments of `ContextMiddleware`)
) -> ContextMiddleware:
    """Return the context middleware, whose only tool is `recall` with a short description.

    Args:
        policy: The policy.
        window: Tokens of the window; `None` for a model that is offered no tools.
        threads: The archive, the owner and the state of threads, and the summarizer.
    """
    middleware = ContextMiddleware(policy, **threads)
    if window is None or not middleware.tools:
        middleware.tools = []
        return middleware
    name = policy.tool_names.recall
    (whole,) = (tool for tool in middleware.tools if tool.name == name)
    read_back = cast("Callable[..., str]", cast("StructuredTool", whole).func)
    most = window // RECALLED_SHARE

    def recall(runtime: ToolRuntime[Any, Any], **arguments: Any) -> str:  # noqa: ANN401 (a model's)
        return read_back(runtime=runtime, **arguments, max_tokens=most)

    texts = {"query": {"type": "string"}, "handle": {"type": "string"}}
    middleware.tools = [
        ContextTool(
            func=recall,
            name=name,
            description=prompt("small_recall").text,
            args_schema={"type": "object", "properties": texts},
        )
    ]
    return middleware
